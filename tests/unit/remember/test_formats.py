"""Reading files of every format, by their suffix."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import read_csv
from recollect.errors import FileError
from recollect.remember.formats import BY_NAME, FORMATS, Parsed, read_file
from recollect.remember.formats.json_text import read_json, read_jsonl
from recollect.remember.formats.markdown import read_markdown
from recollect.remember.formats.plain import read_plain
from recollect.remember.formats.record import CONTENT, FIELDS, Origin
from recollect.remember.formats.yaml_text import read_yaml

ORIGIN = Origin(source="/notes/a")
TEXT_READERS = {
    "markdown": read_markdown,
    "text": read_plain,
    "json": read_json,
    "jsonl": read_jsonl,
    "yaml": read_yaml,
    "csv": read_csv,
}


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_no_two_formats_have_the_same_name_and_every_suffix_without_a_sign_has_one_reader() -> None:
    plain = [suffix for each in FORMATS if not each.recognizer for suffix in each.suffixes]

    assert len(BY_NAME) == len(FORMATS)
    assert len(set(plain)) == len(plain)
    assert all(suffix == suffix.lower() for each in FORMATS for suffix in each.suffixes)


def test_a_suffix_counts_in_any_case_and_an_unknown_one_is_text(tmp_path: Path) -> None:
    table = written(tmp_path / "A.CSV", "text\nhello\n")
    other = written(tmp_path / "a.xyz", "one\n\ntwo")

    memories = read_file(table).memories + read_file(other).memories

    assert [memory.content for memory in memories] == ["hello", "one", "two"]


@pytest.mark.req("B-09", "B-10")
@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("2025-06-15.md", datetime(2025, 6, 15, tzinfo=UTC)),
        ("standup 2025-06-15 b.txt", datetime(2025, 6, 15, tzinfo=UTC)),
        ("2025-13-40 then 2025-06-15.md", datetime(2025, 6, 15, tzinfo=UTC)),
        ("ticket-92025-06-15.md", None),
        ("2025-06-155.md", None),
        ("2025-02-30.md", None),
        ("MEMORY.md", None),
    ],
)
def test_a_date_in_the_name_is_when_its_memories_were_true(tmp_path: Path, name: str, date: datetime | None) -> None:
    path = written(tmp_path / "1999-09-09" / name, "hello")

    memories = read_file(path).memories

    assert [memory.observed_at for memory in memories] == [date]


def test_the_page_about_formats_names_every_suffix_and_every_name_of_a_field() -> None:
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
    rows = {line.split(" | ")[0].strip("| "): line for line in page.splitlines() if line.startswith("| ")}

    for each in FORMATS:
        assert all(f"`{suffix}`" in rows[each.name] for suffix in each.suffixes if suffix)
    for field, (names, _) in (*FIELDS.items(), ("content", (CONTENT, None))):
        assert " ".join(f"`{name}`" for name in names) in rows[field]


# --- laws -----------------------------------------------------------------------------------

# Names of every field, so that values of every shape come to stand in them.
NAMES = (
    *("content", "text", "message", "role", "author", "from", "session", "turn", "parts", "recollect", "metadata"),
    *("id", "_id", "name", "title", "Type", "tags", "pinned", "confidence", "date", "ts", "source"),
)
WORDS = st.text(st.characters(max_codepoint=0xD7FF), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=12,
)
MARKS = st.sampled_from(
    [
        *"\n\n\n:-#[]{}\"',;|&*!>%@`\t ",
        *("---\n", "```\n", "Ann: hi\n", "Bob: ho\n", "# A\n", "- b\n", "a: 1\n", "<<", "&a ", "*a ", "!!int ", "..."),
        *('{"role":"u","content":"x"}\n', "1e999", "\\ud800", "\ud7ff", "0x1F", "2024-13-45"),
    ]
)
TEXTS = st.text(max_size=60) | st.lists(MARKS, max_size=25).map("".join)


def keepable(parsed: Parsed) -> bool:
    """Tell whether a store could keep everything that was parsed, and a terminal show it."""
    for memory in parsed.memories:
        texts = (memory.content, memory.title, memory.type, memory.project, *memory.tags, memory.external_id or "")
        assert all("\0" not in text and text.encode() is not None for text in texts)
        assert json.dumps(dict(memory.metadata), allow_nan=False).encode() is not None
        assert memory.content.strip()
        assert memory.line is None or memory.line >= 1
        assert 0 <= memory.confidence <= 1
        assert memory.observed_at is None or memory.observed_at.tzinfo == UTC
    return all("\n" not in problem for problem in parsed.problems)


@pytest.mark.parametrize("form", TEXT_READERS)
@given(text=TEXTS)
def test_no_text_makes_a_reader_raise_anything_but_a_file_error(form: str, text: str) -> None:
    readable = text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()

    try:
        parsed = TEXT_READERS[form](readable, ORIGIN)
    except FileError as error:
        parsed = Parsed(problems=(str(error),))

    assert keepable(parsed)


@pytest.mark.parametrize("form", ["json", "jsonl", "yaml"])
@given(values=st.lists(VALUES, max_size=4))
def test_records_of_any_shape_are_read(form: str, values: list[object]) -> None:
    lines = [json.dumps(value) for value in values]
    text = "\n".join(lines) if form == "jsonl" else f"[{','.join(lines)}]"

    parsed = TEXT_READERS[form](text, ORIGIN)

    assert keepable(parsed)
    assert parsed.problems == ()


@pytest.mark.parametrize("form", ["json", "jsonl", "yaml"])
@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 500 + "]" * 500])
def test_nesting_without_end_is_refused_not_followed(form: str, text: str) -> None:
    try:
        parsed = TEXT_READERS[form](text, ORIGIN)
    except FileError:
        return

    assert parsed.memories == ()
    assert parsed.problems
