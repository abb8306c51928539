"""Reading the entries of structured files: recollect's own export, taken back without loss."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from recollect.errors import InputError
from recollect.records import Context, Memory
from recollect.remember.archive_records import ArchivedMemory, memory_of, read_record
from recollect.remember.formats.json_text import read_jsonl
from recollect.remember.formats.record import Origin

ORIGIN = Origin(source="/backup/2025-06-15.jsonl", date=datetime(2025, 6, 15, tzinfo=UTC))

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
MOMENTS = st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - naive bounds
MEMORIES = st.builds(
    Memory,
    content=TEXT,
    id=st.integers(1, 2**40),
    external_id=st.none() | TEXT,
    kind=TEXT,
    project=TEXT,
    type=TEXT,
    title=TEXT,
    tags=st.lists(TEXT, max_size=3).map(tuple),
    source=st.none() | TEXT,
    line=st.none() | st.integers(1, 9999),
    section=st.none() | TEXT,
    confidence=st.floats(0, 1),
    pinned=st.booleans(),
    trust=st.sampled_from(["owner", "agent", "untrusted"]),
    thread=st.none() | TEXT,
    turn=st.none() | st.integers(0, 99),
    context=st.builds(Context, before=TEXT, after=TEXT, around=TEXT),
    metadata=st.dictionaries(TEXT, TEXT | st.integers() | st.lists(st.booleans(), max_size=2), max_size=3),
    created_at=MOMENTS,
    updated_at=MOMENTS,
    observed_at=st.none() | MOMENTS,
    deleted_at=st.none() | MOMENTS,
    superseded_by=st.none() | st.integers(1, 2**40),
)


def exported(memory: Memory, wordings: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return *memory* as an archive has it."""
    fields = {name: getattr(memory, name) for name in Memory.__slots__}
    for name, value in fields.items():
        if isinstance(value, datetime):
            fields[name] = value.isoformat()
    context = {name: getattr(memory.context, name) for name in Context.__slots__}
    record = {"recollect": 2, **fields, "metadata": dict(memory.metadata), "context": context, "wordings": wordings}
    return dict(json.loads(json.dumps(record)))


@given(memory=MEMORIES, wordings=st.lists(TEXT, max_size=2).map(tuple))
def test_an_archived_memory_comes_back_without_loss(memory: Memory, wordings: tuple[str, ...]) -> None:
    record = exported(memory, wordings)

    about = read_record(record, ArchivedMemory)

    assert memory_of(record) == replace(memory, id=0, superseded_by=None)
    assert about == ArchivedMemory(id=memory.id, superseded_by=memory.superseded_by, wordings=wordings)


@pytest.mark.parametrize("wrong", [{"line": "x"}, {"turn": True}, {"tags": "a"}, {"context": []}, {"trust": "king"}])
def test_a_record_with_a_field_of_a_wrong_type_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"not a memory: .*{next(iter(wrong))}"):
        memory_of({"content": "c", **wrong})


def test_without_its_mark_a_record_is_like_any_other() -> None:
    parsed = read_jsonl('{"id": 5, "content": "c"}', ORIGIN)

    assert [(memory.external_id, memory.observed_at) for memory in parsed.memories] == [("5", ORIGIN.date)]
    assert parsed.exported == {}
