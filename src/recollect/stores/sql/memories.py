"""Questions about memories: what they say and state, what became of them, and what is known already."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, TypeVar

from recollect.errors import StoreDamaged
from recollect.records import (
    ALL_PROJECTS,
    Conversation,
    Event,
    Fact,
    FactQuery,
    Filter,
    Known,
    Memory,
    Outline,
    Page,
    Position,
    Scope,
    StoreStats,
    Traits,
)
from recollect.stores.change import folded
from recollect.stores.contract import ALIKE
from recollect.stores.sql.codec import EVENT, FACT, MEMORY, OUTLINE, TRAITS, instant, moment, ranked
from recollect.stores.sql.engine import OPEN, Clause, Database, Session, ask, state_of
from recollect.stores.sql.filters import admits, in_scope
from recollect.stores.sql.recalls import log_size

Told = TypeVar("Told", Traits, Outline)


def load(db: Database, ids: Sequence[int], *, scope: Scope) -> dict[int, Memory]:
    """Return the memories of *ids* in *scope*."""
    where = db.engine.member("m.id", ids) & in_scope(db.engine, scope)
    found = {
        memory.id: memory for memory in map(MEMORY.read, ask(db, f"select {MEMORY.columns('m')} from memory m", where))
    }
    return {row: found[row] for row in ids if row in found}


KEPT: Final = 8_192
"""Of how many memories a connection keeps this while the store is unchanged: searches of one store share most."""
LONGEST: Final = 1_000
"""Only the outline of what has at most so many characters is kept."""


def traits(db: Database, ids: Sequence[int], *, scope: Scope) -> dict[int, Traits]:
    """Return what weighing looks at of *ids* in *scope*: from the word index, or as the rows say."""
    with db.engine.session() as session:
        known = session.kept(_no_traits)
        missing = [row for row in ids if row not in known]
        fresh: dict[int, Traits] = {}
        if missing:
            with suppress(StoreDamaged):  # then the rows are asked
                fresh |= db.words.traits(session, missing)
            where = db.engine.member("m.id", [row for row in missing if row not in fresh])
            found = (
                ask(db, f"select {ranked(TRAITS.columns)} from memory m", where) if len(fresh) < len(missing) else []
            )
            fresh |= {row: each._replace(thread=each.thread or None) for row, each in TRAITS.read(found).items()}
    return _kept(ids, known, fresh, scope)


def _no_traits(_: Session) -> dict[int, Traits]:
    return {}


def outlines(db: Database, ids: Sequence[int], *, scope: Scope) -> dict[int, Outline]:
    """Return what ranking looks at of *ids* in *scope*."""
    with db.engine.session() as session:
        known = session.kept(_no_outlines)
        missing = [row for row in ids if row not in known]
        where = db.engine.member("m.id", missing) & in_scope(db.engine, scope)
        found = ask(db, f"select {OUTLINE.columns} from memory m", where) if missing else []
    fresh = OUTLINE.read(found)
    long = {row: each for row, each in fresh.items() if len(each.content) > LONGEST}
    told = _kept(ids, known, {row: each for row, each in fresh.items() if row not in long}, scope)
    return {row: long[row] if row in long else told[row] for row in ids if row in long or row in told}


def _no_outlines(_: Session) -> dict[int, Outline]:
    return {}


def _kept(ids: Sequence[int], known: dict[int, Told], fresh: Mapping[int, Told], scope: Scope) -> dict[int, Told]:
    """Return what is *known* and what is *fresh* of *ids* in *scope*, and keep what is fresh."""
    if fresh:
        if len(known) + len(fresh) > KEPT:
            fresh = {**{row: known[row] for row in ids if row in known}, **fresh}
            known.clear()
        known.update(fresh)
    there, projects = {row: known[row] for row in ids if row in known}, scope.projects
    return there if projects is None else {row: each for row, each in there.items() if each.project in projects}


def wordings(db: Database, ids: Sequence[int], *, scope: Scope) -> dict[int, tuple[str, ...]]:
    """Return the other wordings of *ids*."""
    where = db.engine.member("w.memory_id", ids) & in_scope(db.engine, scope)
    sql = "select w.memory_id, w.content from wording w join memory m on m.id = w.memory_id"
    return _grouped(ask(db, sql, where, "order by w.memory_id, w.ordinal"))


def history(
    db: Database, ids: Sequence[int], *, scope: Scope, verbs: Sequence[str] | None = None
) -> dict[int, tuple[Event, ...]]:
    """Return the events of *ids*, oldest first."""
    where = db.engine.member("e.memory_id", ids) & db.engine.member("e.verb", verbs) & in_scope(db.engine, scope)
    sql = f"select {EVENT.columns('e')} from event e join memory m on m.id = e.memory_id"
    return _grouped((event.memory_id, event) for event in map(EVENT.read, ask(db, sql, where, "order by e.id")))


def load_with_events(
    db: Database, ids: Sequence[int], *, scope: Scope, verbs: Sequence[str]
) -> tuple[dict[int, Memory], dict[int, tuple[Event, ...]]]:
    """Return the memories of *ids* and their telling events of some *verbs*, with one statement."""
    where, of = db.engine.member("m.id", ids) & in_scope(db.engine, scope), db.engine.member("e.verb", verbs)
    # Nearly all events only say that something was done, which is not read.
    told = f"from memory m left join event e on e.memory_id = m.id and {of.sql} and e.detail <> '{{}}'"
    width, place, found, logs = len(MEMORY.names), MEMORY.names.index("id"), dict[int, Memory](), list[Event]()
    with db.engine.session() as session:
        for row in session.rows(f"{_LOADED} {told} where {where.sql} order by e.id", (*of.values, *where.values)):
            if row[place] not in found:
                found[row[place]] = MEMORY.read(row[:width])
            if row[width] is not None:
                logs.append(EVENT.read(row[width:]))
    loaded = {row: found[row] for row in ids if row in found}
    return loaded, _grouped((event.memory_id, event) for event in logs)


_LOADED: Final = f"select {MEMORY.columns('m')}, {EVENT.columns('e')}"


def _grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, tuple[Any, ...]]:
    groups: dict[Any, list[Any]] = defaultdict(list)
    for row, value in pairs:
        groups[row].append(value)
    return {row: tuple(values) for row, values in groups.items()}


def facts(db: Database, query: FactQuery, *, scope: Scope) -> tuple[Fact, ...]:
    """Return the facts asked for, newest first."""
    with db.engine.session() as session:
        if not session.is_writing and state_of(session).counters.get("newest_fact") == 0:
            return ()  # there never was one
        return tuple(map(FACT.read, _facts(db, query, scope)))


def _facts(db: Database, query: FactQuery, scope: Scope) -> list[Any]:
    table, superseded = (
        ("memory", "superseded_by is not null") if query.include_forgotten else ("document", "superseded")
    )
    where = (
        Clause("true" if query.include_superseded else f"not d.{superseded}")
        & (OPEN if query.subject is None else Clause("f.folded = ?", (folded(query.subject),)))
        & db.engine.member("f.folded", None if query.subjects is None else sorted(map(folded, query.subjects)))
        & db.engine.member("f.type", query.types)
        & db.engine.member("f.memory_id", query.memory_ids)
        & in_scope(db.engine, scope, "d.project")
    )
    tail = "order by f.id desc" + ("" if query.limit is None else " limit ?")
    values = () if query.limit is None else (query.limit,)
    return ask(db, f"{_STATED} join {table} d on d.id = f.memory_id", where, tail, values)


_STATED: Final = f"select {FACT.columns('f')} from fact f"


def known(
    db: Database,
    project: str,
    *,
    digests: Sequence[tuple[str, bytes]] = (),
    external_ids: Sequence[tuple[str, str]] = (),
    births: Sequence[tuple[str, datetime]] = (),
    minhashes: Sequence[Sequence[int]] = (),
) -> Known:
    """Return what *project* holds of these."""
    with db.engine.session():
        same, holders = _same_and_near(db, project, digests, minhashes)
        return Known(
            by_digest=_by_kind(digests, lambda kind, keys: [(key, row) for key, row in same[kind] if key in keys]),
            by_external_id=_by_kind(external_ids, lambda kind, keys: _of_external_ids(db, project, kind, keys)),
            by_birth=_of_births(db, project, births) if births else {},
            near=_near(holders, minhashes),
        )


def _by_kind(
    wanted: Sequence[tuple[str, Any]], find: Callable[[str, list[Any]], list[Any]]
) -> dict[tuple[str, Any], int]:
    """Return the lowest id that *find* has for each key, asking once for each kind."""
    found: dict[tuple[str, Any], int] = {}
    for kind in dict.fromkeys(kind for kind, _ in wanted):
        for key, row in find(kind, [key for its, key in wanted if its == kind]):
            found[kind, key] = min(row, found.get((kind, key), row))
    return found


def _same_and_near(
    db: Database, project: str, digests: Sequence[tuple[str, bytes]], minhashes: Sequence[Sequence[int]]
) -> tuple[dict[str, list[tuple[bytes, int]]], dict[int, list[int]]]:
    """Return by kind what has one of *digests* now or had it before, and what has each key of *minhashes*."""
    asked: list[Clause] = []
    wanted = sorted({key for _, key in digests})
    keys = sorted({key for minhash in minhashes for key in minhash})
    if wanted:
        live = Clause("m.project = ? and m.deleted_at is null", (project,))
        own, said = live & db.engine.member("m.digest", wanted), live & db.engine.member("w.digest", wanted)
        asked.append(Clause(f"select m.kind, m.digest, 0, m.id from memory m where {own.sql}", own.values))
        worded = "select m.kind, w.digest, 0, m.id from wording w cross join memory m on m.id = w.memory_id"
        asked.append(Clause(f"{worded} where {said.sql}", said.values))
    if keys:
        near = db.engine.member("s.key", keys) & Clause("d.project = ?", (project,))
        shared = "select null, null, s.key, s.memory_id from minhash s join document d on d.id = s.memory_id"
        asked.append(Clause(f"{shared} where {near.sql}", near.values))
    same: dict[str, list[tuple[bytes, int]]] = defaultdict(list)
    holders: dict[int, list[int]] = defaultdict(list)
    if asked:
        with db.engine.session() as session:
            values = [value for each in asked for value in each.values]
            for kind, digest, key, row in session.rows(" union all ".join(each.sql for each in asked), values):
                if digest is None:
                    holders[key].append(row)
                else:
                    same[kind].append((digest, row))
    return same, {key: sorted(rows)[:ALIKE] for key, rows in holders.items()}


def _of_external_ids(db: Database, project: str, kind: str, names: Sequence[str]) -> list[Any]:
    where = Clause("m.project = ? and m.kind = ?", (project, kind)) & db.engine.member("m.external_id", names)
    return ask(db, "select m.external_id, m.id from memory m", where)


def _of_births(
    db: Database, project: str, births: Sequence[tuple[str, datetime]]
) -> dict[tuple[str, datetime], tuple[int, ...]]:
    moments = sorted({moment(at) for _, at in births})
    where = Clause("m.project = ?", (project,)) & db.engine.member("m.created_at", moments)
    rows = ask(db, "select m.kind, m.created_at, m.id from memory m", where, "order by m.id")
    wanted = {(kind, moment(at)): (kind, at) for kind, at in births}
    pairs = ((wanted[kind, at], row) for kind, at, row in rows if (kind, at) in wanted)
    return _grouped(pairs)


def ids(db: Database, *, scope: Scope, after: int = 0, limit: int) -> tuple[int, ...]:
    """Return the lowest ids above *after*."""
    where = Clause("m.id > ?", (after,)) & in_scope(db.engine, scope)
    return tuple(row for (row,) in ask(db, "select m.id from memory m", where, "order by m.id limit ?", (limit,)))


def events(db: Database, *, scope: Scope, limit: int) -> tuple[Event, ...]:
    """Return the last events, the last first."""
    sql = f"select {EVENT.columns('e')} from event e join memory m on m.id = e.memory_id"
    found = ask(db, sql, in_scope(db.engine, scope), "order by e.id desc limit ?", (limit,))
    return tuple(map(EVENT.read, found))


def _near(holders: Mapping[int, Sequence[int]], minhashes: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the live memories sharing a key with each minhash."""
    near = ({row for key in minhash for row in holders.get(key, ())} for minhash in minhashes)
    return tuple(tuple(sorted(rows)[:ALIKE]) for rows in near)


