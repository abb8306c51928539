"""Vectors are made while others write, and written a few at a time."""

import threading
from pathlib import Path

import pytest

import recollect
from kit import counted_calls
from recollect.embedders.hashing import HashingEmbedder
from recollect.errors import StoreClosed
from recollect.records import ALL_PROJECTS, Memory
from recollect.remember import embed
from recollect.remember.embed import BATCH, EMBEDDED, embed_pending, passages


def test_the_vectors_of_long_memories_are_written_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "SLICE", 16)
    sentence = "The quick brown fox jumps over the lazy dog again. "
    with recollect.open(":memory:", model="hashing") as db:
        db.add_all([Memory(content=f"{at} {sentence * 100}", external_id=str(at)) for at in range(6)], embed=False)
        embedder = db.models.required()
        with counted_calls() as calls:
            done = embed_pending(store=db.store, embedder=embedder, model="hashing")
        held = db.store.vectors(embedder.fingerprint, range(1, 7), scope=ALL_PROJECTS)

    written = sum(map(len, held.values()))
    assert done == 6
    assert written > 2 * 16
    assert calls["put_vectors"] - 1 >= written / 16


def test_of_a_very_long_memory_the_beginning_gets_vectors() -> None:
    huge = Memory(content="The quick brown fox. " * 50_000)

    spans = passages(huge, HashingEmbedder())

    assert EMBEDDED - 2000 < spans[-1][1] <= EMBEDDED


def test_what_is_stopped_between_two_batches_is_gone_on_with_at_the_next_opening(tmp_path: Path) -> None:
    asked = iter([False, True])
    with recollect.open(tmp_path / "notes.db", model="hashing") as db:
        drafts = [Memory(content=f"Note {at}", external_id=str(at)) for at in range(BATCH + 10)]
        db.add_all(drafts, embed=False)
        embedder = db.models.required()
        done = embed_pending(store=db.store, embedder=embedder, model="hashing", stopped=lambda: next(asked))

    with recollect.open(tmp_path / "notes.db", model="hashing", background=True) as db:
        db.flush()
        (made,) = db.generations()

    assert done == BATCH
    assert (made.memories, made.pending) == (BATCH + 10, 0)


def test_a_store_is_closed_while_vectors_are_still_being_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.recall.log.CLOSE_SECONDS", 0.01)
    gate, begun = threading.Event(), threading.Event()
    db = recollect.open(tmp_path / "notes.db", model="none")

    def work(_: list[None]) -> None:
        begun.set()
        gate.wait()

    db._writer.submit(work, None)  # noqa: SLF001
    begun.wait()
    db.close()  # returns, though the work does not end
    gate.set()

    with pytest.raises(StoreClosed):
        db.stats()
