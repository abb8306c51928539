"""A process that does one thing after another to a store, until its time is over or somebody ends it.

Each line on standard output is a fact about one key (an external id): `begin` before a verb, `done` when it returned.
Nobody else touches its keys, so what the store must hold of them follows from the lines.
"""

import random
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import recollect
from recollect import Recollection

PARTS = 4
"""How many sections each note has."""


def text_of(key: str) -> str:
    """Return what is remembered under *key*; no two keys are alike."""
    return f"engine{key} drives wheel{key} through gear{key} since spring{key} on track{key}"


def note_of(name: str, version: int) -> list[str]:
    """Return what the sections of the note *name* say in its *version*."""
    return [text_of(f"{name}v{version}p{part}") for part in range(PARTS)]


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


class Writer:
    """One writer: its name begins all of its keys, its seed chooses what it does."""

    def __init__(self, db: Recollection, folder: Path, name: str) -> None:
        self.db, self.folder, self.name = db, folder, name
        self.chance = random.Random(name)
        self.live: dict[str, int] = {}
        self.forgotten: dict[str, int] = {}
        self.number = 0
        self.version = 0

    # --- verbs that write -----------------------------------------------------------------------

    def add(self) -> None:
        self.number += 1
        key = f"{self.name}n{self.number}"
        say("begin", "live", key)
        row = self.db.add(text_of(key), external_id=key).id
        say("done", "live", key, row)
        self.live[key] = row

    def forget(self) -> None:
        if self.live:
            key = self.chance.choice(sorted(self.live))
            row = self.live.pop(key)
            say("begin", "forgotten", key)
            self.db.forget(row)
            say("done", "forgotten", key, row)
            self.forgotten[key] = row

    def restore(self) -> None:
        if self.forgotten:
            key = self.chance.choice(sorted(self.forgotten))
            row = self.forgotten.pop(key)
            say("begin", "live", key)
            self.db.restore(row)
            say("done", "live", key, row)
            self.live[key] = row

    def supersede(self) -> None:
        if len(self.live) > 1:
            old, new = self.chance.sample(sorted(self.live), 2)
            row = self.live.pop(old)
            say("begin", "superseded", old)
            self.db.supersede(row, self.live[new])
            say("done", "superseded", old, row)

    def import_(self) -> None:
        """Import a note whose every section is new."""
        self.version += 1
        name = f"{self.name}f{self.chance.randint(1, 3)}"
        sections = "".join(f"# Part\n\n{text}\n\n" for text in note_of(name, self.version))
        say("begin", "note", name, self.version)
        (self.folder / f"{name}.md").write_text(sections, encoding="utf-8")
        expect(not self.db.import_(self.folder / f"{name}.md").errors, "an import without errors")
        say("done", "note", name, self.version)

    def pin(self) -> None:
        if self.live:
            self.db.pin(self.chance.choice(sorted(self.live.values())))

    def embed(self) -> None:
        self.db.embed()

    def reindex(self) -> None:
        self.db.reindex()

    # --- verbs that read ------------------------------------------------------------------------

    def search(self) -> None:
        if self.live:
            key = self.chance.choice(sorted(self.live))
            found = self.db.search(f"engine{key}", mode="keyword").hits
            expect([hit.id for hit in found] == [self.live[key]], f"to find {key} alone")

    def inject(self) -> None:
        self.db.inject("which engine drives the wheel", session=self.name)

    def list_(self) -> None:
        expect(self.number == 0 or self.db.list(limit=5).memories, "something to list")

    def show(self) -> None:
        if self.live:
            key = self.chance.choice(sorted(self.live))
            expect(self.db.show(self.live[key]).memory.content == text_of(key), f"to be shown {key}")

    def export(self) -> None:
        texts = [memory.content for memory, _ in self.db.export()]
        expect(len(set(texts)) == len(texts), "no memory twice")

    def doctor(self) -> None:
        for problem in self.db.doctor().problems:
            say("alarm", problem)


def expect(truth: object, what: str) -> None:
    if not truth:
        raise AssertionError(f"expected {what}")


Verb = Callable[[Writer], None]
ALWAYS: Mapping[Verb, int] = {
    Writer.add: 8,
    Writer.forget: 3,
    Writer.restore: 2,
    Writer.supersede: 2,
    Writer.import_: 3,
}
MIXES: Mapping[str, Mapping[Verb, int]] = {
    "writing": {**ALWAYS, Writer.pin: 1, Writer.embed: 1, Writer.reindex: 1},
    "mixed": {
        **ALWAYS,
        Writer.pin: 2,
        Writer.embed: 1,
        Writer.reindex: 1,
        Writer.search: 6,
        Writer.inject: 2,
        Writer.list_: 3,
        Writer.show: 4,
        Writer.export: 2,
        Writer.doctor: 1,
    },
}
"""Which verbs a writer chooses from, and how often it takes each."""


def main(path: str, folder: str, name: str, mix: str, seconds: str) -> None:
    """Do what *mix* says to the store at *path* for so many *seconds*."""
    until = time.monotonic() + float(seconds)
    verbs = list(MIXES[mix])
    with recollect.open(path, model="hashing") as db:
        writer = Writer(db, Path(folder), name)
        say("open", name)
        while time.monotonic() < until:
            verb = writer.chance.choices(verbs, weights=list(MIXES[mix].values()))[0]
            verb(writer)
            say("verb", verb.__name__.strip("_"))


if __name__ == "__main__":
    main(*sys.argv[1:])