def browse(
    db: Database,
    *,
    scope: Scope,
    where: Filter,
    limit: int,
    offset: int = 0,
    after: Position | None = None,
    among: Sequence[int] | None = None,
    count: bool = True,
) -> Page:
    """Return memories newest first."""
    clause = admits(db.engine, where) & in_scope(db.engine, scope) & db.engine.member("m.id", among)
    with db.engine.session():
        totals = ask(db, "select count(*) from memory m", clause) if count else []
        if after is not None:
            clause &= Clause("(m.happened_at, m.id) < (?, ?)", (moment(after.when), after.id))
        tail = "order by m.happened_at desc, m.id desc limit ? offset ?"
        rows = ask(db, "select m.id from memory m", clause, tail, (limit, offset))
    return Page(ids=tuple(row for (row,) in rows), total=totals[0][0] if totals else len(rows))


def conversations(
    db: Database, *, scope: Scope, where: Filter, limit: int, offset: int = 0, latest: bool = False
) -> tuple[Conversation, ...]:
    """Return conversations by when they began."""
    clause = admits(db.engine, where) & in_scope(db.engine, scope) & Clause("m.thread is not null")
    way = " desc" if latest else ""
    tail = f"group by m.project, m.thread order by min(m.happened_at){way}, min(m.id){way} limit ? offset ?"
    columns = "m.project, m.thread, min(m.happened_at), max(m.happened_at)"
    rows = ask(db, f"select {columns} from memory m", clause, tail, (limit, offset))
    return tuple(
        Conversation(project=project, thread=thread, start=instant(start), end=instant(end))
        for project, thread, start, end in rows
    )


