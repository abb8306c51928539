"""Vectors as rows: the generations of models, what has none yet, and the question for the nearest."""

import json
import zlib
from collections.abc import Sequence
from typing import Any

from recollect.records import NO_FILTER, EmbeddedMemory, Filter, Generation, Memory, Passage, Scope, VectorHits
from recollect.stores.contract import too_wide
from recollect.stores.sql import contexts
from recollect.stores.sql.codec import checksum, damaged
from recollect.stores.sql.engine import (
    OPEN,
    Admitted,
    Clause,
    Database,
    Session,
    VectorQuestion,
    ask,
    next_stamp,
    state_of,
)
from recollect.stores.sql.filters import admitted, in_scope
from recollect.vectors import WIDTH

_OF = "v.generation_id = (select id from generation where fingerprint = ?)"
_EVERYONE = (
    "select 'live', coalesce(sum(documents), 0) from collection_stats "
    "union all select 'gone', id from memory where deleted_at is not null "
    "union all select 'older', id from document where superseded"
)
"""How many documents there are, and which memories are no answers: forgotten, or superseded."""
BULK = 16
"""So many memories that get vectors at once are an import, during which answers are prepared."""
OFTEN = 256
"""Otherwise they are prepared after so many changes."""


def generations(db: Database, *, scope: Scope) -> tuple[Generation, ...]:
    """Return the generations of vectors, newest first."""
    mine = in_scope(db.engine, scope, "d.project")
    held = (
        "select count(*) from document d where exists "
        f"(select 1 from vector v where v.generation_id = ? and v.memory_id = d.id) and {mine.sql}"
    )
    with db.engine.session() as session:
        rows = session.rows(
            "select id, fingerprint, dimensions, model, context_weights from generation order by id desc"
        )
        for row in rows:
            if [*map(type, row)] != [int, str, int, str, str]:
                raise damaged("the generation", row[0])
        live = session.value(f"select count(*) from document d where {mine.sql}", mine.values) if rows else 0
        counts = {row[0]: session.value(held, (row[0], *mine.values)) for row in rows}
    return tuple(
        Generation(
            fingerprint=name,
            dimensions=width,
            model=model,
            context_weights=_weights(number, weights),
            memories=counts[number],
            pending=live - counts[number],
        )
        for number, name, width, model, weights in rows
    )


def _weights(number: int, text: Any) -> tuple[float, ...]:
    try:
        return tuple(json.loads(text))
    except (ValueError, TypeError) as error:
        raise damaged("the generation", number) from error


def _width(session: Session, number: int) -> int:
    width = session.value("select dimensions from generation where id = ?", (number,))
    if not isinstance(width, int):
        raise damaged("the generation", number)
    return width


def pending(db: Database, fingerprint: str, *, after: int, limit: int) -> tuple[int, ...]:
    """Return live memories without vectors of this generation."""
    bare = f"not exists (select 1 from vector v where v.memory_id = d.id and {_OF})"
    where = Clause("d.id > ?", (after,)) & Clause(bare, (fingerprint,))
    return tuple(row for (row,) in ask(db, "select d.id from document d", where, "order by d.id limit ?", (limit,)))


def put_vectors(db: Database, generation: Generation, embedded: Sequence[EmbeddedMemory]) -> int:
    """Keep vectors in place of older ones."""
    if not embedded and not _reweighs(db, generation):
        return 0
    with db.engine.session(write=True, projects=_projects(db, generation, embedded)) as session:
        current = _current(db, session, embedded)
        stamp = place(session, generation, current)
        session.changed({memory.project for memory, _ in current} or {""})
    if len(current) >= BULK or stamp % OFTEN == 0:
        db.scan.settle(db.engine, whole=len(current) >= BULK)
    return len(current)


def _projects(db: Database, generation: Generation, embedded: Sequence[EmbeddedMemory]) -> set[str] | None:
    """Return the projects that get vectors; None where all context vectors are made again."""
    if generation.context_weights is not None and _reweighs(db, generation):
        return None
    where = db.engine.member("id", [each.memory_id for each in embedded])
    return {project for (project,) in ask(db, "select distinct project from memory", where)}


def place(session: Session, generation: Generation, current: Sequence[tuple[Memory, EmbeddedMemory]]) -> int:
    """Keep the vectors of these memories in place of older ones, and make the context vectors around them again.

    Return the number of this change.
    """
    number = _number(session, generation)
    stamp = _replace(session, number, current)
    text = session.value("select context_weights from generation where id = ?", (number,))
    if generation.context_weights not in (None, _weights(number, text)):
        contexts.reweigh(session, number, generation.context_weights)
    else:
        contexts.follow(session, [memory for memory, _ in current], generation=number)
    return stamp


def _reweighs(db: Database, generation: Generation) -> bool:
    """Return whether *generation* is here and brings other weights for its context vectors."""
    where = Clause("fingerprint = ?", (generation.fingerprint,))
    held = ask(db, "select id, context_weights from generation", where)
    return bool(held) and generation.context_weights not in (None, _weights(*held[0]))


def _number(session: Session, generation: Generation) -> int:
    sql = "insert into generation (fingerprint, dimensions, model) values (?, ?, ?) on conflict do nothing"
    session.rows(sql, (generation.fingerprint, generation.dimensions, generation.model))
    number: int = session.value("select id from generation where fingerprint = ?", (generation.fingerprint,))
    return number


