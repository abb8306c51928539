"""Context vectors: turns of a conversation with something of the turns around them, kept current by every write."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from recollect.records import Memory
from recollect.stores.sql.codec import damaged
from recollect.stores.sql.engine import Session, next_stamp
from recollect.vectors import REACH, WIDTH, matrix

Thread = tuple[str, str]
"""A project and the name of a conversation in it."""
Key = tuple[int, int]
"""Where a turn stands in its conversation: its number, then its id."""

_KEY = "(coalesce(m.turn, 0), m.id)"
_TURNS = (
    "select v.id, v.embedding, v.context_embedding from memory m join vector v on v.memory_id = m.id "
    "where m.project = ? and m.thread = ? and m.deleted_at is null and v.generation_id = ? and v.ordinal = 0 "
    "and length(v.embedding) = ? and "
)


def place(memory: Memory) -> tuple[object, ...]:
    """Return what the neighbours of a turn depend on."""
    return memory.project, memory.thread, memory.turn, memory.deleted_at is None


def follow(session: Session, memories: Iterable[Memory], *, generation: int | None = None) -> None:
    """Make the context vectors of and around *memories* anew, of one generation or of all."""
    threads: dict[Thread, list[Key]] = defaultdict(list)
    for memory in memories:
        if memory.thread is not None:
            threads[memory.project, memory.thread].append((memory.turn or 0, memory.id))
    if threads:
        for number, width, weights in _generations(session, generation):
            for thread, keys in threads.items():
                fresh = _mixed(session, number, width, weights, thread, (min(keys), max(keys)))
                if fresh:
                    Remixed(fresh).write(session)


def leave(session: Session, memory_id: int) -> None:
    """Drop the context vectors of a memory that is no turn any more."""
    sql = (
        "update vector set context_embedding = null, stamp = ? "
        "where generation_id in (select id from generation) and memory_id = ?"
    )
    session.rows(sql, (next_stamp(session), memory_id))


def reweigh(session: Session, generation: int, weights: tuple[float, ...]) -> None:
    """Make all context vectors of a generation anew with other weights."""
    session.rows("update generation set context_weights = ? where id = ?", (json.dumps(weights), generation))
    mixed = "generation_id = ? and context_embedding is not null"
    stamp = next_stamp(session)
    session.rows(f"update vector set context_embedding = null, stamp = ? where {mixed}", (stamp, generation))
    renew(session, generation)


def renew(session: Session, generation: int | None = None) -> None:
    """Make all context vectors anew, of one generation or of all."""
    for each in outdated(session, generation):
        each.write(session)


def outdated(session: Session, generation: int | None = None) -> Iterator["Remixed"]:
    """Yield the conversations of which some context vectors are not what they should be, and what they should be."""
    threads = session.rows("select distinct project, thread from memory where thread is not null")
    for number, width, weights in _generations(session, generation):
        for thread in threads:
            fresh = _mixed(session, number, width, weights, thread, None)
            if fresh:
                yield Remixed(fresh)


class Remixed(Struct, frozen=True):
    """Context vectors and the rows that should have them."""

    fresh: Sequence[tuple[bytes | None, int]]

    def write(self, session: Session) -> None:
        """Put them down."""
        stamp = next_stamp(session)
        sql = "update vector set context_embedding = ?, stamp = ? where id = ?"
        session.many(sql, [(new, stamp, row) for new, row in self.fresh])


def _generations(session: Session, only: int | None) -> list[tuple[int, int, tuple[float, ...]]]:
    rows = session.rows("select id, dimensions, context_weights from generation where context_weights <> '[]'")
    try:
        return [(row, int(width), tuple(json.loads(weights))) for row, width, weights in rows if only in (None, row)]
    except (ValueError, TypeError) as error:
        raise damaged("the table of", "generations") from error


def _mixed(
    session: Session,
    generation: int,
    width: int,
    weights: tuple[float, ...],
    thread: Thread,
    span: tuple[Key, Key] | None,
) -> list[tuple[bytes | None, int]]:
    """Mix the turns of *span* and those within reach of it, whose neighbours are within twice that reach.

    Return the vectors that are not there as they should be, with their rows.
    """
    of = (*thread, generation, WIDTH * width)
    up, down = (f"order by coalesce(m.turn, 0){way}, m.id{way}" for way in ("", " desc"))
    before: list[Any] = []
    after: list[Any] = []
    if span is None:
        turns = session.rows(f"{_TURNS} true {up}", of)
    else:
        low, high = span
        before = session.rows(f"{_TURNS} {_KEY} < (?, ?) {down} limit {2 * REACH}", (*of, *low))[::-1]
        after = session.rows(f"{_TURNS} {_KEY} > (?, ?) {up} limit {2 * REACH}", (*of, *high))
        turns = session.rows(f"{_TURNS} {_KEY} >= (?, ?) and {_KEY} <= (?, ?) {up}", (*of, *low, *high))
    turns = [*before, *turns, *after]
    mixed = matrix([vector for _, vector, _ in turns], dimensions=width).in_context(weights)
    sound = slice(max(0, len(before) - REACH), len(turns) - max(0, len(after) - REACH))
    return [(new, row) for (row, _, old), new in zip(turns[sound], mixed[sound], strict=True) if old != new]
