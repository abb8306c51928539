"""Reading JSON and JSONL."""

import json

import pytest

from recollect.errors import FileError
from recollect.remember.formats.json_text import read_json, read_jsonl
from recollect.remember.formats.record import Origin

ORIGIN = Origin(source="/notes/a.json")


def test_an_array_gives_a_memory_for_each_element_with_its_line() -> None:
    parsed = read_json('[\n {"content": "one"},\n\n "two", {"a": {"b": 3}},\n null, [4, 5], true]', ORIGIN)

    assert [(memory.content, memory.line) for memory in parsed.memories] == [
        ("one", 2),
        ("two", 4),
        ("a.b: 3", 4),
        ("4, 5", 5),
        ("true", 5),
    ]


def test_an_object_gives_a_memory_for_each_key_with_dotted_lines() -> None:
    text = '{\n"user": {"name": "Ida", "likes": ["tea", "go"], "pets": [{"kind": "cat"}]},\n"empty": {},\n"n": 0.5}'

    parsed = read_json(text, ORIGIN)

    assert [(memory.title, memory.content, memory.line) for memory in parsed.memories] == [
        ("user", "user.name: Ida\nuser.likes: tea, go\nuser.pets.0.kind: cat", 2),
        ("n", "n: 0.5", 4),
    ]


@pytest.mark.parametrize(
    ("record", "count"),
    [
        ({"content": "x", "colour": "red"}, 1),
        ({"Text": "x", "colour": "red"}, 1),
        ({"title": "T", "body": "x"}, 1),
        ({"memory": "16 GB", "disk": "1 TB", "cores": 8}, 3),
        ({"text": {"size": 3}, "colour": "red"}, 2),
        ({"notes": [{"text": "a"}, {"text": "b"}], "more": "c"}, 3),
        ({"first": {"content": "a", "tags": ["t"]}, "second": {"content": "b"}}, 2),
    ],
)
def test_an_object_that_is_a_record_is_one_memory(record: dict[str, object], count: int) -> None:
    parsed = read_json(json.dumps(record), ORIGIN)

    assert len(parsed.memories) == count


def test_a_record_under_a_key_has_the_key_as_title() -> None:
    parsed = read_json('{"first": {"content": "a", "tags": ["t"]}}', ORIGIN)

    assert [(memory.title, memory.content, memory.tags) for memory in parsed.memories] == [("first", "a", ("t",))]


def test_a_broken_line_is_reported_and_stops_no_other() -> None:
    parsed = read_jsonl('{"text": "a"}\n\n{"text": \n{"text": "b"}\n\ufffd\n"c"', ORIGIN)

    assert [(memory.content, memory.line) for memory in parsed.memories] == [("a", 1), ("b", 4), ("c", 6)]
    assert parsed.problems == ("line 3: not JSON (Expecting value)", "line 5: not JSON (Expecting value)")


def test_lines_in_a_file_called_json_are_read_as_lines() -> None:
    parsed = read_json('{"text": "a"}\n{"text": "b"}\noops', ORIGIN)

    assert [memory.content for memory in parsed.memories] == ["a", "b"]
    assert len(parsed.problems) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2", "line 1: Expecting ',' delimiter"),
        ("[1,\n]", "line 2: Expecting value"),
        ('{"a": 1,}', "line 1: Expecting property name enclosed in double quotes"),
        ("{a: 1}", "line 1: Expecting property name enclosed in double quotes"),
        ("[1]\n]", "line 2: Extra data"),
        ("nonsense", "line 1: Expecting value"),
    ],
)
def test_broken_json_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(FileError) as caught:
        read_json(text, ORIGIN)

    assert str(caught.value) == f"/notes/a.json is not JSON: {message}"


def test_what_no_store_can_keep_becomes_text_that_it_can() -> None:
    text = r'[{"text": "a\u0000b \ud83d\ude00 \ud800", "n": NaN, "m": 1e999, "k\udfff": [-Infinity]}]'

    (memory,) = read_json(text, ORIGIN).memories

    assert memory.content == "a\ufffdb 😀 \ufffd"
    assert memory.metadata == {"n": "NaN", "m": "1e999", "k\ufffd": ["-Infinity"]}


def test_a_number_too_long_to_read_is_a_problem_of_its_line() -> None:
    parsed = read_jsonl("9" * 5000 + '\n{"text": "a"}', ORIGIN)

    assert len(parsed.memories) == 1
    assert len(parsed.problems) == 1


@pytest.mark.parametrize("text", ["", " \n", "null", "[]", "{}", '[""]', '{"a": null}'])
def test_nothing_said_gives_nothing(text: str) -> None:
    parsed = read_json(text, ORIGIN)

    assert (parsed.memories, parsed.problems) == ((), ())
