import json
from dataclasses import fields

from kit import NOON
from recollect import InputError, Memory
from recollect.remember.formats.entries import as_exported
from recollect.surfaces.serialise import archived, error_value, serialise

MEMORY = Memory(
    content="数据库",
    id=3,
    external_id="x",
    kind="k",
    project="p",
    type="t",
    title="T",
    tags=("a",),
    source="s",
    line=1,
    section="A",
    confidence=0.25,
    pinned=True,
    trust="agent",
    thread="th",
    turn=2,
    metadata={"deep": [1, {"x": None}]},
    created_at=NOON,
    updated_at=NOON,
    observed_at=NOON,
    deleted_at=NOON,
    valid_from=NOON,
    valid_until=NOON,
    superseded_by=4,
    superseded_at=NOON,
)


def test_an_export_holds_every_field_and_reads_back_as_the_memory_it_was() -> None:
    line = json.dumps(archived(MEMORY, ("another wording",)), ensure_ascii=False)

    memory, exported = as_exported(json.loads(line))

    changed = {field.name for field in fields(Memory) if getattr(memory, field.name) != getattr(MEMORY, field.name)}
    assert changed == {"id", "superseded_by"}
    assert (exported.id, exported.superseded_by, exported.wordings) == (3, 4, ("another wording",))


def test_dates_are_written_with_their_zone() -> None:
    assert serialise(MEMORY)["created_at"] == "2026-05-04T12:00:00+00:00"
    assert serialise(Memory(content="x"))["observed_at"] is None


def test_an_error_has_a_code_a_message_and_a_hint() -> None:
    assert error_value(InputError("it is wrong", hint="do it right")) == {
        "error": {"code": "bad_input", "message": "it is wrong", "hint": "do it right"}
    }
