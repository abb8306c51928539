"""Giving vectors to what has none: the same for new memories, for repairs and for a change of model."""

from collections.abc import Callable, Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Final

from msgspec.structs import replace

from recollect.embedders.contract import Embedder, Span
from recollect.errors import InputError
from recollect.records import ALL_PROJECTS, EmbeddedMemory, Generation, Memory, Passage, Progress, Scope
from recollect.stores.contract import Store
from recollect.text.sentences import merge_sentences
from recollect.vectors import WIDTH, Matrix, Scale, matrix, mix, pack, unpack

Wanted = Callable[[Sequence[int]], Collection[int]]
"""How to tell which of some memories are wanted."""
PAGE = 10_000
"""How many memories that have no vectors are asked for at once."""
BATCH = 128
"""How many memories are embedded between two writes: so much is done again after a sudden end."""
SHORT = 200
"""So many characters are one passage in any model; longer texts are measured."""
EMBEDDED = 200_000
"""So many characters of a memory get vectors; what follows is found by its words alone."""
SLICE = 512
"""How many passages are written in one transaction, unless one memory has more."""
PASSAGE: Final = 48
"""About so many word pieces, some two or three sentences, are looked at by themselves in a longer text."""
SPOKEN_FOR: Final = 0.6
"""A passage so near to the whole, by its cosine, is found by the vector of the whole."""


def embed_pending(
    *,
    store: Store,
    embedder: Embedder,
    model: str,
    context_weights: tuple[float, ...] = (),
    wanted: Wanted | None = None,
    progress: Progress | None = None,
    stopped: Callable[[], bool] | None = None,
) -> int:
    """Embed every live memory that has no vector of this model, or those that are *wanted*; return how many took one.

    Where *context_weights* are given, turns of conversations have context vectors with these weights in the end. What
    is embedded is kept when it ends early: *stopped* is asked before each batch.
    """
    generation = Generation(
        fingerprint=embedder.fingerprint,
        dimensions=embedder.dimensions,
        model=model,
        context_weights=context_weights or None,
    )
    store.put_vectors(generation, ())
    total = 0
    if progress is not None:
        total = _count(store, embedder.fingerprint, wanted)
    done = 0
    for ids in _batches(_pending(store, embedder.fingerprint, wanted)):
        if stopped is not None and stopped():
            break
        memories = list(store.load(ids, scope=ALL_PROJECTS).values())
        done += sum(store.put_vectors(generation, part) for part in _slices(embed_memories(memories, embedder)))
        if progress is not None:
            progress(min(done, total), total, "meaning")
    return done


def _pending(store: Store, fingerprint: str, wanted: Wanted | None) -> Iterator[int]:
    """Yield the memories that have no vectors of this model and are *wanted*."""
    last = 0
    while ids := store.pending(fingerprint, after=last, limit=PAGE):
        chosen = ids if wanted is None else wanted(ids)
        yield from (row for row in ids if row in chosen)
        last = ids[-1]


def _batches(ids: Iterator[int]) -> Iterator[list[int]]:
    while batch := list(islice(ids, BATCH)):
        yield batch


def _count(store: Store, fingerprint: str, wanted: Wanted | None) -> int:
    """Return how many memories have no vectors of this model and are *wanted*."""
    if wanted is None:
        return waiting(store, fingerprint)
    return sum(1 for _ in _pending(store, fingerprint, wanted))


def held_by(sources: AbstractSet[tuple[str, str]], store: Store) -> Wanted:
    """Return how to tell which memories one of *sources* holds, each a project and a name."""

    def held(ids: Sequence[int]) -> Collection[int]:
        found = store.holders(ids)
        return {row for row, each in found.items() if not sources.isdisjoint(each)}

    return held


def _slices(embedded: Sequence[EmbeddedMemory]) -> Iterator[list[EmbeddedMemory]]:
    """Yield *embedded* in parts that are written quickly."""
    part: list[EmbeddedMemory] = []
    size = 0
    for each in embedded:
        if part and size + len(each.passages) > SLICE:
            yield part
            part, size = [], 0
        part.append(each)
        size += len(each.passages)
    if part:
        yield part


def waiting(store: Store, fingerprint: str, *, scope: Scope = ALL_PROJECTS) -> int:
    """Return how many memories of *scope* have no vectors of this model."""
    for generation in store.generations(scope=scope):
        if generation.fingerprint == fingerprint:
            return generation.pending
    return store.stats(scope=scope).memories