def stats(db: Database, *, scope: Scope) -> StoreStats:
    """Count what is here."""
    mine = in_scope(db.engine, scope)
    with db.engine.session() as session:
        return StoreStats(
            memories=_count(session, "memory m where m.deleted_at is null", mine),
            forgotten=_count(session, "memory m where m.deleted_at is not null", mine),
            superseded=_count(session, "memory m where m.deleted_at is null and m.superseded_by is not null", mine),
            projects=_by(session, "project", mine),
            types=_by(session, "type", mine),
            sources=_count(session, "memory m where m.deleted_at is null", mine, "distinct m.source"),
            variants=_count(session, "wording w join memory m on m.id = w.memory_id where true", mine),
            events=_count(session, "event e join memory m on m.id = e.memory_id where true", mine),
            log=log_size(db, scope=scope),
            newest=state_of(session).counters["newest"] if scope == ALL_PROJECTS else 0,
            bytes=db.engine.size() if scope == ALL_PROJECTS else None,
        )


def _count(session: Session, rows: str, mine: Clause, what: str = "*") -> int:
    return int(session.value(f"select count({what}) from {rows} and {mine.sql}", mine.values))


def _by(session: Session, column: str, mine: Clause) -> dict[str, int]:
    sql = f"select m.{column}, count(*) from memory m where m.deleted_at is null and {mine.sql} group by 1 order by 1"
    return dict(session.rows(sql, mine.values))
