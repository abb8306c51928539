"""Giving vectors to what has none: the same for new memories, for repairs and for a change of model."""

from collections.abc import Sequence

from recollect.embedders.contract import Embedder
from recollect.records import ALL_PROJECTS, EmbeddedMemory, Generation, Memory, Passage, Progress
from recollect.stores.contract import Store
from recollect.vectors import pack

BATCH = 128
"""How many memories are embedded between two writes: so much is done again after a sudden end."""
SHORT = 200
"""So many characters are one passage in any model; longer texts are measured."""


def embed_pending(
    *,
    store: Store,
    embedder: Embedder,
    model: str,
    context_weights: tuple[float, ...] = (),
    progress: Progress | None = None,
) -> int:
    """Embed every live memory that has no vector of this model; return how many took one.

    Where *context_weights* are given, turns of conversations have context vectors with these weights in the end.
    """
    generation = Generation(
        fingerprint=embedder.fingerprint,
        dimensions=embedder.dimensions,
        model=model,
        context_weights=context_weights or None,
    )
    store.put_vectors(generation, ())
    total = _count_pending(store, embedder.fingerprint) if progress is not None else 0
    done, last = 0, 0
    while ids := store.pending(embedder.fingerprint, after=last, limit=BATCH):
        memories = list(store.load(ids, scope=ALL_PROJECTS).values())
        done += store.put_vectors(generation, _embedded(memories, embedder))
        last = ids[-1]
        if progress is not None:
            progress(min(done, total), total, "vectors")
    return done


def _count_pending(store: Store, fingerprint: str) -> int:
    for generation in store.generations(scope=ALL_PROJECTS):
        if generation.fingerprint == fingerprint:
            return generation.pending
    return store.stats(scope=ALL_PROJECTS).memories


def _embedded(memories: Sequence[Memory], embedder: Embedder) -> list[EmbeddedMemory]:
    cuts = [passages(memory, embedder) for memory in memories]
    texts = [
        memory.heading * (start == 0) + memory.content[start:stop]
        for memory, spans in zip(memories, cuts, strict=True)
        for start, stop in spans
    ]
    vectors = iter(embedder.embed_passages(texts))
    return [
        EmbeddedMemory(
            memory_id=memory.id,
            meaning=memory.meaning,
            passages=tuple(Passage(start=start, stop=stop, vector=pack(next(vectors))) for start, stop in spans),
        )
        for memory, spans in zip(memories, cuts, strict=True)
    ]


def passages(memory: Memory, embedder: Embedder) -> list[tuple[int, int]]:
    """Return where the passages of a memory stand in its content; the first has the title above it."""
    above, whole = len(memory.heading), memory.heading + memory.content
    if len(whole) <= SHORT:
        return [(0, len(memory.content))]
    spans = [(max(0, start - above), stop - above) for start, stop in embedder.passages(whole)]
    return [span for span in spans if span[1] > span[0]] or [(0, len(memory.content))]
