"""The recall log in the file, and what can be counted from it."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import apsw

from recollect.records import ALL_PROJECTS, Recall, Recalled, Scope, Usage
from recollect.stores.change import logged
from recollect.stores.sqlite.find import Clause, scope_clause
from recollect.stores.sqlite.rows import instant, moment


@contextmanager
def lightly(db: apsw.Connection) -> Iterator[None]:
    """Write without waiting for the disk: a log may lose its last lines with the power, never the memories."""
    if db.in_transaction:
        yield
        return
    db.pragma("synchronous", "normal")
    try:
        yield
    finally:
        db.pragma("synchronous", "full")


def log(db: apsw.Connection, recalls: Sequence[Recall]) -> None:
    """Keep *recalls*, inside an open transaction."""
    for recall in map(logged, recalls):
        _keep(db, recall)


def _keep(db: apsw.Connection, recall: Recall) -> None:
    projects = None if recall.scope.projects is None else json.dumps(sorted(recall.scope.projects))
    about = (recall.session, recall.lens, recall.mode, recall.outcome, moment(recall.at), projects)
    db.execute(
        "insert into recall (query, session, lens, mode, outcome, at, projects) values (?, ?, ?, ?, ?, ?, ?)",
        (recall.query, *about),
    )
    number = db.last_insert_rowid()
    rows = [
        (number, place, hit.memory_id, hit.rank, hit.score, hit.shown, json.dumps(hit.fact_ids))
        for place, hit in enumerate(recall.hits)
    ]
    sql = (
        "insert into recalled (recall_id, ordinal, memory_id, rank, score, shown, fact_ids) "
        "values (?, ?, ?, ?, ?, ?, ?)"
    )
    db.executemany(sql, rows)


def recalls(
    db: apsw.Connection, scope: Scope, *, session: str | None, memory_id: int | None, fact_id: int | None, limit: int
) -> tuple[Recall, ...]:
    """Return the recalls that fit, newest first."""
    parts = [_visible(scope)]
    if session is not None:
        parts.append(("r.session = ?", [session]))
    if memory_id is not None:
        parts.append(("r.id in (select recall_id from recalled where memory_id = ?)", [memory_id]))
    if fact_id is not None:
        used = "select h.recall_id from recalled h, json_each(h.fact_ids) j where h.fact_ids <> '[]' and j.value = ?"
        parts.append((f"r.id in ({used})", [fact_id]))
    chosen = " and ".join(text for text, _ in parts)
    values = [value for _, given in parts for value in given]
    sql = (
        "select r.id, query, session, lens, mode, outcome, at, projects from recall r "
        f"where {chosen} order by r.id desc limit ?"
    )
    rows: list[Any] = db.execute(sql, (*values, limit)).fetchall()
    hits = _hits(db, [row[0] for row in rows])
    return tuple(_to_recall(row[1:], hits.get(row[0], ())) for row in rows)


def _visible(scope: Scope) -> Clause:
    """Return the condition that a search saw nothing that a reader of *scope* may not see."""
    if scope.projects is None:
        return "true", []
    outside = "select 1 from json_each(r.projects) p where p.value not in (select value from json_each(?))"
    return f"r.projects is not null and not exists ({outside})", [json.dumps(sorted(scope.projects))]


def _hits(db: apsw.Connection, ids: Sequence[int]) -> dict[int, tuple[Recalled, ...]]:
    sql = (
        "select recall_id, memory_id, rank, score, shown, fact_ids from recalled "
        "where recall_id in (select value from json_each(?)) order by recall_id, ordinal"
    )
    found: dict[int, tuple[Recalled, ...]] = {}
    for number, memory_id, rank, score, shown, fact_ids in db.execute(sql, (json.dumps(list(ids)),)):
        facts = tuple(json.loads(fact_ids))
        hit = Recalled(memory_id=memory_id, rank=rank, score=score, shown=bool(shown), fact_ids=facts)
        found[number] = (*found.get(number, ()), hit)
    return found


def _to_recall(row: Sequence[Any], hits: tuple[Recalled, ...]) -> Recall:
    query, session, lens, mode, outcome, at, projects = row
    return Recall(
        query=query,
        session=session,
        lens=lens,
        mode=mode,
        outcome=outcome,
        at=instant(at),
        scope=ALL_PROJECTS if projects is None else Scope(projects=frozenset(json.loads(projects))),
        hits=hits,
    )


def usage(db: apsw.Connection, scope: Scope) -> dict[int, Usage]:
    """Return how often each memory was shown and judged."""
    inside, projects = scope_clause(scope, "l.project")
    shown = (
        "select h.memory_id, sum(h.shown), sum(not h.shown) from recalled h join live l on l.id = h.memory_id "
        f"where {inside} group by 1"
    )
    judged = (
        "select e.memory_id, json_extract(e.detail, '$.verdict'), count(*) from event e "
        f"join live l on l.id = e.memory_id where e.verb = 'feedback' and {inside} group by 1, 2 order by 1, 2"
    )
    counts = {row: (seen, missed) for row, seen, missed in db.execute(shown, projects)}
    verdicts: dict[int, dict[str, int]] = {}
    for row, verdict, count in db.execute(judged, projects):
        verdicts.setdefault(row, {})[verdict] = count
    rows = sorted({*counts, *verdicts})
    found = {row: counts.get(row, (0, 0)) for row in rows}
    return {row: Usage(shown=found[row][0], missed=found[row][1], verdicts=verdicts.get(row, {})) for row in rows}


def unanswered(db: apsw.Connection, scope: Scope, *, limit: int) -> tuple[tuple[str, int], ...]:
    """Return the queries that found nothing, and how often."""
    inside, projects = _visible(scope)
    sql = (
        f"select query, count(*) from recall r where outcome = 'none' and {inside} "
        "group by query order by 2 desc, 1 limit ?"
    )
    rows: list[Any] = db.execute(sql, (*projects, limit)).fetchall()
    return tuple(rows)
