"""Recognising conversations in records, and their context."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.records import Context, Memory
from recollect.remember.formats.chat import with_context
from recollect.remember.formats.json_text import read_json, read_jsonl
from recollect.remember.formats.record import Origin

ORIGIN = Origin(source="/notes/chat.json")


def lines(*records: object) -> str:
    return "\n".join(map(json.dumps, records))


@pytest.mark.parametrize(
    "record",
    [
        {"role": "Ann", "content": "hello"},
        {"role": "Ann", "content": [{"type": "text", "text": "hello"}, {"type": "image", "url": "x"}]},
        {"speaker": "Ann", "text": "hello"},
        {"author": "Ann", "message": "hello"},
        {"author": {"role": "Ann"}, "content": {"content_type": "text", "parts": ["hello"]}},
        {"from": "Ann", "content": "hello"},
        {"from": "Ann", "value": "hello"},
        {"role": "user", "name": "Ann", "content": "hello"},
        {"type": "note", "message": {"role": "Ann", "content": "hello"}},
    ],
)
def test_a_turn_is_recognised_by_who_speaks_and_what_is_said(record: dict[str, object]) -> None:
    by_line = read_jsonl(lines(record, record), ORIGIN).memories
    by_element = read_json(json.dumps([record, record]), ORIGIN).memories

    for memories in (by_line, by_element):
        assert [(turn.content, turn.thread, turn.turn) for turn in memories] == [
            ("Ann: hello", "/notes/chat.json", 1),
            ("Ann: hello", "/notes/chat.json", 2),
        ]


def test_a_session_parts_threads_and_context_stays_inside_one() -> None:
    text = lines(
        {"role": "u", "content": "a1", "session": "s1", "timestamp": "2024-05-06T07:08:09Z", "id": "m1"},
        {"role": "u", "content": "b1", "sessionId": 2},
        {"role": "v", "content": "a2", "session": "s1"},
        {"role": "v", "content": "b2", "conversation_id": 2},
        {"role": "u", "content": "a3", "session": "s1", "mood": "good"},
    )

    memories = read_jsonl(text, ORIGIN).memories

    assert [(turn.content, turn.thread, turn.turn) for turn in memories] == [
        ("u: a1", "/notes/chat.json#s1", 1),
        ("u: b1", "/notes/chat.json#2", 1),
        ("v: a2", "/notes/chat.json#s1", 2),
        ("v: b2", "/notes/chat.json#2", 2),
        ("u: a3", "/notes/chat.json#s1", 3),
    ]
    assert memories[0].context == Context(after="v: a2", around="u: a3")
    assert memories[2].context == Context(before="u: a1", after="u: a3")
    assert memories[3].context == Context(before="u: b1")
    assert memories[0].observed_at == datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert memories[0].external_id == "m1"
    assert memories[4].metadata == {"mood": "good"}


def test_a_conversation_inside_an_object_gives_its_turns_what_the_object_says() -> None:
    record = {
        "id": "c9",
        "title": "Trip",
        "author": "export tool",
        "tags": "x",
        "messages": [{"role": "u", "content": "one"}, {"role": "v", "content": "two"}],
        "settings": {"model": "m"},
    }

    memories = read_json(json.dumps(record), ORIGIN).memories

    assert [(memory.content, memory.thread, memory.turn) for memory in memories] == [
        ("u: one", "/notes/chat.json#c9", 1),
        ("v: two", "/notes/chat.json#c9", 2),
        ("settings.model: m", None, None),
    ]
    assert {(memory.title, memory.external_id) for memory in memories[:2]} == {("Trip", None)}
    assert memories[0].metadata["conversation author"] == "export tool"
    assert memories[1].context.before == "u: one"


def test_each_line_with_a_conversation_is_a_thread_of_its_own() -> None:
    turns = [{"role": "u", "content": "one"}]

    memories = read_jsonl(lines({"id": 1, "messages": turns}, {"id": 2, "messages": turns}), ORIGIN).memories

    assert [(turn.thread, turn.turn) for turn in memories] == [("/notes/chat.json#1", 1), ("/notes/chat.json#2", 1)]


def test_conversations_without_a_name_are_told_apart_by_their_place() -> None:
    turns = [{"role": "u", "content": "one"}, {"role": "v", "content": "two"}]

    by_line = read_jsonl(lines({"messages": turns}, {"messages": turns}), ORIGIN).memories
    by_list = read_json(json.dumps([turns, turns]), ORIGIN).memories
    by_key = read_json(json.dumps({"monday": turns, "friday": turns}), ORIGIN).memories

    for memories in (by_line, by_list, by_key):
        assert len({turn.thread for turn in memories}) == 2
        assert [turn.turn for turn in memories] == [1, 2, 1, 2]
    assert by_key[0].thread == "/notes/chat.json#monday"


def test_other_records_in_a_conversation_stay_records_and_silent_turns_give_nothing() -> None:
    text = lines(
        {"role": "u", "content": "one"},
        {"summary": "they talk"},
        {"role": "u", "content": [{"type": "tool_use", "input": {}}]},
        {"role": "v", "content": "two"},
        {"role": "v", "content": "three"},
    )

    memories = read_jsonl(text, ORIGIN).memories

    assert [(memory.content, memory.turn) for memory in memories] == [
        ("u: one", 1),
        ("summary: they talk", None),
        ("v: two", 2),
        ("v: three", 3),
    ]


def test_context_follows_the_numbers_of_the_turns_not_their_order() -> None:
    memories = [Memory(content=f"t{turn}", thread="x", turn=turn) for turn in (3, 1, 2, 5, 4)]

    third, first, *_ = with_context(memories)

    assert third.context == Context(before="t2", after="t4", around="t1\nt5")
    assert first.context == Context(after="t2", around="t3")


def test_a_memory_without_a_thread_and_a_known_side_without_a_turn_stay() -> None:
    alone = Memory(content="a", context=Context(before="b"))
    first = Memory(content="c", thread="x", turn=2, context=Context(before="from before"))
    second = Memory(content="d", thread="x", turn=3)

    filled = with_context([alone, first, second])

    assert filled[0] is alone
    assert filled[1].context == Context(before="from before", after="d")


@given(places=st.lists(st.tuples(st.sampled_from([None, "x", "y"]), st.none() | st.integers(0, 5)), max_size=12))
def test_filling_the_context_twice_changes_nothing(places: list[tuple[str | None, int | None]]) -> None:
    memories = [Memory(content=f"m{n}", thread=thread, turn=turn) for n, (thread, turn) in enumerate(places)]

    once = with_context(memories)

    assert with_context(once) == once
    assert [memory.content for memory in once] == [memory.content for memory in memories]