def _current(db: Database, session: Session, embedded: Sequence[EmbeddedMemory]) -> list[tuple[Memory, EmbeddedMemory]]:
    """Return those whose memory is live and still says what they were made from, with as much of it as that takes."""
    where = db.engine.member("id", [each.memory_id for each in embedded]) & Clause("deleted_at is null")
    names = ("id", "project", "thread", "turn", "title", "content")
    rows = session.rows(f"select {', '.join(names)} from memory where {where.sql}", where.values)
    held = {row[0]: Memory(**dict(zip(names, row, strict=True))) for row in rows}
    pairs = ((held.get(each.memory_id), each) for each in embedded)
    return [(memory, each) for memory, each in pairs if memory is not None and memory.meaning == each.meaning]


def _replace(session: Session, generation: int, current: Sequence[tuple[Memory, EmbeddedMemory]]) -> int:
    width = _width(session, generation)
    for passage in (passage for _, each in current for passage in each.passages):
        if len(passage.vector) != WIDTH * width:
            raise too_wide(passage.vector, width)
    gone = [(generation, memory.id) for memory, _ in current]
    session.many("delete from vector where generation_id = ? and memory_id = ?", gone)
    stamp = next_stamp(session)
    rows = [
        (generation, memory.id, ordinal, passage.start, passage.stop, passage.vector, stamp)
        for memory, each in current
        for ordinal, passage in enumerate(each.passages)
    ]
    names = "generation_id, memory_id, ordinal, start, stop, embedding, stamp, checksum"
    sealed = [(*row, checksum_of(row[:6])) for row in rows]
    session.many(f"insert into vector ({names}) values (?, ?, ?, ?, ?, ?, ?, ?)", sealed)
    return stamp


def checksum_of(row: Sequence[Any]) -> int:
    """Return the checksum of a vector, given with its generation, memory, ordinal, start and stop."""
    return checksum("", *row[:5], zlib.crc32(row[5]))


def drop_vectors(db: Database, fingerprint: str) -> int:
    """Drop a generation."""
    with db.engine.session(write=True) as session:
        number = session.value("select id from generation where fingerprint = ?", (fingerprint,))
        count: int = session.value("select count(distinct memory_id) from vector where generation_id = ?", (number,))
        session.rows("delete from vector where generation_id = ?", (number,))
        session.rows("delete from generation where id = ?", (number,))
        next_stamp(session)
        session.changed({""})
    return count


def nearest(  # noqa: PLR0913  (as the contract asks it)
    db: Database,
    fingerprint: str,
    vector: bytes,
    *,
    scope: Scope,
    where: Filter,
    limit: int,
    score_ids: Sequence[int] = (),
    exclude_generation: str | None = None,
    in_context: bool = False,
    exact: bool = False,
) -> VectorHits:
    """Return the memories nearest to *vector*."""
    with db.engine.session() as session:
        state = state_of(session)
        version, stamp = state.counters["version"], state.counters["vectors"]
        number, width = state.generations.get(fingerprint, (None, None))
        if number is None:
            everyone = _admitted(db, session, scope, where, exclude_generation)
            return VectorHits(missing=everyone.count, version=version)
        if not isinstance(width, int):
            raise damaged("the generation", number)
        if len(vector) != WIDTH * width:
            raise too_wide(vector, width)
        asked = VectorQuestion(
            generation=number,
            dimensions=width,
            vector=vector,
            scope=scope,
            where=where,
            limit=limit,
            score_ids=tuple(score_ids),
            exclude_generation=exclude_generation,
            in_context=in_context,
            exact=exact,
            version=version,
            stamp=stamp,
        )
        return db.scan.nearest(session, asked, lambda: _admitted(db, session, scope, where, exclude_generation))


def _admitted(db: Database, session: Session, scope: Scope, where: Filter, exclude: str | None) -> Admitted:
    """Return who may be found; of everyone, only who may not: those are few, and the others need not be listed."""
    if exclude is None and where == NO_FILTER and _is_whole(session, scope):
        rows = session.rows(_EVERYONE)
        live = sum(value for kind, value in rows if kind == "live") - sum(kind == "older" for kind, _ in rows)
        return Admitted(count=live, hidden=[value for kind, value in rows if kind != "live"])
    left = OPEN
    if exclude is not None:
        left = Clause(f"not exists (select 1 from vector v where v.memory_id = m.id and {_OF})", (exclude,))
    ids = admitted(db, scope, where, left)
    return Admitted(count=len(ids), ids=ids)


def _is_whole(session: Session, scope: Scope) -> bool:
    """Return whether *scope* admits every document."""
    if scope.projects is None:
        return True
    there = {project for (project,) in session.rows("select project from collection_stats where documents > 0")}
    return there <= scope.projects


def vectors(
    db: Database, fingerprint: str, ids: Sequence[int], *, scope: Scope, include_forgotten: bool = False
) -> dict[int, tuple[Passage, ...]]:
    """Return the passages of *ids*."""
    table = "memory" if include_forgotten else "document"
    where = db.engine.member("d.id", ids) & Clause(_OF, (fingerprint,))
    sql = (
        "select v.memory_id, v.start, v.stop, v.embedding, v.context_embedding "
        f"from {table} d join vector v on v.memory_id = d.id"
    )
    found: dict[int, tuple[Passage, ...]] = {}
    rows = ask(db, sql, where & in_scope(db.engine, scope, "d.project"), "order by v.memory_id, v.ordinal")
    sound = (row for row in rows if isinstance(row[3], bytes))  # of the others `check` tells
    for row, start, stop, vector, context in sound:
        passage = Passage(start=start, stop=stop, vector=vector, context_vector=context)
        found[row] = (*found.get(row, ()), passage)
    return found
