from pathlib import Path

from msgspec.structs import replace

from kit import NOON
from recollect import InputError, Memory, Reason
from recollect.replies import Health
from recollect.serialize import error_value, serialize

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


def test_dates_are_written_with_their_zone() -> None:
    assert serialize(MEMORY)["created_at"] == "2026-05-04T12:00:00+00:00"
    assert serialize(Memory(content="x"))["observed_at"] is None


def test_an_error_has_a_code_a_message_and_a_hint() -> None:
    assert error_value(InputError("it is wrong", hint="do it right")) == {
        "error": {"code": "bad_input", "message": "it is wrong", "hint": "do it right"}
    }


def test_a_value_without_a_shape_shows_its_fields() -> None:
    reason = Reason(code="no_match", message="nothing", hidden=3)

    assert serialize(reason) == {"code": "no_match", "message": "nothing", "best_score": None, "hidden": 3}
    assert serialize((NOON, [Path("a/b")], {"x": None, "y": 1.5, "z": True})) == [
        "2026-05-04T12:00:00+00:00",
        ["a/b"],
        {"x": None, "y": 1.5, "z": True},
    ]


def test_what_is_empty_and_optional_is_left_out() -> None:
    health = Health(problems=(), memories=2, address="notes.db")

    assert serialize(health) == {"store": "notes.db", "healthy": True, "memories": 2, "problems": []}
    assert serialize(replace(health, advice=("drop it",)))["advice"] == ["drop it"]
