"""Reading YAML."""

import pytest

from recollect.errors import FileError
from recollect.remember.formats.record import Origin
from recollect.remember.formats.yaml_text import load_mapping, read_yaml

ORIGIN = Origin(source="/notes/a.yaml")


def test_every_document_is_read_by_the_rules_of_json() -> None:
    text = "city: Oslo\nteam:\n  lead: I\n  size: 4\n---\n- text: one\n  tags: a, b\n- two\n---\ncontent: three\nk: x\n"

    parsed = read_yaml(text, ORIGIN)

    assert [(memory.content, memory.line) for memory in parsed.memories] == [
        ("city: Oslo", 1),
        ("team.lead: I\nteam.size: 4", 2),
        ("one", 6),
        ("two", 8),
        ("three", 10),
    ]
    assert parsed.memories[2].tags == ("a", "b")


def test_text_stays_as_it_was_written() -> None:
    values = load_mapping(
        "version: 1.10\ncountry: no\ntime: 12:30\nday: 2024-13-45\nhex: 0x1F\noctal: 010\n"
        "quoted: '7'\nsize: 7\nshare: 0.5\nyes: true\nnothing: ~\nlong: 12345678901234567890\ntag: !!int x\n"
    )

    assert values == {
        "version": "1.10",
        "country": "no",
        "time": "12:30",
        "day": "2024-13-45",
        "hex": "0x1F",
        "octal": "010",
        "quoted": "7",
        "size": 7,
        "share": 0.5,
        "yes": True,
        "nothing": None,
        "long": "12345678901234567890",
        "tag": "x",
    }


def test_aliases_and_merged_keys_are_followed() -> None:
    values = load_mapping("base: &b {a: 1, b: 2}\nmine:\n  <<: *b\n  b: 3\nboth:\n  <<: [*b, {c: 4}]\ncopy: *b\n")

    assert values == {
        "base": {"a": 1, "b": 2},
        "mine": {"a": 1, "b": 3},
        "both": {"a": 1, "b": 2, "c": 4},
        "copy": {"a": 1, "b": 2},
    }


def test_keys_of_any_kind_become_text() -> None:
    values = load_mapping("1: a\ntrue: b\n? [x, y]\n: c\n'<<': d\n")

    assert values == {"1": "a", "true": "b", "x, y": "c", "<<": "d"}


@pytest.mark.parametrize("leaf", ["lol", "{}"])
def test_aliases_that_would_become_too_much_are_refused(leaf: str) -> None:
    levels = [f"a0: &a0 [{', '.join([leaf] * 9)}]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]

    with pytest.raises(FileError, match="too long when its aliases are written out"):
        read_yaml("\n".join(levels), ORIGIN)


def test_merged_keys_that_would_become_too_much_are_refused() -> None:
    text = "a: &a {" + ", ".join(f"k{n}: 1" for n in range(1000)) + "}\nb:\n" + "- <<: *a\n" * 20_000

    with pytest.raises(FileError, match="too long"):
        read_yaml(text, ORIGIN)


def test_a_broken_document_leaves_those_before_it() -> None:
    parsed = read_yaml("content: one\n---\ncontent: [\n", ORIGIN)

    assert [memory.content for memory in parsed.memories] == ["one"]
    assert len(parsed.problems) == 1
    assert parsed.problems[0].startswith("document 2: not YAML (line 4: ")


@pytest.mark.parametrize("text", ["a: [", "a: *nowhere", "a: &a [*a]", "\tx: 1", "a: b: c", "\x01"])
def test_broken_yaml_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(FileError, match=r"^/notes/a\.yaml is not YAML: .") as caught:
        read_yaml(text, ORIGIN)

    assert caught.value.hint


@pytest.mark.parametrize("text", ["", "---\n", "# only a comment", "~", "[]"])
def test_nothing_said_gives_nothing(text: str) -> None:
    parsed = read_yaml(text, ORIGIN)

    assert (parsed.memories, parsed.problems) == ((), ())
