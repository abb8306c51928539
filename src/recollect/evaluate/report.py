"""An evaluation for a terminal and for programs: the table people see at the end, and the JSON."""

import html
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final, Literal

from recollect.evaluate.compare import Change, Comparison, Interval, Macro, Values, bootstrap
from recollect.evaluate.datasets import Dataset
from recollect.evaluate.evaluate import MAIN, Evaluation, Examined, Latency, SystemPair, Trial
from recollect.evaluate.measures import mean

_NONE: Final = "-"
_LONGEST: Final = 160
_MARKS: Final = re.compile(r"[\\`*\[\]<>|~&]|(?<!\w)_|_(?!\w)")
_STEPS: Final = (0.5, 0.25, 0.1, 0.0)
_WIDTH: Final = 720
_HEIGHT: Final = 160
_STYLE: Final = """
:root { color-scheme: light dark; --up: #0b6bcb; --down: #c2510c; --line: #8884; }
@media (prefers-color-scheme: dark) { :root { --up: #6cb2ff; --down: #ff9d5c; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .7rem; text-align: left; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
small { opacity: .75; }
svg { display: block; max-width: 100%; height: auto; }
.frame { fill: var(--line); } .axis, .whisker { stroke: currentColor; fill: none; }
.bar { fill: var(--up); } .less { fill: var(--down); } .up { stroke: var(--up); } .down { stroke: var(--down); }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One number of a table, and how sure it is."""

    value: float
    interval: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """Two profiles on the queries of one set; *texts* are what the queries say."""

    caption: str
    baseline: str
    new: str
    comparison: Comparison
    texts: Mapping[str, str] = field(default_factory=dict)
    limit: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A whole evaluation: facts (machine, dataset fingerprints), tables and duels."""

    title: str
    facts: Mapping[str, str] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    duels: tuple[Duel, ...] = ()


def tabulate(caption: str, scores: Mapping[str, Mapping[str, Values]], *, resamples: int = 10_000) -> Table:
    """Return the means of *scores* (profile -> set -> query -> value), each with its 95% interval."""
    rows = {
        profile: {
            name: Cell(value=mean(values.values()), interval=bootstrap([[*values.values()]], resamples=resamples))
            for name, values in by_set.items()
        }
        for profile, by_set in scores.items()
    }
    return Table(caption=caption, rows=rows)


def as_markdown(report: Report) -> str:
    """Return *report* in Markdown."""
    facts = "\n".join(f"- {_plain(name)}: {_plain(value)}" for name, value in report.facts.items())
    tables = (_markdown_table(table) for table in report.tables)
    duels = (_markdown_duel(duel) for duel in report.duels)
    return "\n\n".join(filter(None, (f"# {_plain(report.title)}", facts, *tables, *duels))) + "\n"


def as_html(report: Report) -> str:
    """Return *report* as one HTML page."""
    facts = "".join(f"<li>{_safe(name)}: {_safe(value)}</li>" for name, value in report.facts.items())
    return "".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
            f"<title>{_safe(report.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n",
            f"<h1>{_safe(report.title)}</h1>\n<ul>{facts}</ul>\n" if facts else f"<h1>{_safe(report.title)}</h1>\n",
            *(_html_scores(table) for table in report.tables),
            *(_html_duel(duel) for duel in report.duels),
            "</main>\n</body>\n</html>\n",
        )
    )


# --- words both faces share -----------------------------------------------------------------


def _interval(interval: Interval, form: str = ".3f") -> str:
    return f"[{interval.low:{form}}, {interval.high:{form}}]"


def _chance(p_value: float) -> str:
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def _summary(duel: Duel, say: Callable[[str], str]) -> str:
    found = duel.comparison
    return (
        f"{say(duel.new)} {found.new:.3f} against {say(duel.baseline)} {found.baseline:.3f}: {found.difference:+.3f} "
        f"{_interval(found.interval, '+.3f')}, {_chance(found.p_value)}; "
        f"{found.wins} won, {found.ties} even, {found.losses} lost."
    )


def _clean(text: str) -> str:
    """Return *text* on one line, without control characters or halves of characters."""
    shown = "".join(" " if unicodedata.category(character) in ("Cc", "Cs") else character for character in text)
    return " ".join(shown.split())


def _asked(duel: Duel, change: Change) -> str:
    text = _clean(duel.texts.get(change.query, ""))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _changed(duel: Duel) -> dict[str, tuple[Change, ...]]:
    return {
        "Biggest gains": duel.comparison.gains(duel.limit),
        "Biggest losses": duel.comparison.falls(duel.limit),
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


def _markdown_duel(duel: Duel) -> str:
    lists = (
        f"{title}:\n\n"
        + _grid(
            ["query", "text", "before", "after", "change"],
            [[_plain(one.query), _plain(_asked(duel, one)), *_numbers(one)] for one in changes],
        )
        for title, changes in _changed(duel).items()
        if changes
    )
    return "\n\n".join((f"## {_plain(duel.caption)}", _summary(duel, _plain), _histogram(duel.comparison), *lists))


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
    head = "".join(f'<th scope="col">{_safe(column)}</th>' for column in table.columns)
    body = "".join(
        f'<tr><th scope="row">{_safe(name)}</th>'
        + "".join(_html_cell(row.get(column), table, column) for column in table.columns)
        + "</tr>\n"
        for name, row in table.rows.items()
    )
    return (
        f'<div class="wide"><table>\n<caption>{_safe(table.caption)}</caption>\n'
        f"<thead><tr><td></td>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"
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


def _html_duel(duel: Duel) -> str:
    lists = "".join(_html_changes(title, changes, duel) for title, changes in _changed(duel).items() if changes)
    return (
        f"<section>\n<h2>{_safe(duel.caption)}</h2>\n<p>{html.escape(_summary(duel, _clean))}</p>\n"
        f"{_plot(duel.comparison.changes)}{lists}</section>\n"
    )


def _html_changes(title: str, changes: Iterable[Change], duel: Duel) -> str:
    rows = "".join(
        f'<tr><th scope="row">{_safe(one.query)}</th><td dir="auto">{_safe(_asked(duel, one))}</td>'
        + "".join(f'<td class="number">{number}</td>' for number in _numbers(one))
        + "</tr>\n"
        for one in changes
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("query", "text", "before", "after", "change"))
    return (
        f'<div class="wide"><table>\n<caption>{title}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )


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


TITLE: Final = "Retrieval quality"
MEAN: Final = "mean of the sets"
NAMES: Final[Mapping[str, str]] = {
    "ndcg@10": "nDCG@10",
    "hit@1": "R@1: the first hit is relevant",
    "mrr@10": "MRR@10",
    "recall@5": "Recall@5",
    "recall@10": "Recall@10",
    "recall@100": "Recall@100",
    "recall_any@5": "Recall@5, any: at least one of the relevant",
    "recall_any@10": "Recall@10, any",
    "recall_any@100": "Recall@100, any",
    "recall_all@5": "Recall@5, all: every one of the relevant",
    "recall_all@10": "Recall@10, all",
    "recall_all@100": "Recall@100, all",
}
"""The measures that are told, and what they are called."""
TIMED: Final = "a search for 100 hits without snippets, the vector of the question known"


def report_of(evaluation: Evaluation, facts: Mapping[str, str]) -> Report:
    """Return the report of *evaluation*, *facts* and those of the sets first."""
    known = {f"set {each.name}": _set_fact(evaluation, each.name) for each in evaluation.sets}
    return Report(
        title=TITLE,
        facts={**facts, **known},
        tables=tuple(_tables(evaluation)),
        duels=tuple(
            Duel(
                caption=f"{name}: {pair.new} against {pair.baseline}",
                baseline=str(pair.baseline),
                new=str(pair.new),
                comparison=comparison,
                texts=next(each.texts for each in evaluation.sets if each.name == name),
            )
            for pair in evaluation.pairs
            for name, comparison in pair.macro.sets.items()
        ),
    )


def _set_fact(evaluation: Evaluation, name: str) -> str:
    examined = next(each for each in evaluation.sets if each.name == name)
    dataset = examined.dataset
    return (
        f"{len(examined.judged)} queries scored of {len(dataset.judgements)}, "
        f"{len(dataset.documents)} documents, sha256 {dataset.sha256}"
    )


def _tables(evaluation: Evaluation) -> list[Table]:
    ways = {str(way): [trial for trial in evaluation.trials if trial.way == way] for way in evaluation.ways}
    main = tabulate(NAMES[MAIN], {way: {each.dataset: each.values for each in own} for way, own in ways.items()})
    plain = [
        Table(
            caption=caption,
            rows={way: {each.dataset: Cell(value=each.measures[name]) for each in own} for way, own in ways.items()},
        )
        for name, caption in NAMES.items()
        if name != MAIN
    ]
    tables = [_with_mean(table) for table in (main, *plain)]
    return [*tables, *_compared(evaluation.pairs), *_by_category(evaluation), *_timed(evaluation)]


def _with_mean(table: Table) -> Table:
    """Return *table* with the mean of its sets, each counting alike, when there are several."""
    if len(table.columns) < 2:
        return table
    rows = {
        name: {**row, MEAN: Cell(value=mean(cell.value for cell in row.values()))} for name, row in table.rows.items()
    }
    return replace(table, rows=rows)


def _compared(pairs: tuple[SystemPair, ...]) -> list[Table]:
    """Return what each pair gained, set by set, with its interval."""
    rows = {
        f"{pair.new} against {pair.baseline}": {
            name: Cell(value=one.difference, interval=one.interval) for name, one in _differences(pair).items()
        }
        for pair in pairs
    }
    caption = f"Gain in {NAMES[MAIN]} with its 95% interval; what is surely not 0 in bold"
    return [Table(caption=caption, rows=rows, good="gains", form="+.3f")] if rows else []


def _differences(pair: SystemPair) -> Mapping[str, Comparison | Macro]:
    return {**pair.macro.sets, **({MEAN: pair.macro} if len(pair.macro.sets) > 1 else {})}


def _by_category(evaluation: Evaluation) -> list[Table]:
    """Return the main measure for each kind of question, of the sets that tell kinds apart."""
    tables = []
    for examined in evaluation.sets:
        kinds = examined.categories
        rows = {
            str(trial.way): {
                f"{kind} ({len(queries)})": Cell(value=mean(trial.values[query] for query in queries))
                for kind, queries in kinds.items()
            }
            for trial in evaluation.trials
            if trial.dataset == examined.name
        }
        if len(kinds) > 1:
            tables.append(Table(caption=f"{NAMES[MAIN]} on {examined.name} by the kind of question", rows=rows))
    return tables


def _timed(evaluation: Evaluation) -> list[Table]:
    timed = [(trial, trial.latency) for trial in evaluation.trials if trial.latency is not None]

    def table(caption: str, of: Callable[[Latency], float]) -> Table:
        rows: dict[str, dict[str, Cell]] = {}
        for trial, latency in timed:
            rows.setdefault(str(trial.way), {})[trial.dataset] = Cell(value=of(latency))
        return Table(caption=caption, rows=rows, good="low", form=".1f")

    return [
        table(f"Milliseconds, median: {TIMED}", lambda latency: latency.median),
        table("Milliseconds, 95th percentile", lambda latency: latency.p95),
    ]


COLUMNS: Final[Mapping[str, str]] = {
    "nDCG@10": "ndcg@10",
    "R@1": "hit@1",
    "MRR@10": "mrr@10",
    "recall@5": "recall@5",
    "@10": "recall@10",
    "@100": "recall@100",
}
"""What the terminal shows; everything else is in the JSON and in the reports."""
_SHORT: Final = 12
_UNTIMED: Final = f"{'-':>9}" * 2


# --- for a terminal -------------------------------------------------------------------------


def as_text(evaluation: Evaluation, facts: Mapping[str, str]) -> str:
    """Return a table for each set, then what the ways gained over each other."""
    wide = max(len(str(way)) for way in evaluation.ways)
    blocks = [_set_text(evaluation, examined, wide) for examined in evaluation.sets]
    head = f"split {facts['split']}; scored by {facts['scored by']}; model {facts['model']}"
    return "\n\n".join([head, *blocks, *_overview(evaluation, wide), *(_pair_text(pair) for pair in evaluation.pairs)])


def _set_text(evaluation: Evaluation, examined: Examined, wide: int) -> str:
    title = f"{examined.name}: {len(examined.judged)} queries, sha256 {examined.dataset.sha256[:_SHORT]}"
    head = " " * (wide + 2) + "".join(f"{column:>9}" for column in (*COLUMNS, "ms", "p95"))
    rows = [_row(trial, wide) for trial in evaluation.trials if trial.dataset == examined.name]
    return "\n".join([title, head, *rows])


def _row(trial: Trial, wide: int) -> str:
    measured = trial.measures
    cells = "".join(f"{measured[measure]:9.3f}" for measure in COLUMNS.values())
    took = trial.latency
    times = _UNTIMED if took is None else f"{took.median:9.1f}{took.p95:9.1f}"
    noted = f"  ({', '.join(trial.degraded)})" if trial.degraded else ""
    return f"  {trial.way!s:<{wide}}{cells}{times}{noted}"


def _overview(evaluation: Evaluation, wide: int) -> list[str]:
    """Return every way on every set by the main measure, when there are several sets."""
    names = [examined.name for examined in evaluation.sets]
    if len(names) < 2:
        return []
    found = {(trial.way, trial.dataset): trial.measures[MAIN] for trial in evaluation.trials}
    widths = {name: max(len(name), 5) + 2 for name in (*names, "mean")}
    lines = [f"{'nDCG@10':<{wide + 2}}" + "".join(f"{name:>{width}}" for name, width in widths.items())]
    for way in evaluation.ways:
        values = {name: found[way, name] for name in names}
        values["mean"] = mean(values.values())
        cells = "".join(f"{values[name]:{width}.3f}" for name, width in widths.items())
        lines.append(f"  {way!s:<{wide}}{cells}")
    return ["\n".join(lines)]


def _pair_text(pair: SystemPair) -> str:
    sets: Mapping[str, Comparison | Macro] = pair.macro.sets
    told = {**sets, "all, each alike": pair.macro} if len(sets) > 1 else sets
    wide = max(map(len, told))
    lines = [f"  {name:<{wide}}  {_gain(one)}" for name, one in told.items()]
    return "\n".join([f"{pair.new} against {pair.baseline}, nDCG@10:", *lines])


def _gain(one: Comparison | Macro) -> str:
    low, high = one.interval.low, one.interval.high
    said = "better" if low > 0 else "worse" if high < 0 else "no clear difference"
    return f"{one.difference:+.3f} [{low:+.3f}, {high:+.3f}] p = {one.p_value:.4f}  {said}"


# --- for programs ---------------------------------------------------------------------------


def as_value(evaluation: Evaluation, *, split: str, facts: Mapping[str, str]) -> dict[str, Any]:
    """Return the evaluation as a JSON value; where one run was asked for, it also stands at the top."""
    kinds = {examined.name: examined.categories for examined in evaluation.sets}
    runs = [_run(trial, split, kinds[trial.dataset]) for trial in evaluation.trials]
    return {
        **(runs[0] if len(runs) == 1 else {}),
        "runs": runs,
        "comparisons": [_pair(pair) for pair in evaluation.pairs],
        "datasets": [_dataset(examined.dataset, scored=len(examined.judged)) for examined in evaluation.sets],
        "facts": dict(facts),
    }


def _run(trial: Trial, split: str, kinds: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    recognised, unanswerable = trial.silences
    return {
        "dataset": trial.dataset,
        "profile": trial.way.profile,
        "mode": trial.way.mode,
        "split": split,
        "queries": len(trial.values),
        "measures": trial.measures,
        "latency_ms": trial.latency and {"median": trial.latency.median, "p95": trial.latency.p95},
        "outcomes": dict(trial.outcomes),
        "unanswerable": {"asked": unanswerable, "recognised": recognised},
        "categories": {
            kind: {"queries": len(queries), MAIN: mean(trial.values[query] for query in queries)}
            for kind, queries in kinds.items()
        },
        "degraded": list(trial.degraded),
    }


def _dataset(dataset: Dataset, *, scored: int) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "sha256": dataset.sha256,
        "documents": len(dataset.documents),
        "queries": scored,
        "queries_in_all": len(dataset.judgements),
    }


def _pair(pair: SystemPair) -> dict[str, Any]:
    return {
        "baseline": {"profile": pair.baseline.profile, "mode": pair.baseline.mode},
        "new": {"profile": pair.new.profile, "mode": pair.new.mode},
        "measure": MAIN,
        **_difference(pair.macro),
        "datasets": {
            name: {**_difference(one), "wins": one.wins, "ties": one.ties, "losses": one.losses}
            for name, one in pair.macro.sets.items()
        },
    }


def _difference(one: Comparison | Macro) -> dict[str, Any]:
    return {"difference": one.difference, "interval": _ends(one.interval), "p_value": one.p_value}


def _ends(interval: Interval) -> list[float]:
    return [interval.low, interval.high]
