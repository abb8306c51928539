"""The recall log, and what can be counted from it."""

from collections import defaultdict
from collections.abc import Sequence
from functools import reduce
from operator import and_

from recollect.records import Recall, Recalled, Scope, Usage
from recollect.stores.change import logged
from recollect.stores.sql.codec import HIT, RECALL
from recollect.stores.sql.engine import OPEN, Clause, Database, ask
from recollect.stores.sql.filters import in_scope


def log_recall(db: Database, recalls: Sequence[Recall]) -> None:
    """Keep what was recalled."""
    with db.engine.session(write=True, durable=False) as session:
        for each in map(logged, recalls):
            number = session.value(f"{RECALL.insert('recall')} returning id", RECALL.write(each))
            hits = [(number, place, *HIT.write(hit)) for place, hit in enumerate(each.hits)]
            session.many(HIT.insert("recalled", "recall_id", "ordinal"), hits)


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
        f"and ? in (select value from {db.engine.elements('h.fact_ids')})"
    )
    wanted = {
        "r.session = ?": session,
        "r.id in (select recall_id from recalled where memory_id = ?)": memory_id,
        f"r.id in ({with_fact})": fact_id,
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


def usage(db: Database, *, scope: Scope) -> dict[int, Usage]:
    """Return how often each memory was shown and judged."""
    live = in_scope(db.engine, scope, "d.project")
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
