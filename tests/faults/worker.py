"""What the processes of the fault tests do to one store. A line on standard output acknowledges what it names."""

import sys
import time
from pathlib import Path

import recollect
from recollect import Recollection


def acknowledge(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def write_and_read(path: str, name: str, seconds: str) -> None:
    """Add, find, import, forget and restore until the time is over; fail when something is not as it should be."""
    until = time.monotonic() + float(seconds)
    number = 0
    folder = Path(path).parent / f"notes-{name}"
    folder.mkdir()
    with recollect.open(path, model="none") as db:
        while time.monotonic() < until:
            number += 1
            text = f"entry {name}{number} written by worker {name}"
            row = db.add(text, external_id=f"{name}-{number}").id
            acknowledge(f"add {row} {text}")
            assert [hit.id for hit in db.search(f"{name}{number}").hits] == [row], text
            if number % 5 == 0:
                (folder / "note.md").write_text(f"# Note\n\nnote {name}{number} from a file\n")
                assert db.import_(folder).errors == []
            if number % 7 == 0:
                db.forget(row)
                db.restore(row)
            assert db.list(limit=3).memories


def add_and_import(path: str, folder: str) -> None:
    """Add one text after another, an import among them, until somebody ends it."""
    number = 0
    with recollect.open(path, model="none") as db:
        start = db.stats().events
        while True:
            number += 1
            text = f"entry e{start}x{number} of this run"
            row = db.add(text, external_id=f"{start}-{number}").id
            acknowledge(f"add {row} {text}")
            if number % 10 == 0:
                _import_slowly(db, folder)


def _import_slowly(db: Recollection, folder: str) -> None:
    done = db.import_(folder)
    assert done.errors == []
    acknowledge(f"import {done.memories['new']} new")


if __name__ == "__main__":
    {"write_and_read": write_and_read, "add_and_import": add_and_import}[sys.argv[1]](*sys.argv[2:])
