"""A report as Markdown and as one HTML page: tables of numbers, and comparisons query by query."""

import html
import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from itertools import pairwise
from typing import Final, Literal

from msgspec import Struct, field

from recollect.evaluate.compare import Change, Comparison, Interval
from recollect.lazy import regex

_NONE: Final = "-"
_LONGEST: Final = 160
_MARKS: Final = regex(r"[\\`*\[\]<>|~&]|(?<!\w)_|_(?!\w)")
_STEPS: Final = (0.5, 0.25, 0.1, 0.0)
_WIDTH: Final = 720
_HEIGHT: Final = 160
_CHANGED: Final = ("query", "text", "before", "after", "change")


class Cell(Struct, frozen=True, kw_only=True):
    """One number of a table, and how sure it is."""

    value: float
    interval: Interval | None = None


class Table(Struct, frozen=True, kw_only=True):
    """Numbers by row (a profile) and column (a set), how they are written, and which of them stand out.

    The best of a column does, the highest or the lowest; where they are *gains*, those that are surely not 0.
    """

    caption: str
    rows: Mapping[str, Mapping[str, Cell]]
    good: Literal["high", "low", "gains"] = "high"
    form: str = ".3f"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, in the order in which the rows name them."""
        return tuple(dict.fromkeys(column for row in self.rows.values() for column in row))

    def best(self, column: str) -> float | None:
        """Return the best value of *column*."""
        values = [row[column].value for row in self.rows.values() if column in row]
        return (min if self.good == "low" else max)(values, default=None)

    def stands_out(self, cell: Cell, column: str) -> bool:
        """Say whether *cell* of *column* is written in bold."""
        if self.good == "gains":
            return cell.interval is not None and (cell.interval.low > 0 or cell.interval.high < 0)
        return cell.value == self.best(column)


class Section(Struct, frozen=True, kw_only=True):
    """A comparison of two systems on one set; *texts* are what its queries say, *limit* how many are shown."""

    caption: str
    baseline: str
    new: str
    comparison: Comparison
    texts: Mapping[str, str] = field(default_factory=dict)
    limit: int = 10


class Report(Struct, frozen=True, kw_only=True):
    """A whole evaluation: facts (machine, dataset fingerprints), tables and comparisons."""

    title: str
    facts: Mapping[str, str] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    sections: tuple[Section, ...] = ()


def as_markdown(report: Report) -> str:
    """Return *report* in Markdown."""
    facts = "\n".join(f"- {_plain(name)}: {_plain(value)}" for name, value in report.facts.items())
    tables = (_markdown_table(table) for table in report.tables)
    sections = (_markdown_section(section) for section in report.sections)
    return "\n\n".join(filter(None, (f"# {_plain(report.title)}", facts, *tables, *sections))) + "\n"


def as_html(report: Report) -> str:
    """Return *report* as one HTML page."""
    style = resources.files("recollect.evaluate").joinpath("report.css").read_text("utf-8")
    facts = "".join(f"<li>{_safe(name)}: {_safe(value)}</li>" for name, value in report.facts.items())
    return "".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
            f"<title>{_safe(report.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n",
            f"<h1>{_safe(report.title)}</h1>\n<ul>{facts}</ul>\n" if facts else f"<h1>{_safe(report.title)}</h1>\n",
            *(_html_scores(table) for table in report.tables),
            *(_html_section(section) for section in report.sections),
            "</main>\n</body>\n</html>\n",
        )
    )


# --- words both faces share -----------------------------------------------------------------


def _interval(interval: Interval, form: str = ".3f") -> str:
    return f"[{interval.low:{form}}, {interval.high:{form}}]"


def _chance(p_value: float) -> str:
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def _summary(section: Section, say: Callable[[str], str]) -> str:
    found = section.comparison
    return (
        f"{say(section.new)} {found.new:.3f} against {say(section.baseline)} {found.baseline:.3f}: "
        f"{found.difference:+.3f} {_interval(found.interval, '+.3f')}, {_chance(found.p_value)}; "
        f"{found.wins} won, {found.ties} even, {found.losses} lost."
    )


def _clean(text: str) -> str:
    """Return *text* on one line, without control characters or halves of characters."""
    shown = "".join(" " if unicodedata.category(character) in ("Cc", "Cs") else character for character in text)
    return " ".join(shown.split())


def _asked(section: Section, change: Change) -> str:
    text = _clean(section.texts.get(change.query, ""))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _changed(section: Section) -> dict[str, tuple[Change, ...]]:
    return {
        "Biggest gains": section.comparison.gains(section.limit),
        "Biggest losses": section.comparison.falls(section.limit),
    }


# --- Markdown -------------------------------------------------------------------------------


def _plain(text: str) -> str:
    return _MARKS.sub(r"\\\g<0>", _clean(text))


def _markdown_table(table: Table) -> str:
    rows = [
        [_plain(name), *(_markdown_cell(row.get(column), table, column) for column in table.columns)]
        for name, row in table.rows.items()
    ]
    return f"## {_plain(table.caption)}\n\n" + _grid(["", *map(_plain, table.columns)], rows)


def _markdown_cell(cell: Cell | None, table: Table, column: str) -> str:
    if cell is None:
        return _NONE
    value = f"{cell.value:{table.form}}"
    bold = f"**{value}**" if table.stands_out(cell, column) else value
    return f"{bold} {_interval(cell.interval, table.form)}" if cell.interval else bold


def _markdown_section(section: Section) -> str:
    lists = (
        f"{title}:\n\n"
        + _grid(
            _CHANGED,
            [[_plain(one.query), _plain(_asked(section, one)), *_numbers(one)] for one in changes],
        )
        for title, changes in _changed(section).items()
        if changes
    )
    summary, bars = _summary(section, _plain), _histogram(section.comparison)
    return "\n\n".join((f"## {_plain(section.caption)}", summary, bars, *lists))


def _numbers(change: Change) -> tuple[str, str, str]:
    return f"{change.baseline:.3f}", f"{change.new:.3f}", f"{change.difference:+.3f}"


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _histogram(comparison: Comparison) -> str:
    """Return how many queries gained or lost how much, as bars of text."""
    differences = [change.difference for change in comparison.changes]
    gained = _counts("gained", differences)
    lost = _counts("lost", [-difference for difference in differences])
    rows = [*gained, ("even", comparison.ties), *reversed(lost)]
    most = max(count for _, count in rows)
    bars = (f"{name:<16} {'█' * -(-40 * count // most)} {count}".rstrip() for name, count in rows)
    return "```text\n" + "\n".join(bars) + "\n```"


def _counts(verb: str, sizes: Sequence[float]) -> list[tuple[str, int]]:
    edges = (math.inf, *_STEPS)
    return [(f"{verb} over {low:g}", sum(low < size <= high for size in sizes)) for high, low in pairwise(edges)]


# --- HTML -----------------------------------------------------------------------------------


def _safe(text: str) -> str:
    return html.escape(_clean(text))


def _html_scores(table: Table) -> str:
    rows = (
        [name, *(_html_cell(row.get(column), table, column) for column in table.columns)]
        for name, row in table.rows.items()
    )
    return _html_table(table.caption, ["", *table.columns], rows)


def _html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the first of each row is text and becomes its head, the others are cells already."""
    columns = "".join(f'<th scope="col">{_safe(column)}</th>' if column else "<td></td>" for column in head)
    body = "".join(f'<tr><th scope="row">{_safe(first)}</th>{"".join(cells)}</tr>\n' for first, *cells in rows)
    return (
        f'<div class="wide"><table>\n<caption>{_safe(caption)}</caption>\n'
        f"<thead><tr>{columns}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"
    )