def embed_memories(memories: Sequence[Memory], embedder: Embedder) -> list[EmbeddedMemory]:
    """Return *memories* with the vectors of their passages, all made in one batch.

    First those of the whole, in as many parts as the model's room demands; then those of its short passages that
    say something else. A note of many things is found by each of them, and a text of one thing has one vector.
    """
    cuts, scale = [(passages(memory, embedder), short_passages(memory)) for memory in memories], embedder.scale
    texts = (
        text
        for memory, (whole, short) in zip(memories, cuts, strict=True)
        for text in (
            *(memory.heading * (start == 0) + memory.content[start:stop] for start, stop in whole),
            *(memory.heading + memory.content[start:stop] for start, stop in short),
        )
    )
    vectors = iter(embedder.embed_passages(list(texts)))

    def made(spans: Sequence[Span]) -> list[Passage]:
        return [Passage(start=start, stop=stop, vector=pack(next(vectors))) for start, stop in spans]

    return [
        EmbeddedMemory(memory_id=memory.id, meaning=memory.meaning, passages=_telling(made(whole), made(short), scale))
        for memory, (whole, short) in zip(memories, cuts, strict=True)
    ]


def _telling(whole: Sequence[Passage], short: Sequence[Passage], scale: Scale) -> tuple[Passage, ...]:
    """Return the passages of the *whole*, and those *short* ones that it does not speak for, mixed with it.

    A few sentences are near to many questions by chance; what they are a part of says which.
    """
    if not short:
        return tuple(whole)
    block = matrix([each.vector for each in whole], dimensions=len(whole[0].vector) // WIDTH)
    return (*whole, *(found for each in short if (found := _apart(each, whole, block, scale)) is not None))


def _apart(passage: Passage, whole: Sequence[Passage], block: Matrix, scale: Scale) -> Passage | None:
    """Return *passage* with the nearest of the *whole* mixed in, in equal parts; None where that speaks for it."""
    cosines = block.products(passage.vector, range(len(whole)))
    nearest = max(range(len(whole)), key=cosines.__getitem__)
    if scale.of(cosines[nearest]) >= SPOKEN_FOR:
        return None
    vectors = unpack(passage.vector), unpack(whole[nearest].vector)
    return replace(passage, vector=pack(mix(vectors, (0.5, 0.5))))


def passages(memory: Memory, embedder: Embedder) -> list[Span]:
    """Return where the passages of the whole stand in the content of a memory; the first has the title above it."""
    above, whole = len(memory.heading), (memory.heading + memory.content)[:EMBEDDED]
    if len(whole) <= SHORT:
        return [(0, len(memory.content))]
    spans = [(max(0, start - above), stop - above) for start, stop in embedder.passages(whole)]
    return [span for span in spans if span[1] > span[0]] or [(0, len(memory.content))]


def short_passages(memory: Memory) -> list[Span]:
    """Return where the short passages of a longer memory stand in its content; each has the title above it.

    None where the text is short itself, or its title is longer than they are.
    """
    text = memory.content[:EMBEDDED]
    if len(text) <= SHORT or len(memory.heading) > SHORT:
        return []
    spans = merge_sentences(text, most=PASSAGE)
    return spans if len(spans) > 1 else []


# --- generations that nobody needs any more -------------------------------------------------


def outdated_generations(store: Store, embedder: Embedder) -> tuple[Generation, ...]:
    """Return the generations that other models made; none while memories still wait for vectors of this one.

    Vectors that callers brought are nobody's to make again, so they are never outdated.
    """
    others = _others(store, embedder)
    return others if others and not waiting(store, embedder.fingerprint) else ()


def prune(*, store: Store, embedder: Embedder, dry_run: bool = False) -> tuple[Generation, ...]:
    """Drop the vectors of other models than this one; return their generations."""
    left = waiting(store, embedder.fingerprint)
    if left and _others(store, embedder):
        raise InputError(
            f"{left} memories have no vectors of the model in use yet, and those of another model stand in",
            hint="run first: recollect embed",
        )
    outdated = outdated_generations(store, embedder)
    for generation in () if dry_run else outdated:
        store.drop_vectors(generation.fingerprint)
    return outdated


def _others(store: Store, embedder: Embedder) -> tuple[Generation, ...]:
    made = store.generations(scope=ALL_PROJECTS)
    return tuple(each for each in made if each.fingerprint != embedder.fingerprint and not each.is_external)
