"""Memories are erased from stores with a history; nothing of them may be left in any file, and all of the others.

What is looked for are words that only one memory has, by a search of the raw bytes that knows nothing of the program's
own: the last letters of each, for an index need not keep the first ones twice.
"""

import random
import string
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from boundaries import Ended, ends, record
from row import SCRATCH, Progress, Row, silent
from workloads import NOON, WORKLOADS, opened

from recollect import InputError, Recollection
from recollect.recall.lens import Lens

TAIL = 3
"""From which letter on a word is looked for."""
WORDS = 5
"""How many words of its own a memory has."""


@dataclass(slots=True)
class History:
    """A store, and the words that each memory of it has alone."""

    db: Recollection
    chance: random.Random
    folder: Path
    words: dict[int, list[str]] = field(default_factory=dict)

    def coined(self) -> list[str]:
        """Return words that nobody has said yet."""
        return ["".join(self.chance.choices(string.ascii_lowercase, k=12)) for _ in range(WORDS)]

    def add(self, **about: object) -> int:
        """Add a memory of words of its own."""
        words = self.coined()
        row = self.db.add(" ".join(words), **about).id
        self.words.setdefault(row, []).extend(words)
        return row


def make(history: History) -> None:
    """Do to the store what people do: add, edit, talk, forget, supersede, search, judge, look through lenses."""
    chance, db = history.chance, history.db
    history.db = db.in_project("p")
    for number in range(12):
        age = timedelta(days=chance.randrange(300))
        history.add(source=f"notes/{number % 3}.md", observed_at=NOON - age, tags=history.coined()[:1])
        history.add(external_id=f"e{number % 4}")
    together = sorted(history.words)
    history.db = db.in_project("q")
    for _ in range(6):
        history.add()
    history.db = db
    talk(history)
    rows = sorted(history.words)
    for row in chance.sample(rows, 8):
        words = history.words[row]
        db.search(" ".join(words[:2]), session="s")
        db.flush()
        db.feedback(chance.choice(rows), "useful", query=words[0], session="s")
        db.inject(words[1], session="s")
    for row, by in zip(chance.sample(together, 6), chance.sample(together, 6), strict=True):
        with suppress(InputError):  # itself, or what would close a circle
            db.supersede(row, by)
    for row in chance.sample(rows, 4):
        db.forget(row, reason=history.words[row][0])
    db.lenses.keep(Lens(name="both", projects=("p", "q")))
    db.reindex()


def talk(history: History) -> None:
    """Import a conversation, whose turns know what was said around them."""
    said = [history.coined() for _ in range(8)]
    path = history.folder / "talk.txt"
    path.write_text("\n".join(f"{'AB'[n % 2]}: {' '.join(words)}" for n, words in enumerate(said)), encoding="utf-8")
    before = {memory.id for memory in history.db.list(limit=999).memories}
    history.db.import_(path)
    for memory in history.db.list(limit=999).memories:
        if memory.id not in before:
            history.words[memory.id] = next(words for words in said if words[0] in memory.content)


Choice = Callable[[History], dict[str, object]]
CHOICES: dict[str, Choice] = {
    "ids": lambda history: {"ids": history.chance.sample(sorted(history.words), 5)},
    "source": lambda _: {"source": "notes"},
    "project": lambda _: {"project": "q"},
    "age": lambda _: {"older_than": "100d"},
}


def erase(choice: Choice, seed: str, folder: Path) -> Iterator[str]:
    """Make a store, erase a choice of it, and yield what is wrong then."""
    folder.mkdir(parents=True)
    with opened(folder / "store" / "store.db", "hashing") as db:
        history = History(db=db, chance=random.Random(seed), folder=folder)
        make(history)
        report = db.purge(**choice(history), verify=True)  # type: ignore[arg-type]
        files = {path.name: path.read_bytes() for path in (folder / "store").iterdir()}
        yield from (f"{seed}: the program tells of {line}" for line in (*report.unfinished, *report.traces))
        yield from (f"{seed}: {line}" for line in left(files, [w for row in report.ids for w in history.words[row]]))
        yield from (f"{seed}: {line}" for line in db.doctor().problems)
        kept = {row: words for row, words in history.words.items() if row not in report.ids}
        yield from (f"{seed}: {line}" for line in missing(db, kept))


