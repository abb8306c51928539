"""Whatever was written, sealed, joined, damaged or erased: the nearest are those of a store of plain dictionaries."""

import shutil
from array import array
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit import NOON, plain
from oracle import OracleStore
from recollect.records import (
    ALL_PROJECTS,
    EmbeddedMemory,
    Filter,
    Forget,
    Generation,
    Insert,
    Memory,
    Passage,
    Restore,
    Scope,
)
from recollect.stores.contract import Store
from recollect.stores.sqlite import open_sqlite
from recollect.stores.sqlite.vectors import SegmentScan, Sizes
from recollect.vectors import pack, unit

SMALL = Sizes(quantised=10**9, sealed=3, foreground=10**9)
MODEL = Generation(fingerprint="model", dimensions=4, model="m", context_weights=(0.5, 0.3))
OTHER = Generation(fingerprint="other", dimensions=2, model="o")
MEMORIES = 12

NUMBERS = st.sampled_from((-1.0, 0.0, 0.5, 1.0))
VECTORS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=3)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(st.tuples(st.integers(1, MEMORIES), VECTORS), min_size=1, max_size=4)),
        st.tuples(st.sampled_from(("forget", "restore", "erase")), st.integers(1, MEMORIES)),
        st.tuples(st.sampled_from(("settle", "compact", "reopen", "drop", "copy")), st.none()),
        st.tuples(st.just("damage"), st.sampled_from(("header", "arrays", "plain.codes"))),
    ),
    min_size=1,
    max_size=14,
)
QUESTIONS = (
    {},
    {"in_context": True},
    {"scope": Scope(projects=frozenset({"p"}))},
    {"where": Filter(types=("decision",)), "in_context": True},
    {"exclude_generation": "other"},
    {"limit": 2, "score_ids": tuple(range(1, MEMORIES + 2))},
)


def memories() -> list[Insert]:
    """Turns of two conversations, and notes, in two projects."""
    return [
        Insert(
            memory=Memory(
                content=f"memory {number}",
                project="p" if number % 3 else "q",
                type="decision" if number % 4 == 0 else "note",
                thread=f"t{number % 3}" if number % 2 else None,
                turn=number if number % 2 else None,
            )
        )
        for number in range(MEMORIES)
    ]


class Pair:
    """A store of dictionaries and one in a file that seals early, told the same."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "notes.db"
        self.oracle: Store = OracleStore(plain)
        self.store = self._opened()
        for each in (self.oracle, self.store):
            each.apply(memories(), at=NOON)

    def _opened(self) -> Any:
        store = open_sqlite(self.path, plain)
        store.scan = SegmentScan(store.engine.segments, sizes=SMALL)
        return store

    def act(self, verb: str, what: Any) -> None:
        """Do one thing to both, or to the files alone."""
        match verb:
            case "put" | "forget" | "restore" | "erase" | "drop":
                for each in (self.oracle, self.store):
                    change(each, verb, what)
            case _:
                self._shake(verb, what)

    def _shake(self, verb: str, what: Any) -> None:
        """Do what must not change an answer."""
        if verb == "settle":
            self.store.scan.settle(self.store.engine, whole=True)
        elif verb == "compact":
            assert self.store.scan.compact(self.store.engine) == ()
        elif verb == "copy":
            copied = self.path.with_name("copy.db")
            self.store.backup(copied, force=True)
            self.store.restore_backup(copied)
        else:
            self.store.close()
            for folder in (self.segments() if verb == "damage" else [])[:1]:
                (folder / what).write_bytes(b"no more")
            self.store = self._opened()

    def segments(self) -> list[Path]:
        folder = self.path.with_name("notes.db-segments") / "vectors"
        return sorted(folder.iterdir()) if folder.exists() else []


def change(store: Store, verb: str, what: Any) -> None:
    if verb == "put":
        put(store, what)
    elif verb == "drop":
        store.drop_vectors("model")
    elif store.load([what], scope=ALL_PROJECTS) and verb == "erase":
        store.erase(scope=ALL_PROJECTS, ids=[what])
    elif store.load([what], scope=ALL_PROJECTS):
        store.apply([Forget(id=what) if verb == "forget" else Restore(id=what)], at=NOON)


def put(store: Store, what: Sequence[tuple[int, Sequence[tuple[float, ...]]]]) -> None:
    held = store.load([row for row, _ in what], scope=ALL_PROJECTS)
    for model, width in ((MODEL, 4), (OTHER, 2)):
        some = [pair for pair in what if pair[0] in held and (width == 4 or pair[0] % 5 == 0)]
        embedded = [
            EmbeddedMemory(memory_id=row, meaning=held[row].meaning, passages=passages(vectors, width))
            for row, vectors in dict(some).items()
        ]
        store.put_vectors(model, embedded)


def passages(vectors: Sequence[tuple[float, ...]], width: int) -> tuple[Passage, ...]:
    return tuple(Passage(start=at, stop=at + 1, vector=pack(unit(vector[:width]))) for at, vector in enumerate(vectors))


@pytest.mark.req("N-09", "B-04")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ACTIONS, st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS))
def test_any_history_gives_the_answers_of_plain_dictionaries(
    actions: list[tuple[str, Any]], query: tuple[float, ...]
) -> None:
    with TemporaryDirectory() as folder:
        pair = Pair(Path(folder))
        asked = array("f", unit(query)).tobytes()
        for verb, what in actions:
            pair.act(verb, what)
            for question in QUESTIONS:
                how = {"scope": ALL_PROJECTS, "where": Filter(), "limit": 5, **question}
                expected, found = (each.nearest("model", asked, **how) for each in (pair.oracle, pair.store))
                assert (found.top, found.by_id, found.total, found.missing) == (
                    expected.top,
                    expected.by_id,
                    expected.total,
                    expected.missing,
                ), (verb, question)
        pair.store.close()
        shutil.rmtree(folder, ignore_errors=True)
        Path(folder).mkdir()
