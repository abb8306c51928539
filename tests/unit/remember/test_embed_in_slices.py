"""Vectors are made while others write, and written a few at a time."""

import recollect
from kit import counted_calls
from recollect.embedders.hashing import HashingEmbedder
from recollect.records import ALL_PROJECTS, Memory
from recollect.remember.embed import EMBEDDED, SLICE, embed_pending, passages


def test_the_vectors_of_long_memories_are_written_a_few_at_a_time() -> None:
    sentence = "The quick brown fox jumps over the lazy dog again. "
    with recollect.open(":memory:", model="hashing") as db:
        db.add_all([Memory(content=f"{at} {sentence * 400}", external_id=str(at)) for at in range(40)], embed=False)
        embedder = db.models.required()
        with counted_calls() as calls:
            done = embed_pending(store=db.store, embedder=embedder, model="hashing")
        held = db.store.vectors(embedder.fingerprint, range(1, 41), scope=ALL_PROJECTS)

    written = sum(map(len, held.values()))
    assert done == 40
    assert written > SLICE
    assert calls["put_vectors"] - 1 >= written / SLICE


def test_of_a_very_long_memory_the_beginning_gets_vectors() -> None:
    huge = Memory(content="The quick brown fox. " * 50_000)

    spans = passages(huge, HashingEmbedder())

    assert EMBEDDED - 2000 < spans[-1][1] <= EMBEDDED