def left(files: dict[str, bytes], words: list[str]) -> Iterator[str]:
    """Yield which of *words* stand in which file."""
    for word in words:
        yield from (f"{name} holds {word}" for name, held in files.items() if word[TAIL:].encode() in held)


def missing(db: Recollection, kept: dict[int, list[str]]) -> Iterator[str]:
    """Yield which memories are not as they were: there, with their own words, found by them unless hidden."""
    for row, words in kept.items():
        try:
            memory = db.show(row).memory
        except InputError:
            yield f"#{row} is gone, though it was not erased"
            continue
        own = [word for word in words if word in memory.content]
        if memory.deleted_at is None and memory.superseded_by is None:
            found = {hit.id for hit in db.search(own[0], mode="keyword").hits}
            if row not in found:
                yield f"#{row} is not found by {own[0]}"


# --- interrupted --------------------------------------------------------------------------------


def finish(ended: Ended, folder: Path) -> Iterator[str]:
    """Open what a crash left in the midst of an erasure, finish it, and yield what is left."""
    folder.mkdir(parents=True)
    for name, held in ended.files.items():
        (folder / name).write_bytes(held)
    with opened(folder / "store.db", "hashing") as db:
        gone = [row for row in (3, 7) if not _is_there(db, row)]
        if gone not in ([], [3, 7]):
            yield f"crash before change {ended.boundary}: one of two memories is erased"
        db.purge([] if gone else [3, 7], verify=True)
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
    words = [f"engine{row - 1} drives wheel{row - 1} thr" for row in (3, 7)]
    yield from (f"crash before change {ended.boundary}: {line}" for line in left(files, words))


def _is_there(db: Recollection, row: int) -> bool:
    try:
        return db.show(row).memory.id == row
    except InputError:
        return False


def interrupted(folder: Path, most: int | None) -> tuple[int, list[str]]:
    """End the process before each change of an erasure, or *most* of them; return how often, and what was wrong."""
    workload = next(each for each in WORKLOADS if each.name == "purge")
    recording = record(workload, folder / "run")
    every = 1 if most is None else -(-len(recording.acknowledged) // most)
    crashed = [ended for ended in ends(recording, every=every) if ended.end == "crash"]
    wrong = [line for at, ended in enumerate(crashed) for line in finish(ended, folder / str(at))]
    return len(crashed), wrong


def row(*, rounds: int, most: int | None = None, progress: Progress = silent) -> Row:
    """Erase by every choice in *rounds* stores, and end an erasure before each of its changes."""
    failures: list[str] = []
    with tempfile.TemporaryDirectory(dir=SCRATCH) as name:
        for number in range(rounds):
            progress(number, rounds)
            for choice, select in CHOICES.items():
                failures += erase(select, f"{choice} {number}", Path(name, f"{choice}{number}"))
        count, wrong = interrupted(Path(name, "interrupted"), most)
    failures += wrong
    return Row(
        title="Erasure",
        done=f"{rounds * len(CHOICES)} stores with a history (edits, conversations, superseded and forgotten memories, "
        "logged searches, verdicts, lenses, vectors) lose memories by id, by source, by project and by age; every word "
        f"that only they had is searched in the raw bytes of every file. An erasure is ended before {count} of its "
        "changes and finished by `purge --verify`",
        lost=f"{len(failures)} words left, memories lost that were not erased, or erasures half done",
        unproven="What the disk keeps of blocks that a file no longer has, copies and backups, swap, and what another "
        "process still holds in memory. A memory that is worded from an erased one stays.",
        failures=tuple(failures),
    )
