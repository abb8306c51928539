"""Facts as rows, and the questions about them."""

import json
from collections.abc import Sequence
from typing import Any

import apsw

from recollect.records import Fact, Scope
from recollect.stores.change import folded
from recollect.stores.sqlite.find import one_of, scope_clause
from recollect.stores.sqlite.read import about, grouped
from recollect.stores.sqlite.rows import instant, moment

COLUMNS = (
    "f.id, f.memory_id, f.subject, f.predicate, f.object, f.type, f.confidence, f.decay_rate, f.quote, "
    "f.last_reinforced, f.state"
)
INSERT = (
    "insert into fact (id, memory_id, subject, folded, predicate, object, type, confidence, decay_rate, quote, "
    "last_reinforced, state) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def to_row(fact: Fact) -> tuple[Any, ...]:
    """Return the values of *fact* in the order of INSERT; a fact without an id gets the next one."""
    return (
        fact.id or None,
        fact.memory_id,
        fact.subject,
        folded(fact.subject),
        fact.predicate,
        fact.object,
        fact.type,
        fact.confidence,
        fact.decay_rate,
        fact.quote,
        moment(fact.last_reinforced),
        fact.state,
    )


def to_fact(row: Sequence[Any]) -> Fact:
    """Return the fact that a row of COLUMNS holds."""
    ident, memory_id, subject, predicate, thing, kind, confidence, decay_rate, quote, reinforced, state = row
    return Fact(
        id=ident,
        memory_id=memory_id,
        subject=subject,
        predicate=predicate,
        object=thing,
        type=kind,
        confidence=confidence,
        decay_rate=decay_rate,
        quote=quote,
        last_reinforced=instant(reinforced),
        state=state,
    )


def facts(db: apsw.Connection, ids: Sequence[int], scope: Scope) -> dict[int, tuple[Fact, ...]]:
    """Return the facts of *ids*."""
    sql = f"select {COLUMNS} from fact f join memory m on m.id = f.memory_id where m.deleted_at is null and"
    rows = [to_fact(row) for row in about(db, sql, "f.memory_id", ids, scope, "order by f.id")]
    found = grouped([(fact.memory_id, fact) for fact in rows])
    return {row: found[row] for row in dict.fromkeys(ids) if row in found}


def find_facts(
    db: apsw.Connection, scope: Scope, *, subject: str | None, types: tuple[str, ...] | None, limit: int
) -> tuple[Fact, ...]:
    """Return the facts about *subject* of these *types*, newest first."""
    inside, projects = scope_clause(scope, "l.project")
    kinds, names = one_of("f.type", types)
    about_it, words = ("true", []) if subject is None else ("f.folded = ?", [folded(subject)])
    sql = (
        f"select {COLUMNS} from fact f cross join live l on l.id = f.memory_id "
        f"where not l.superseded and {about_it} and {kinds} and {inside} order by f.id desc limit ?"
    )
    return tuple(map(to_fact, db.execute(sql, (*words, *names, *projects, limit))))


def facts_of(db: apsw.Connection, row: int) -> tuple[Fact, ...]:
    """Return what one memory states, forgotten or not."""
    rows = db.execute(f"select {COLUMNS} from fact f where f.memory_id = ? order by f.id", (row,))
    return tuple(map(to_fact, rows))


def drop_facts(db: apsw.Connection, ids: Sequence[int]) -> None:
    """Drop facts that are no longer stated."""
    db.execute("delete from fact where id in (select value from json_each(?))", (json.dumps(list(ids)),))
