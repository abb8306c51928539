"""Vectors in dictionaries; a shelf is filled for each question."""

from collections.abc import Sequence
from dataclasses import replace

from recollect.records import ALL_PROJECTS, EmbeddedMemory, Generation, Memory, Passage, Scope, VectorHits
from recollect.stores.contract import too_wide
from recollect.stores.ram.held import Held
from recollect.stores.shelf import Question, Row, Shelf
from recollect.vectors import matrix


def generations(held: Held, scope: Scope) -> tuple[Generation, ...]:
    """Return the generations of vectors, newest first."""
    live = [memory.id for memory in held.live(scope)]
    counts = {name: sum((name, row) in held.vectors for row in live) for name in held.generations}
    return tuple(
        replace(each, memories=counts[each.fingerprint], pending=len(live) - counts[each.fingerprint])
        for each in reversed(held.generations.values())
    )


def pending(held: Held, fingerprint: str, *, after: int, limit: int) -> tuple[int, ...]:
    """Return live memories without vectors of this generation."""
    rows = (row for row in sorted(held.terms) if row > after)
    return tuple(row for row in rows if (fingerprint, row) not in held.vectors)[:limit]


def put(held: Held, generation: Generation, embedded: Sequence[EmbeddedMemory]) -> int:
    """Keep vectors in place of older ones."""
    known = held.generations.get(generation.fingerprint, replace(generation, context_weights=()))
    if generation.context_weights is not None:
        known = replace(known, context_weights=generation.context_weights)
    held.generations[generation.fingerprint] = known
    current = [each for each in embedded if _is_current(held, each)]
    for each in current:
        for passage in each.passages:
            if len(passage.vector) != 4 * known.dimensions:
                raise too_wide(passage.vector, known)
        bare = (replace(passage, context_vector=None) for passage in each.passages)
        held.vectors[known.fingerprint, each.memory_id] = tuple(bare)
    for memory in list(held.memories.values()):
        remix(held, memory)
    return len(current)


def remix(held: Held, memory: Memory) -> None:
    """Make the context vectors of the conversation anew that *memory* is a turn of."""
    for name, generation in held.generations.items():
        if memory.thread is None:
            _set_context(held, (name, memory.id), None)
            continue
        turns = [
            each
            for each in held.live(ALL_PROJECTS)
            if (each.project, each.thread) == (memory.project, memory.thread) and held.vectors.get((name, each.id))
        ]
        keys = [(name, each.id) for each in sorted(turns, key=lambda each: (each.turn or 0, each.id))]
        block = matrix([held.vectors[key][0].vector for key in keys], dimensions=generation.dimensions)
        for key, vector in zip(keys, block.in_context(generation.context_weights or ()), strict=True):
            _set_context(held, key, vector if generation.context_weights else None)


def _set_context(held: Held, key: tuple[str, int], vector: bytes | None) -> None:
    if held.vectors.get(key):
        first, *rest = held.vectors[key]
        held.vectors[key] = (replace(first, context_vector=vector), *rest)


def _is_current(held: Held, embedded: EmbeddedMemory) -> bool:
    memory = held.memories.get(embedded.memory_id)
    return memory is not None and memory.deleted_at is None and memory.meaning == embedded.meaning


def drop(held: Held, fingerprint: str) -> int:
    """Drop a generation."""
    held.generations.pop(fingerprint, None)
    gone = [key for key in held.vectors if key[0] == fingerprint]
    for key in gone:
        del held.vectors[key]
    return len(gone)


def nearest(held: Held, fingerprint: str, vector: bytes, asked: Question) -> VectorHits:
    """Return the memories nearest to *vector*."""
    admitted = (memory.id for memory in held.admitted(asked.scope, asked.where))
    left = [row for row in admitted if (asked.exclude_generation, row) not in held.vectors]
    generation = held.generations.get(fingerprint)
    if generation is None:
        return VectorHits(missing=len(left), version=held.version)
    if len(vector) != 4 * generation.dimensions:
        raise too_wide(vector, generation)
    mine = sorted(row for name, row in held.vectors if name == fingerprint)
    return _shelf(held, generation, mine).nearest(vector, asked, key=None, admitted=lambda: left, version=held.version)


def passages(held: Held, fingerprint: str, ids: Sequence[int], scope: Scope) -> dict[int, tuple[Passage, ...]]:
    """Return the passages of *ids*."""
    live = {memory.id for memory in held.live(scope)}
    rows = sorted(set(ids) & live)
    return {row: held.vectors[fingerprint, row] for row in rows if (fingerprint, row) in held.vectors}


def _shelf(held: Held, generation: Generation, rows: Sequence[int]) -> Shelf:
    shelf = Shelf(generation.dimensions)
    passages = [(row, passage) for row in rows for passage in held.vectors[generation.fingerprint, row]]
    places = [Row(at, row, each.start, each.stop, each.context_vector) for at, (row, each) in enumerate(passages)]
    shelf.refill(set(), [(place, each.vector) for place, (_, each) in zip(places, passages, strict=True)])
    return shelf
