"""What is done to a store while something goes wrong, step by step, and what must be in it afterwards.

A workload is one line of `WORKLOADS`: how its store is made, and the steps; each is acknowledged when it returns.
"""

import gzip
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import recollect
from recollect import InputError, Memory, Recollection

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
OLDEST = Path(__file__).parent / "oldest.db.gz"
"""A store of the first format, from the program of its time: eight memories, 4 forgotten and 2 superseded by 3."""

State = dict[int, tuple[Memory, tuple[str, ...]]]
"""Each memory by its id, the forgotten ones too, with its other wordings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a workload happens: a store, alone in its folder, and a folder of notes to import."""

    root: Path

    @property
    def store(self) -> Path:
        return self.root / "store" / "store.db"

    @property
    def notes(self) -> Path:
        return self.root / "notes"

    def files(self) -> dict[str, bytes]:
        """Return the files of the store as they are now."""
        return {path.name: path.read_bytes() for path in sorted(self.store.parent.iterdir()) if _matters(path)}


def _matters(path: Path) -> bool:
    """Tell whether a crash leaves *path* of use; SQLite makes the index of its log anew."""
    return not path.name.endswith("-shm")


Step = Callable[[Recollection, Place], object]
Prepare = Callable[[Place], None]


@contextmanager
def opened(store: Path, model: str = "none") -> Iterator[Recollection]:
    """Open the store at *store*, at noon."""
    with recollect.open(store, model=model, clock=lambda: NOON) as db:
        yield db


# --- how a store is made ----------------------------------------------------------------------


def nothing(_: Place) -> None:
    """Leave the store to the first step."""


def some_memories(place: Place) -> None:
    with opened(place.store) as db:
        db.add_all([Memory(content=sentence(n)) for n in range(12)])


def some_notes(place: Place) -> None:
    with opened(place.store) as db:
        import_notes(db, place)


def spoken_of_memories(place: Place) -> None:
    """Make memories of which the third was superseded, searched for and judged."""
    some_memories(place)
    with opened(place.store) as db:
        db.supersede(2, 3)
        db.search(sentence(2), session="s")
        db.feedback(3, "used", query=sentence(2))


def oldest_format(place: Place) -> None:
    place.store.write_bytes(gzip.decompress(OLDEST.read_bytes()))


def sentence(number: int) -> str:
    """Return a sentence that no other number's is like."""
    return f"engine{number} drives wheel{number} through gear{number} since spring{number} on track{number}"


# --- what is done to it -----------------------------------------------------------------------


def add(number: int) -> Step:
    """Return the step that adds one sentence."""
    return lambda db, _: db.add(sentence(number), title="One", tags=("first", "second"), metadata={"of": "three"})


def add_several(db: Recollection, _: Place) -> None:
    db.add_all([Memory(content=sentence(200 + n)) for n in range(3)])


def import_notes(db: Recollection, place: Place) -> None:
    """Import three files of five sections each."""
    place.notes.mkdir(exist_ok=True)
    for file in range(3):
        write_note(place.notes / f"{file}.md", range(300 + 10 * file, 305 + 10 * file))
    sound(db.import_(place.notes).errors)


def import_edited_notes(db: Recollection, place: Place) -> None:
    """Import the notes after one was edited, one deleted and one made."""
    write_note(place.notes / "0.md", (300, 301, 993, 304, 995))
    (place.notes / "1.md").unlink(missing_ok=True)
    write_note(place.notes / "3.md", range(330, 335))
    sound(db.import_(place.notes).errors)


def write_note(path: Path, numbers: Sequence[int]) -> None:
    path.write_text("".join(f"# Part {n}\n\n{sentence(n)}\n\n" for n in numbers), encoding="utf-8")


def sound(errors: Sequence[object]) -> None:
    if errors:
        raise InputError(f"the import had errors: {errors}")


def forget(db: Recollection, _: Place) -> None:
    db.forget(3, reason="no longer true")


def restore(db: Recollection, _: Place) -> None:
    db.restore(3)


def supersede(db: Recollection, _: Place) -> None:
    db.supersede(5, 6)


def purge(db: Recollection, _: Place) -> None:
    left = state_of(db, range(1, 20))
    db.purge([row for row in (3, 7) if row in left], verify=True)


def reindex(db: Recollection, _: Place) -> None:
    db.reindex()


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A store and what is done to it; opening it comes before the first step and closing it after the last."""

    name: str
    prepare: Prepare = nothing
    steps: tuple[Step, ...] = ()
    model: str = "none"
    closing: bool = False
    """Whether the store is closed and opened again after each step."""

    @property
    def sessions(self) -> tuple[tuple[Step, ...], ...]:
        """The steps that are done between opening and closing."""
        return tuple((step,) for step in self.steps) if self.closing else (self.steps,)


WORKLOADS = (
    Workload(name="add", steps=(add(100), add(101), add_several, add(102))),
    Workload(name="add in three sessions", steps=(add(100), add(101), add(102)), closing=True),
    Workload(name="add with vectors", prepare=some_memories, steps=(add(100), add(101)), model="hashing"),
    Workload(name="import", steps=(import_notes,)),
    Workload(name="forget and restore", prepare=some_memories, steps=(forget, restore, forget)),
    Workload(name="supersede", prepare=some_memories, steps=(add(100), supersede)),
    Workload(name="re-import with edits and a deletion", prepare=some_notes, steps=(import_edited_notes,)),
    Workload(name="purge", prepare=spoken_of_memories, steps=(purge, add(100)), model="hashing"),
    Workload(name="reindex", prepare=some_memories, steps=(reindex, add(100))),
    Workload(name="migration from the oldest format", prepare=oldest_format, steps=(add(100),)),
)


# --- what must be in it afterwards --------------------------------------------------------------


def contents(state: State) -> list[str]:
    """Return what *state* holds that is not forgotten."""
    return sorted(memory.content for memory, _ in state.values() if memory.deleted_at is None)


def state_of(db: Recollection, ids: Sequence[int]) -> State:
    """Return every memory of *db*; the forgotten ones among *ids*."""
    found = {memory.id: (memory, wordings) for memory, wordings in db.export()}
    for row in ids:
        if row not in found:
            try:
                shown = db.show(row)
            except InputError:
                continue
            found[row] = (shown.memory, shown.wordings)
    return found


def differences(found: State, before: State, after: State) -> list[str]:
    """Say what is neither as it was before a step nor as it was after it.

    What came from one file, and what came from none, is all as before or all as after.
    """
    sources = {memory.source for state in (found, before, after) for memory, _ in state.values()}
    wrong = [each for each in sources if _of(each, found) not in (_of(each, before), _of(each, after))]
    return [_difference(each, found, before, after) for each in sorted(wrong, key=str)]


def _of(source: str | None, state: State) -> State:
    return {row: held for row, held in state.items() if held[0].source == source}


def _difference(source: str | None, found: State, before: State, after: State) -> str:
    sizes = ", ".join(str(len(_of(source, state))) for state in (found, before, after))
    where = Path(source).name if source else "no file"
    return f"memories of {where}: neither as before nor as after the step (found, before, after: {sizes})"
