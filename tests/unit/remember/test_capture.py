"""Capturing memories from what a worker wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.remember.capture import capture, low_signal


@pytest.mark.req("O-15")
@pytest.mark.case(85)
def test_a_marker_line_becomes_a_memory() -> None:
    (memory,) = capture("[MEMORY] type=decision tags=go,testing: Always use table-driven tests")

    assert memory.content == "Always use table-driven tests"
    assert memory.type == "decision"
    assert memory.tags == ("go", "testing")
    assert memory.confidence == 0.9
    assert memory.source == "self_report"


@pytest.mark.req("O-15")
def test_a_marker_may_say_how_sure_it_is() -> None:
    (memory,) = capture("[MEMORY] type=lesson confidence=0.9: retries need jitter: always")

    assert memory.confidence == 0.9
    assert memory.tags == ()
    assert memory.content == "retries need jitter: always"


def test_a_marker_without_fields_is_a_note() -> None:
    (memory,) = capture("[MEMORY] The cache TTL is 30 seconds: see the config")

    assert (memory.content, memory.type) == ("The cache TTL is 30 seconds: see the config", "note")
    assert (memory.confidence, memory.source, memory.tags) == (0.8, "self_report", ())
    assert capture("[MEMORY] ok") == ()


@pytest.mark.case(86)
@pytest.mark.parametrize(
    "line",
    [
        "[MEMORY] type=decision tags=go Always use tables",
        "[MEMORY] type=: Always use tables",
        "[MEMORY] tags=go: Always use tables",
        "[MEMORY]: Always use tables",
        "MEMORY type=decision: Always use tables",
        "[MEMO] type=decision: Always use tables",
        "[memory] type=decision: Always use tables",
        "so: [MEMORY] type=decision: Always use tables",
        " [MEMORY] type=decision: Always use tables",
        "> [MEMORY] type=decision: Always use tables",
        "[MEMORY] type=decision:",
        "[MEMORY] type=decision:    ",
        "[MEMORY] type=decision confidence=high: Always use tables",
        "[MEMORY] type=decision confidence=1.5: Always use tables",
        "[MEMORY] type=decision mood=good: Always use tables",
        "[MEMORY] type=decision: ok",
    ],
)
def test_a_malformed_marker_is_rejected(line: str) -> None:
    assert capture(line) == ()


@pytest.mark.case(87)
def test_cue_sentences_become_memories_of_their_type() -> None:
    text = """Started with the import path.
I learned that the walker follows hidden folders.
Note: the fixture needs a fixed clock.
Gotcha: an empty filter must match nothing.
Pattern: one table feeds all four surfaces.
Decision: keep the tail in memory.
Decided: no graph below a million rows.
Important: the lock file must be closed last.
All tests are green."""

    found = capture(text)

    assert [memory.type for memory in found] == [
        "lesson",
        "lesson",
        "gotcha",
        "pattern",
        "decision",
        "decision",
        "lesson",
    ]
    assert {memory.confidence for memory in found} == {0.6, 0.9}  # decisions are surer
    assert {memory.source for memory in found} == {"daemon_extracted"}
    assert found[0].content == "the walker follows hidden folders."


@pytest.mark.parametrize(
    "line",
    [
        "- Note: the clock is fixed",
        "**Note:** the clock is fixed",
        "1. NOTE: the clock is fixed",
        "### Note: the clock is fixed",
        "It took a while. Note: the clock is fixed",
    ],
)
def test_a_cue_is_seen_behind_list_marks_and_at_the_start_of_a_sentence(line: str) -> None:
    assert [memory.content for memory in capture(line)] == ["the clock is fixed"]


def test_two_cues_in_one_line_are_two_memories() -> None:
    found = capture("Gotcha: the score is negative. Decision: we negate it.")

    assert [(memory.type, memory.content) for memory in found] == [
        ("gotcha", "the score is negative."),
        ("decision", "we negate it."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "see the footnote: it explains the rest",
        "the note says nothing",
        "> Note: somebody else said this",
        "```\nNote: a comment in code\n```",
        "Note: ok",
        "",
    ],
)
def test_what_is_no_cue_of_the_writer_is_left_alone(text: str) -> None:
    assert capture(text) == ()


def test_what_is_said_twice_is_captured_once_in_its_first_place() -> None:
    found = capture("Note: first things first\nNote: then the rest\nNote: first things first")

    assert [memory.content for memory in found] == ["first things first", "then the rest"]


@given(st.text(st.one_of(st.characters(), st.sampled_from("[MEMORY] type=a: \n*#>Note:")), max_size=300))
def test_no_text_is_too_odd_to_be_searched(text: str) -> None:
    assert all(memory.content.strip() for memory in capture(text))


# --- what is not worth keeping --------------------------------------------------------------


@pytest.mark.case(98)
@pytest.mark.parametrize("text", ["Fire the test", "HEARTBEAT_OK", "run test"])
def test_a_heartbeat_or_a_nudge_is_low_signal(text: str) -> None:
    assert low_signal(text)


@pytest.mark.case(98)
def test_a_few_words_with_a_subject_are_worth_keeping() -> None:
    assert not low_signal("cortex sprint retrieval tuning")


@pytest.mark.parametrize(
    "text",
    ["ok", "OK!", "Thanks.", "ok, thank you very much", "sounds good", "got it", "", "  ", "👍", "...", "好的", "谢谢"],
)
def test_an_acknowledgement_is_low_signal(text: str) -> None:
    assert low_signal(text)


@pytest.mark.parametrize(
    "text",
    [
        "no downtime",
        "run the tests before merging",
        "test the rollback",
        "it is done",
        "done: users moved to Oslo",
        "ok to deploy on Fridays",
        "heartbeat interval is 15 s",
        "部署前必须运行测试",
        "8080",
    ],
)
def test_anything_that_says_something_is_kept(text: str) -> None:
    assert not low_signal(text)


@given(st.text(st.sampled_from("ok thanks yes"), max_size=40), st.sampled_from(["kubernetes", "invoice", "Oslo"]))
def test_one_word_of_substance_is_enough(padding: str, word: str) -> None:
    assert not low_signal(f"{padding} {word}")
