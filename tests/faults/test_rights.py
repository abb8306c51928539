"""Rights are one table with default deny: the row of the certificate, and what the table says of each operation."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import rights
from msgspec.structs import replace

import recollect
from recollect.errors import AccessError, InputError
from recollect.operations import OPERATIONS, memories
from recollect.operations import rights as declared
from recollect.operations.answer import Answer, operation
from recollect.operations.request import Call, Request
from recollect.surfaces.serve import dispatcher as dispatching
from recollect.surfaces.serve.dispatcher import OWNER, Caller, Dispatcher

DECIDED = {
    "nothing": "why related show list timeline facts stale conflicts log lens stats export activity review",
    "session": "search decisions changes how-it-works inject remind brief",
    "own": "add capture feedback",
    "named": "forget restore supersede edit tag",
}
OWNERS = "pin reinforce consolidate embed reindex purge doctor"


@pytest.fixture
def dispatcher(tmp_path: Path) -> Iterator[Dispatcher]:
    rights.make_store(tmp_path / "store.db")
    with recollect.open(tmp_path / "store.db", model="none") as db:
        yield Dispatcher(db)


def test_every_operation_is_granted_or_refused_as_declared_and_what_is_refused_writes_nothing() -> None:
    row = rights.row()

    assert row.failures == ()


def test_the_rights_of_every_operation_were_decided() -> None:
    for touches, names in DECIDED.items():
        assert {name: OPERATIONS[name].rights.touches for name in names.split()} == dict.fromkeys(
            names.split(), touches
        )
    assert {OPERATIONS[name].rights.trust for name in OWNERS.split()} == {"owner"}
    offered = {name for name, each in OPERATIONS.items() if each.rights.is_offered}
    assert offered == set(" ".join([*DECIDED.values(), OWNERS]).split())
    assert set(OPERATIONS) - offered == {name for name in rights.LOCAL.split() if name in OPERATIONS}


class Wipe(Request):
    """An operation whose rights nobody declared."""


@operation
def wipe(_: recollect.Recollection, __: Wipe, ___: Call) -> Answer:
    """Do what nobody has thought about."""
    return Answer(value="wiped", text=str)


def test_an_operation_without_declared_rights_is_refused_to_every_caller_of_a_server(
    dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatching, "OPERATIONS", {**OPERATIONS, "wipe": wipe})
    served = Dispatcher(dispatcher.db)

    for caller in (*rights.CALLERS, OWNER):
        with pytest.raises(InputError, match="no operation is called"):
            served.answer("wipe", {}, caller)
        with pytest.raises(AccessError):
            served.permit("wipe", wipe.rights, {}, caller)
    assert wipe.answer(dispatcher.db, Wipe()).value == "wiped"


def test_the_row_would_notice_a_right_that_is_too_wide(tmp_path: Path, dispatcher: Dispatcher) -> None:
    class TooWide(memories.Pin, rights=declared.CHANGES):
        """A pin that anybody may set."""

    narrow = OPERATIONS["pin"]
    wide = replace(narrow, request=TooWide)
    case = rights.Case(narrow, {"id": rights.AGENTS}, Caller(name="bot", trust="agent", has_token=True))
    dispatcher.operations = {**dispatcher.operations, "pin": wide}

    found = rights.troubles(dispatcher, tmp_path / "store.db", [case])

    assert len(found) == 2
    assert "was done" in found[0]
    assert "wrote to" in found[1]
