"""The recall log, and what can be counted from it."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from operator import and_

from recollect.records import HIT_BYTES, RECALL_BYTES, LogSize, Recall, Recalled, Scope, Usage
from recollect.stores.change import logged
from recollect.stores.sql.codec import HIT, RECALL, damaged, instant, moment
from recollect.stores.sql.engine import OPEN, Clause, Database, Session, ask
from recollect.stores.sql.filters import in_scope

SIZE = (
    f"{RECALL_BYTES} + {HIT_BYTES} * (select count(*) from recalled h where h.recall_id = r.id) "
    "+ octet_length(r.query || coalesce(r.session, '') || coalesce(r.lens, ''))"
)
"""What `Recall.size` says, of a row `r`."""

SLICE = 1_000
"""How many entries are taken out with one statement."""


def log_recall(db: Database, recalls: Sequence[Recall]) -> None:
    """Keep what was recalled."""
    kept = list(map(logged, recalls))
    with db.engine.session(write=True, durable=False, projects=()) as session:
        for each in kept:
            number = session.value(f"{RECALL.insert('recall')} returning id", RECALL.write(each))
            hits = [(number, place, *HIT.write(hit)) for place, hit in enumerate(each.hits)]
            session.many(HIT.insert("recalled", "recall_id", "ordinal"), hits)
        _grow(session, sum(each.size for each in kept))  # last: others wait for this row


def prune_recalls(
    db: Database,
    *,
    scope: Scope,
    before: datetime | None = None,
    max_bytes: int | None = None,
    most: int | None = None,
) -> int:
    """Drop what is too old, and the oldest of what is too much."""
    until = "" if before is None else moment(before)
    tail = "order by r.id" + ("" if most is None else f" limit {most}")
    with db.engine.session() as session:
        rows = ask(db, f"select r.id, r.at, {SIZE} from recall r", _visible(db, scope), tail)
        left = sum(size for *_, size in rows) if most is None else _size(session)
    lost = []
    for row, at, size in rows:
        if at < until or (max_bytes is not None and left > max_bytes):
            lost.append(row)
            left -= size
    if lost:
        with db.engine.session(write=True, durable=False, projects={""}) as session:
            drop(db, session, lost)
    return len(lost)


def drop(db: Database, session: Session, ids: Sequence[int]) -> None:
    """Take recalls out of the log."""
    for start in range(0, len(ids), SLICE):
        those = db.engine.member("r.id", ids[start : start + SLICE])
        _grow(session, -session.value(f"select coalesce(sum({SIZE}), 0) from recall r where {those.sql}", those.values))
        for table, column in (("recalled", "recall_id"), ("recall", "id")):
            gone = db.engine.member(column, ids[start : start + SLICE])
            session.rows(f"delete from {table} where {gone.sql}", gone.values)


def log_size(db: Database, *, scope: Scope) -> LogSize:
    """Return how much of the log a reader of *scope* may see."""
    sql = f"select count(*), coalesce(sum({SIZE}), 0), min(r.at) from recall r"
    ((count, size, oldest),) = ask(db, sql, _visible(db, scope))
    try:
        return LogSize(recalls=count, bytes=size, oldest=None if oldest is None else instant(oldest))
    except (ValueError, TypeError) as error:
        raise damaged("the oldest entry of", "the recall log") from error


def _size(session: Session) -> int:
    """Return about how many bytes the log takes; they are counted once, and kept up with from then on."""
    counted = session.value("select value from meta where key = 'recall_bytes'")
    return int(session.value(f"select coalesce(sum({SIZE}), 0) from recall r") if counted is None else counted)


def _grow(session: Session, size: int) -> None:
    """Count *size* more bytes; what a restricted role of PostgreSQL writes is counted by triggers instead."""
    if session.value("select 1 from meta where key = 'recall_bytes'") is None:
        session.rows("insert into meta (key, value) values ('recall_bytes', ?)", (_size(session) + size,))
    else:
        session.rows("update meta set value = value + ? where key = 'recall_bytes'", (size,))


def recalls(
    db: Database,
    *,
    scope: Scope,
    session: str | None = None,
    memory_id: int | None = None,
    fact_id: int | None = None,
    limit: int = 100,
    offset: int = 0,
    oldest_first: bool = False,
) -> tuple[Recall, ...]:
    """Return the recalls that fit, newest first unless told."""
    with_fact = (
        "select h.recall_id from recalled h where h.fact_ids <> '[]' "
        f"and ? in (select cast(value as text) from {db.engine.elements('h.fact_ids')})"
    )
    wanted = {
        "r.session = ?": session,
        "r.id in (select recall_id from recalled where memory_id = ?)": memory_id,
        f"r.id in ({with_fact})": None if fact_id is None else str(fact_id),
    }
    clauses = (Clause(sql, (value,)) for sql, value in wanted.items() if value is not None)
    where = reduce(and_, clauses, _visible(db, scope))
    with db.engine.session():
        sql = f"select r.id, {RECALL.columns('r')} from recall r"
        order = "asc" if oldest_first else "desc"
        rows = ask(db, sql, where, f"order by r.id {order} limit ? offset ?", (limit, offset))
        hits = _hits(db, [row[0] for row in rows])
    return tuple(RECALL.read(row[1:], hits=tuple(hits[row[0]])) for row in rows)


def _visible(db: Database, scope: Scope) -> Clause:
    """Return the condition that a search saw nothing that a reader of *scope* may not see."""
    if scope.projects is None:
        return OPEN
    seen = in_scope(db.engine, scope, "value")
    foreign = f"select 1 from {db.engine.elements('r.scope')} where not ({seen.sql})"
    return Clause(f"r.scope <> 'null' and not exists ({foreign})", seen.values)


def _hits(db: Database, ids: Sequence[int]) -> dict[int, list[Recalled]]:
    found: dict[int, list[Recalled]] = defaultdict(list)
    sql = f"select h.recall_id, {HIT.columns('h')} from recalled h"
    for row in ask(db, sql, db.engine.member("h.recall_id", ids), "order by h.recall_id, h.ordinal"):
        found[row[0]].append(HIT.read(row[1:]))
    return found


def usage(db: Database, *, scope: Scope, ids: Sequence[int] | None = None) -> dict[int, Usage]:
    """Return how often each memory was shown and judged."""
    live = in_scope(db.engine, scope, "d.project") & db.engine.member("d.id", ids)
    shown = (
        "select h.memory_id, count(*) filter (where h.shown), count(*) filter (where not h.shown) "
        "from recalled h join document d on d.id = h.memory_id"
    )
    judged = "select e.memory_id, e.detail ->> 'verdict', count(*) from event e join document d on d.id = e.memory_id"
    verdicts: dict[int, dict[str, int]] = defaultdict(dict)
    with db.engine.session():
        counts = {row: (seen, missed) for row, seen, missed in ask(db, shown, live, "group by 1")}
        for row, verdict, count in ask(db, judged, Clause("e.verb = 'feedback'") & live, "group by 1, 2 order by 1, 2"):
            verdicts[row][verdict] = count
    rows = ((row, *counts.get(row, (0, 0))) for row in sorted({*counts, *verdicts}))
    return {row: Usage(shown=seen, missed=missed, verdicts=verdicts.get(row, {})) for row, seen, missed in rows}


def unanswered(db: Database, *, scope: Scope, limit: int) -> tuple[tuple[str, int], ...]:
    """Return the queries that found nothing, and how often."""
    where = Clause("outcome = 'none'") & _visible(db, scope)
    tail = "group by query order by 2 desc, 1 limit ?"
    return tuple(ask(db, "select query, count(*) from recall r", where, tail, (limit,)))
