"""What every store of two projects is asked: whether one of them hears of the other, or changes it."""

from operator import attrgetter
from pathlib import Path

from questions import methods, verbs
from told import answer, called
from two_projects import MARK, OURS, leaked, whole

from recollect import Recollection
from recollect.operations import OPERATIONS


def require_silent_verb(db: Recollection, folder: Path, name: str) -> None:
    """Ask a verb in our project; nothing of the other one may be told or changed."""
    before = whole(db)

    for values in verbs(folder)[name]:
        told = answer(OPERATIONS[name], db, {**values, "project": OURS})

        assert leaked(told, values) == set(), (values, told)

    assert whole(db) == before
    if (folder / "export.jsonl").exists():
        assert MARK not in (folder / "export.jsonl").read_text(encoding="utf-8")


def require_silent_method(db: Recollection, folder: Path, name: str, *, echoes: str = "") -> None:
    """Call a method in our project; it may repeat what it was asked, and *echoes*, which it was asked before."""
    before, ours = whole(db), db.in_project(OURS)

    for args, more in methods(folder)[name]:
        told = called(attrgetter(name)(ours), args, dict(more))

        assert leaked(told, (args, more, echoes)) == set(), (args, more, told)

    ours.flush()
    assert whole(db) == before
