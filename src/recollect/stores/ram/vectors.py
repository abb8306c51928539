"""Vectors in dictionaries; a shelf is filled for each question."""

from collections.abc import Sequence
from dataclasses import replace

from recollect.records import EmbeddedMemory, Generation, Passage, Scope, VectorHits
from recollect.stores.contract import too_wide
from recollect.stores.ram.held import Held
from recollect.stores.shelf import Question, Row, Shelf


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
    known = held.generations.setdefault(generation.fingerprint, generation)
    current = [each for each in embedded if _is_current(held, each)]
    for each in current:
        for passage in each.passages:
            if len(passage.vector) != 4 * known.dimensions:
                raise too_wide(passage.vector, known)
        held.vectors[known.fingerprint, each.memory_id] = each.passages
    return len(current)


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
    left = [row for row in admitted if (asked.unless, row) not in held.vectors]
    generation = held.generations.get(fingerprint)
    if generation is None:
        return VectorHits(missing=len(left))
    if len(vector) != 4 * generation.dimensions:
        raise too_wide(vector, generation)
    mine = sorted(row for name, row in held.vectors if name == fingerprint)
    return _shelf(held, generation, mine).nearest(vector, asked, key=None, admitted=lambda: left)


def kin(held: Held, fingerprint: str, ids: Sequence[int], scope: Scope, *, most: int) -> dict[int, dict[int, float]]:
    """Return the memories nearest to each among *ids*."""
    generation = held.generations.get(fingerprint)
    live = {memory.id for memory in held.live(scope)}
    mine = sorted(row for row in set(ids) & live if (fingerprint, row) in held.vectors)
    return {} if generation is None else _shelf(held, generation, mine).kin(mine, most=most)


def _shelf(held: Held, generation: Generation, rows: Sequence[int]) -> Shelf:
    shelf = Shelf(generation.dimensions)
    passages = [(row, passage) for row in rows for passage in held.vectors[generation.fingerprint, row]]
    shelf.refill(set(), [(_row(held, at, row, each), each.vector) for at, (row, each) in enumerate(passages)])
    return shelf


def _row(held: Held, at: int, memory_id: int, passage: Passage) -> Row:
    memory = held.memories[memory_id]
    thread = None if memory.thread is None else f"{memory.project}\x1f{memory.thread}"
    return Row(at, memory_id, passage.start, passage.stop, thread, memory.turn)
