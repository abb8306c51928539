"""Reading plain text and the conversations in it."""

from datetime import UTC, datetime

import pytest

from recollect.remember.formats.chat import is_dialogue
from recollect.remember.formats.plain import read_plain
from recollect.remember.formats.record import Origin

ORIGIN = Origin(source="/notes/a.txt", date=datetime(2020, 1, 1, tzinfo=UTC))


def test_each_paragraph_is_a_memory_with_its_line() -> None:
    parsed = read_plain("\n\none\n \t\n  two\nstill two\n\n\n-----\n\nthree", ORIGIN)

    assert [(memory.content, memory.line) for memory in parsed.memories] == [
        ("one", 3),
        ("two\nstill two", 5),
        ("three", 11),
    ]


def test_a_paragraph_longer_than_a_memory_is_cut() -> None:
    parsed = read_plain("A sentence of words.\n" * 200, ORIGIN)

    assert [len(memory.content) <= 1500 for memory in parsed.memories] == [True] * 3
    assert [memory.line for memory in parsed.memories] == [1, 72, 143]


def test_blank_lines_inside_a_code_block_part_nothing() -> None:
    parsed = read_plain("see\n```\na\n\nb\n```\n\nend", ORIGIN)

    assert [memory.content for memory in parsed.memories] == ["see\n```\na\n\nb\n```", "end"]


def test_a_conversation_gives_a_memory_for_each_turn_with_its_neighbours() -> None:
    text = "Call\n\nAnn: Shall we ship?\nBob: Yes.\nToday even.\n[2024-05-06 10:30] Ann: Fine.\n[10:31] Bob: Good."

    before, *turns = read_plain(text, ORIGIN).memories

    assert (before.content, before.thread) == ("Call", None)
    assert [(turn.content, turn.turn, turn.line) for turn in turns] == [
        ("Ann: Shall we ship?", 1, 3),
        ("Bob: Yes.\nToday even.", 2, 4),
        ("Ann: Fine.", 3, 6),
        ("Bob: Good.", 4, 7),
    ]
    assert {turn.thread for turn in turns} == {"/notes/a.txt"}
    assert turns[1].context.before == "Ann: Shall we ship?"
    assert turns[1].context.after == "Ann: Fine."
    assert turns[1].context.around == "Bob: Good."
    assert turns[2].observed_at == datetime(2024, 5, 6, 10, 30, tzinfo=UTC)
    assert (turns[3].observed_at, turns[3].metadata) == (ORIGIN.date, {"time": "10:31"})


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["Ann: a", "Bob: b", "Ann: c", "Bob: d"], True),
        (["安娜\uff1a你好", "Bob: b", "安娜\uff1a好", "Bob: d", "and so on"], True),
        (["Ann: a", "Bob: b", "Ann: c"], False),
        (["Ann: a", "Bob: b", "Ann: c", "Bob: d", "x", "y", "z", "w"], False),
        (["Host: a", "Port: 1", "User: b", "Name: c"], False),
        (["Fact: a", "Fact: b", "Fact: c", "Fact: d"], False),
        (["INFO: a", "ERROR: b", "INFO: c", "ERROR: d"], False),
        ([f"Speaker {'ABCDEFGHI'[n % 9]}: words" for n in range(30)], False),
        (["http://a", "http://b", "10:30 x", "10:31 y"], False),
    ],
)
def test_a_conversation_is_told_from_other_lines_with_colons(lines: list[str], *, expected: bool) -> None:
    found = is_dialogue(lines)

    assert found is expected
