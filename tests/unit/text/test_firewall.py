import json
import textwrap
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.recall.inject import Style, render
from recollect.records import Memory
from recollect.remember.capture import capture
from recollect.text.firewall import Stripped, strip_rendered

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
STYLES: tuple[Style, ...] = ("markdown", "compact", "xml")
CONTENTS = (
    "Note: the sandbox has no network and the mirror is slow on Mondays.",
    "Decision: keep the tail in memory until the snapshot is written.",
    "[MEMORY] type=decision tags=a: markers in a memory stay text",
)


def block(style: Style = "markdown", contents: tuple[str, ...] = CONTENTS) -> str:
    memories = [
        Memory(id=n, content=content, type="lesson", created_at=NOW - timedelta(days=n))
        for n, content in enumerate(contents, start=1)
    ]
    return render(memories, now=NOW, style=style).text


def marked(style: Style, *, bare: bool) -> str:
    """An agent's memories that conflict with each other, with or without our comments."""
    memories = [Memory(id=n, content=text, trust="agent", created_at=NOW) for n, text in enumerate(CONTENTS, start=1)]
    text = render(memories, now=NOW, style=style, conflicts={1: (2, 3), 2: (1,), 3: (1,)}).text
    return uncommented(text) if bare else text


@pytest.mark.parametrize(("style", "bare"), [("markdown", True), ("xml", True), *((each, False) for each in STYLES)])
@pytest.mark.parametrize("width", [30, 60, 200])
def test_marks_of_origin_and_conflict_are_taken_out_with_their_lines(style: Style, bare: bool, width: int) -> None:  # noqa: FBT001
    text = marked(style, bare=bare)
    wrapped = text if style == "xml" else "\n".join(textwrap.fill(line, width) for line in text.splitlines())

    stripped = strip_rendered(f"before\n{wrapped}\nafter").text

    assert [line for line in stripped.splitlines() if "memories>" not in line] == ["before", "after"]


def uncommented(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("<!--"))


@pytest.mark.parametrize("style", STYLES)
def test_a_block_is_taken_out_and_the_rest_stays(style: Style) -> None:
    stripped = strip_rendered(f"before\n\n{block(style)}\nafter\n")

    assert stripped == Stripped(text="before\n\nafter\n", dropped=1)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("prefix", ["> ", ">> ", "    ", "\t", "| ", "> > "])
def test_a_quoted_or_indented_block_is_taken_out(style: Style, prefix: str) -> None:
    quoted = textwrap.indent(block(style), prefix)

    stripped = strip_rendered(f"before\n{quoted}\nafter")

    assert stripped.text == "before\nafter"


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("width", [30, 50, 80])
def test_a_block_wrapped_anew_is_taken_out(style: Style, width: int) -> None:
    wrapped = textwrap.fill(block(style), width)
    quoted = textwrap.indent(wrapped, "> ")

    assert strip_rendered(wrapped).text.strip() == ""
    assert strip_rendered(quoted).text.strip() == ""


def test_a_block_inside_of_escaped_json_is_taken_out() -> None:
    line = json.dumps({"prompt": f"before\n{block()}\nafter"})

    stripped = strip_rendered(line)

    assert json.loads(stripped.text)["prompt"].split() == ["before", "after"]


def test_a_block_that_lost_its_comments_is_known_by_its_lines() -> None:
    stripped = strip_rendered(f"before\n{uncommented(block())}\nafter")

    assert stripped == Stripped(text="before\nafter", dropped=3)


def test_wrapped_lines_without_comments_are_known_too() -> None:
    bare = uncommented(block()).splitlines()
    wrapped = "\n".join(textwrap.fill(line, 40, subsequent_indent="  ") for line in bare)

    assert strip_rendered(f"before\n{wrapped}\nafter").text == "before\nafter"


def test_xml_elements_without_comments_are_known_too() -> None:
    stripped = strip_rendered(uncommented(block("xml")))

    assert stripped == Stripped(text="<memories>\n</memories>", dropped=3)


def test_a_block_cut_off_in_the_middle_ends_with_its_paragraph() -> None:
    cut = block("compact").rpartition("\n")[0]

    stripped = strip_rendered(f"before\n{cut}\n\nafter")

    assert stripped == Stripped(text="before\n\n\nafter", dropped=1)


def test_one_blocks_lost_end_does_not_swallow_what_is_said_before_the_next_block() -> None:
    cut, whole = block("compact").rpartition("\n")[0], block("compact")

    stripped = strip_rendered(f"{cut}\n\nbetween\n{whole}\nafter")

    assert stripped.text.split() == ["between", "after"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain words\n\nand more",
        "## Relevant Memories\n\nI remember the sea.\n- [x] done\n- [ ] open",
        "- [note] a task (confidence: high)",
        "<!-- a comment -->",
        "we call recollect:memories the key",
        "\r\n mixed \n\n lines \t",
    ],
)
def test_other_peoples_text_is_left_as_it_is(text: str) -> None:
    assert strip_rendered(text) == Stripped(text=text, dropped=0)


@pytest.mark.parametrize("style", STYLES)
def test_a_hundred_cycles_of_rendering_and_capturing_yield_no_memory(style: Style) -> None:
    contents = CONTENTS
    for _ in range(100):
        answer = f"{block(style, contents)}\nI read the notes above and went on."

        assert capture(strip_rendered(answer).text) == ()

        contents = (*CONTENTS, answer)


@given(st.lists(st.text(min_size=1, max_size=120), min_size=1, max_size=5), st.sampled_from(STYLES))
def test_what_is_rendered_is_always_taken_out_whole(contents: list[str], style: Style) -> None:
    assert strip_rendered(block(style, tuple(contents))).text.strip() == ""


@given(st.text(st.one_of(st.characters(), st.sampled_from("\n>-[]()#<!- ")), max_size=200))
def test_text_without_our_words_is_never_touched(text: str) -> None:
    if "recollect" not in text and "confidence" not in text:
        assert strip_rendered(text) == Stripped(text=text, dropped=0)