def _html_cell(cell: Cell | None, table: Table, column: str) -> str:
    if cell is None:
        return f'<td class="number">{_NONE}</td>'
    value = f"{cell.value:{table.form}}"
    bold = f"<strong>{value}</strong>" if table.stands_out(cell, column) else value
    sure = f" <small>{_interval(cell.interval, table.form)}</small>" if cell.interval else ""
    return f'<td class="number">{bold}{sure}{_bar(cell, *_reach(table))}</td>'


def _reach(table: Table) -> tuple[float, float]:
    """Return the values at the two ends of a bar; gains and losses go both ways from the middle."""
    cells = [cell for row in table.rows.values() for cell in row.values()]
    if table.good != "gains":
        return 0.0, max([1.0, *(cell.value for cell in cells)])
    ends = [end for cell in cells if cell.interval for end in (cell.interval.low, cell.interval.high)]
    most = max([0.01, *(abs(value) for value in (*ends, *(cell.value for cell in cells)))])
    return -most, most


def _bar(cell: Cell, low: float, high: float) -> str:
    """Return the value as a bar that begins at 0, with its interval as a line across the end."""

    def at(value: float) -> float:
        return 120 * min(max((value - low) / (high - low), 0.0), 1.0)

    start, end = sorted((at(0.0), at(cell.value)))
    side = "bar" if cell.value >= 0 else "bar less"
    whisker = ""
    if cell.interval:
        whisker = f'<path class="whisker" d="M{at(cell.interval.low):.1f} 5H{at(cell.interval.high):.1f}"/>'
    return (
        '<svg viewBox="0 0 120 10" width="120" height="10" aria-hidden="true">'
        f'<rect class="frame" width="120" height="10"/>'
        f'<rect class="{side}" x="{start:.1f}" width="{end - start:.1f}" height="10"/>{whisker}</svg>'
    )


def _html_section(section: Section) -> str:
    lists = "".join(_html_changes(title, changes, section) for title, changes in _changed(section).items() if changes)
    return (
        f"<section>\n<h2>{_safe(section.caption)}</h2>\n<p>{html.escape(_summary(section, _clean))}</p>\n"
        f"{_plot(section.comparison.changes)}{lists}</section>\n"
    )


def _html_changes(title: str, changes: Iterable[Change], section: Section) -> str:
    rows = (
        [
            one.query,
            f'<td dir="auto">{_safe(_asked(section, one))}</td>',
            *(f'<td class="number">{number}</td>' for number in _numbers(one)),
        ]
        for one in changes
    )
    return _html_table(title, _CHANGED, rows)


def _plot(changes: Sequence[Change]) -> str:
    """Return every query as an upright line, from the biggest gain on the left to the biggest loss on the right."""
    step, middle = _WIDTH / len(changes), _HEIGHT / 2
    most = max([1.0, *(abs(change.difference) for change in changes)])
    lines: dict[str, list[str]] = {"up": [], "down": []}
    for index, change in enumerate(changes):
        if change.difference:
            end = middle - change.difference / most * middle
            side = "up" if change.difference > 0 else "down"
            lines[side].append(f"M{(index + 0.5) * step:.1f} {middle:g}V{end:.1f}")
    paths = "".join(
        f'<path class="{side}" stroke-width="{max(step * 0.9, 0.4):.2f}" d="{"".join(drawn)}"/>'
        for side, drawn in lines.items()
        if drawn
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img">'
        f"<title>Change of each of {len(changes)} queries, gains first</title>"
        f'<path class="axis" d="M0 {middle:g}H{_WIDTH}"/>{paths}</svg>\n'
    )
