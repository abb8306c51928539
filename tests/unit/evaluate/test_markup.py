"""A page shows the numbers it was given, and text from outside stays text."""

import re
from html.parser import HTMLParser

import pytest

from recollect.evaluate.compare import Interval, compare
from recollect.evaluate.markup import Cell, Report, Section, Table, as_html, as_markdown

EVIL = '<script>alert(1)</script> | `x` & "quotes" *bold* [link](http://x)\n# next\x00\ud800'
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "p", "ul", "li", "div"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "strong", "small", "svg", "rect", "path"),
}


class Page(HTMLParser):
    """What a browser would see: the tags, whether they are balanced, the attributes, the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def section(**more: object) -> Section:
    before = {f"q{number}": 0.5 for number in range(6)}
    after = before | {"q1": 1.0, "q2": 0.75, "q3": 0.0}
    settings = {"caption": "birds", "baseline": "old", "new": "default", "comparison": compare(before, after)}
    return Section(**(settings | more))


def table(**rows: dict[str, Cell]) -> Table:
    return Table(caption="nDCG@10", rows=rows)


def row(markdown: str, name: str) -> str:
    return next(line for line in markdown.splitlines() if line.startswith(f"| {name} |"))


def test_markdown_shows_value_interval_the_best_and_what_is_missing() -> None:
    made = table(
        default={"birds": Cell(value=0.6125, interval=Interval(low=0.59, high=0.634)), "fish": Cell(value=0.2)},
        old={"birds": Cell(value=0.5)},
    )

    text = as_markdown(Report(title="Evaluation", tables=(made,)))

    assert "## nDCG@10" in text
    assert row(text, "default") == "| default | **0.613** [0.590, 0.634] | **0.200** |".replace(
        "0.613", f"{0.6125:.3f}"
    )
    assert row(text, "old") == "| old | 0.500 | - |"


def test_where_less_is_better_the_least_is_best() -> None:
    made = Table(caption="ms", rows={"a": {"x": Cell(value=3)}, "b": {"x": Cell(value=2)}}, good="low")

    text = as_markdown(Report(title="Speed", tables=(made,)))

    assert row(text, "b") == "| b | **2.000** |"
    assert row(text, "a") == "| a | 3.000 |"


def test_facts_are_listed_in_both_faces() -> None:
    report = Report(title="Evaluation", facts={"machine": "2 cores", "birds sha256": "ab12"})

    assert "- machine: 2 cores\n- birds sha256: ab12" in as_markdown(report)
    assert "<li>machine: 2 cores</li><li>birds sha256: ab12</li>" in as_html(report)


def test_a_comparison_is_summed_up_with_interval_chance_and_counts() -> None:
    shown = section()

    text = as_markdown(Report(title="Evaluation", sections=(shown,)))

    found = shown.comparison
    assert f"default 0.542 against old 0.500: +0.042 [{found.interval.low:+.3f}, {found.interval.high:+.3f}]" in text
    assert f"p = {found.p_value:.3f}; 2 won, 3 even, 1 lost." in text


def test_a_small_chance_is_not_printed_as_nothing() -> None:
    sure = compare({str(n): 0.0 for n in range(50)}, {str(n): 1.0 for n in range(50)})

    assert "p < 0.001" in as_markdown(Report(title="E", sections=(section(comparison=sure),)))
    assert "p &lt; 0.001" in as_html(Report(title="E", sections=(section(comparison=sure),)))


def test_the_biggest_gains_and_losses_are_named_with_what_was_asked() -> None:
    text = as_markdown(Report(title="E", sections=(section(texts={"q1": "who swims?"}, limit=1),)))

    assert row(text, "q1") == "| q1 | who swims? | 0.500 | 1.000 | +0.500 |"
    assert row(text, "q3") == "| q3 |  | 0.500 | 0.000 | -0.500 |"
    assert "| q2 |" not in text


def test_the_bars_of_text_count_every_query_once() -> None:
    text = as_markdown(Report(title="E", sections=(section(),)))

    plot = text.split("```text\n")[1].split("\n```")[0].splitlines()
    counts = {line[:16].strip(): int(line.split()[-1]) for line in plot}
    assert counts["gained over 0.25"] == 1
    assert counts["gained over 0.1"] == 1
    assert counts["even"] == 3
    assert counts["lost over 0.25"] == 1
    assert sum(counts.values()) == 6


@pytest.mark.parametrize("place", ["title", "fact", "profile", "set", "caption", "query", "text"])
def test_text_from_outside_stays_text(place: str) -> None:
    def at(name: str, else_: str) -> str:
        return EVIL if name == place else else_

    comparison = compare({at("query", "q"): 0.0}, {at("query", "q"): 1.0})
    report = Report(
        title=at("title", "E"),
        facts={"machine": at("fact", "m")},
        tables=(Table(caption=at("caption", "c"), rows={at("profile", "p"): {at("set", "s"): Cell(value=1)}}),),
        sections=(section(comparison=comparison, texts={at("query", "q"): at("text", "t")}, new=at("profile", "p")),),
    )

    page, markdown = Page(as_html(report)), as_markdown(report)

    assert set(page.tags) <= ALLOWED
    assert page.open == []
    assert any('<script>alert(1)</script> | `x` & "quotes"' in words for words in page.words)
    assert (
        '\\<script\\>alert(1)\\</script\\> \\| \\`x\\` \\& "quotes" \\*bold\\* \\[link\\](http://x) # next' in markdown
    )
    assert not re.search(r"(?<!\\)<", markdown)
    as_html(report).encode()
    markdown.encode()


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    made = table(default={"birds": Cell(value=0.6, interval=Interval(low=0.5, high=0.7))})

    page = Page(as_html(Report(title="Evaluation", tables=(made,), sections=(section(),))))

    assert set(page.tags) <= ALLOWED
    assert page.open == []
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "href", "style")]
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes


def test_gains_are_signed_and_stand_out_when_they_are_surely_not_nothing() -> None:
    cells = {
        "up": Cell(value=0.1, interval=Interval(low=0.02, high=0.2)),
        "even": Cell(value=0.05, interval=Interval(low=-0.1, high=0.2)),
        "down": Cell(value=-0.2, interval=Interval(low=-0.4, high=-0.1)),
    }
    made = Table(caption="Gain", rows={"a": cells}, good="gains", form="+.3f")

    text = as_markdown(Report(title="E", tables=(made,)))

    assert "| **+0.100** [+0.020, +0.200] | +0.050 [-0.100, +0.200] | **-0.200** [-0.400, -0.100] |" in text


def test_a_comparison_where_nothing_changed_is_drawn_all_the_same() -> None:
    same = compare({"q": 0.5}, {"q": 0.5})

    text = as_html(Report(title="E", sections=(section(comparison=same),)))

    assert 'class="up"' not in text
    assert "Biggest" not in text
    assert "0 won, 1 even, 0 lost." in text
