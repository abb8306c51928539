"""Reading tables."""

import csv
from datetime import UTC, datetime

import pytest

from kit import read_csv
from recollect.remember.formats.record import Origin

ORIGIN = Origin(source="/notes/a.csv")


def test_a_row_without_a_content_column_becomes_lines_of_header_and_value() -> None:
    parsed = read_csv("City,Country,\nOslo,Norway,x\nRome,,,extra\n", ORIGIN)

    assert [memory.content for memory in parsed.memories] == [
        "City: Oslo\nCountry: Norway\ncolumn 3: x",
        "City: Rome\ncolumn 4: extra",
    ]


def test_known_columns_fill_fields_and_the_rest_is_metadata() -> None:
    text = (
        "ID,Text,Title,Type,Tags,Project,Source,Confidence,Created_At,Mood\n"
        '7,We ship on Monday,Ship,decision,"a, b",web,wiki,1.7,2024-05-06T07:08:09Z,good\n'
    )

    (memory,) = read_csv(text, ORIGIN).memories

    assert (memory.content, memory.title, memory.type, memory.tags) == (
        "We ship on Monday",
        "Ship",
        "decision",
        ("a", "b"),
    )
    assert (memory.project, memory.source, memory.line, memory.confidence) == ("web", "wiki", None, 1.0)
    assert memory.observed_at == datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert memory.external_id == "7"
    assert memory.metadata == {"Mood": "good"}


def test_rows_know_the_line_they_begin_on() -> None:
    text = '\ntext,n\n"two\nlines",1\n\nlast,2\n'

    memories = read_csv(text, ORIGIN).memories

    assert [(memory.content, memory.line) for memory in memories] == [("two\nlines", 3), ("last", 6)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_of_the_header(delimiter: str) -> None:
    text = f"a{delimiter}b\n1{delimiter}2\n"

    memories = read_csv(text, ORIGIN).memories

    assert [memory.content for memory in memories] == ["a: 1\nb: 2"]


def test_repeated_and_blank_header_names_lose_no_column() -> None:
    memories = read_csv("a,a 3,a,\n1,2,3,4\n", ORIGIN).memories

    assert memories[0].content == "a: 1\na 3: 2\na 3 3: 3\ncolumn 4: 4"


@pytest.mark.parametrize("text", ["", "\n\n", "a,b\n", "a,b\n,\n \n"])
def test_nothing_said_gives_nothing(text: str) -> None:
    parsed = read_csv(text, ORIGIN)

    assert (parsed.memories, parsed.problems) == ((), ())


def test_a_category_is_a_type_only_if_memories_have_such_a_type() -> None:
    text = "content,category\nNew brake pads,bike\nUse Postgres,Decision\n"

    memories = read_csv(text, ORIGIN).memories

    assert [(each.type, dict(each.metadata)) for each in memories] == [("note", {"category": "bike"}), ("decision", {})]


def test_a_long_field_is_read_and_the_limit_of_the_process_stays() -> None:
    before = csv.field_size_limit()

    (memory,) = read_csv(f"content\n{'x' * 200_000}\n", ORIGIN).memories

    assert (len(memory.content), csv.field_size_limit()) == (200_000, before)
