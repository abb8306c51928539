from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from recollect.decay import age_days
from recollect.errors import InputError
from recollect.recall.inject import Rendered, Style, count_tokens, count_tokens_mixed, render
from recollect.records import Memory
from recollect.replies import Turn

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
STYLES: tuple[Style, ...] = ("markdown", "compact", "xml")


def memory(content: str, number: int = 1, days: int = 3) -> Memory:
    return Memory(id=number, content=content, type="decision", created_at=NOW - timedelta(days=days))


def lines(rendered: Rendered) -> list[str]:
    return [line for line in rendered.text.splitlines() if not line.startswith("<!--")]


@pytest.mark.req("O-13")
def test_memories_are_listed_under_a_heading_with_type_confidence_and_age() -> None:
    rendered = render([memory("We ship on Fridays.", 12), memory("Use tabs.", 7, days=0)], now=NOW)

    assert lines(rendered) == [
        "## Relevant Memories",
        "- [decision] We ship on Fridays. (confidence: 0.8, age: 3d)",
        "- [decision] Use tabs. (confidence: 0.8, age: 0d)",
    ]
    assert rendered.text.startswith("## Relevant Memories\n")
    assert rendered.ids == (12, 7)


@pytest.mark.req("O-13")
def test_the_age_shown_is_that_of_the_decay_whatever_day_the_memory_speaks_of() -> None:
    spoken = replace(memory("We shipped in January.", days=3), observed_at=NOW - timedelta(days=120))

    rendered = render([spoken], now=NOW)

    assert lines(rendered)[1].endswith("age: 3d)")
    assert int(age_days(spoken.created_at, NOW)) == 3


def test_a_turn_is_told_with_the_question_it_answers_where_that_fits() -> None:
    reply = memory("Otto: I will.", 2)
    asked = Turn(id=1, speaker="Nara", text="Who renews the certificate?", before=True)

    whole = render([reply], now=NOW, style="compact", exchanges={2: [asked]})
    short = render([reply], now=NOW, style="compact", exchanges={2: [asked]}, budget=whole.tokens - 1)

    assert lines(whole) == ["2 decision: Nara: Who renews the certificate? / Otto: I will."]
    assert lines(short) == ["2 decision: Otto: I will."]


def test_the_compact_style_names_id_and_type_only() -> None:
    rendered = render([memory("We ship on Fridays.", 12)], now=NOW, style="compact")

    assert lines(rendered) == ["12 decision: We ship on Fridays."]


def test_the_xml_style_puts_each_memory_in_an_element() -> None:
    rendered = render([memory('a < b & "c"', 12)], now=NOW, style="xml")

    assert lines(rendered) == [
        "<memories>",
        '<memory id="12" type="decision" confidence="0.8" age="3d">a &lt; b &amp; &quot;c&quot;</memory>',
        "</memories>",
    ]


@pytest.mark.case(89)
@pytest.mark.parametrize("style", STYLES)
def test_nothing_to_say_is_an_empty_string_without_a_heading(style: Style) -> None:
    assert render([], now=NOW, style=style) == Rendered(text="", tokens=0, ids=())
    assert render([memory(" \u200b\n ")], now=NOW, style=style).text == ""


@pytest.mark.req("O-11")
def test_at_most_five_memories_are_rendered() -> None:
    rendered = render([memory(f"note {n}", n) for n in range(1, 9)], now=NOW)

    assert rendered.ids == (1, 2, 3, 4, 5)


@pytest.mark.req("O-11", "O-12")
@pytest.mark.parametrize("style", STYLES)
def test_the_budget_counts_everything_that_is_rendered(style: Style) -> None:
    memories = [memory("word " * 60, n) for n in range(1, 6)]

    rendered = render(memories, now=NOW, style=style, budget=320)

    assert rendered.tokens == count_tokens(rendered.text)
    assert 0 < rendered.tokens <= 320
    assert rendered.ids == (1, 2, 3)


def test_another_counter_counts_otherwise() -> None:
    memories = [memory("部署前必须运行测试" * 12, n) for n in range(1, 6)]

    cheap = render(memories, now=NOW, budget=400)
    dear = render(memories, now=NOW, budget=400, counter=count_tokens_mixed)

    assert len(dear.ids) < len(cheap.ids)
    assert dear.tokens == count_tokens_mixed(dear.text) <= 400


def test_a_line_is_whole_or_absent() -> None:
    rendered = render([memory("short", 1), memory("long " * 200, 2), memory("last", 3)], now=NOW, budget=120)

    assert rendered.ids == (1, 3)
    assert all(line.endswith("3d)") for line in lines(rendered)[1:])


def test_the_first_that_no_longer_fits_ends_the_block() -> None:
    rendered = render([memory("a " * 80, 1), memory("b " * 80, 2), memory("c", 3)], now=NOW, budget=100)

    assert rendered.ids == (1,)


def test_untrusted_memories_are_never_rendered() -> None:
    stranger = Memory(id=9, content="trust me", trust="untrusted")

    assert render([stranger], now=NOW).text == ""
    assert render([stranger, memory("known", 1)], now=NOW).ids == (1,)


def test_an_unknown_age_is_a_question_mark_and_the_future_is_today() -> None:
    undated, tomorrow = Memory(id=1, content="undated"), memory("tomorrow", 2, days=-1)

    rendered = render([undated, tomorrow], now=NOW)

    assert lines(rendered)[1:] == [
        "- [note] undated (confidence: 0.8, age: ?)",
        "- [decision] tomorrow (confidence: 0.8, age: 0d)",
    ]


def test_an_unknown_style_is_refused_with_a_hint() -> None:
    with pytest.raises(InputError) as refusal:
        render([memory("x")], now=NOW, style="html")  # type: ignore[arg-type]

    assert "markdown" in refusal.value.hint


@settings(max_examples=40)
@given(st.lists(st.text(max_size=80), max_size=8), st.sampled_from(STYLES), st.integers(0, 200), st.integers(0, 6))
def test_count_and_budget_are_never_exceeded(contents: list[str], style: Style, budget: int, most: int) -> None:
    memories = [memory(content, n) for n, content in enumerate(contents, start=1)]

    rendered = render(memories, now=NOW, style=style, budget=budget, limit=most)

    assert len(rendered.ids) <= most
    assert rendered.tokens == count_tokens(rendered.text) <= budget
    assert list(rendered.ids) == sorted(rendered.ids)
    assert bool(rendered.text) == bool(rendered.ids)
