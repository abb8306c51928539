"""Facts as rows, and the questions about them."""

import json
from collections.abc import Sequence
from typing import Any

import apsw

from recollect.records import Fact, FactQuery, Scope
from recollect.stores.change import folded
from recollect.stores.sqlite.find import one_of, scope_clause
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


def facts(db: apsw.Connection, query: FactQuery, scope: Scope) -> tuple[Fact, ...]:
    """Return the facts asked for, newest first."""
    inside, projects = scope_clause(scope, "l.project")
    kinds, names = one_of("f.type", query.types)
    about_it, words = ("true", []) if query.subject is None else ("f.folded = ?", [folded(query.subject)])
    in_force = "true" if query.include_superseded else "not l.superseded"
    stating, ids = (
        ("true", [])
        if query.memory_ids is None
        else ("f.memory_id in (select value from json_each(?))", [json.dumps(query.memory_ids)])
    )
    sql = (
        f"select {COLUMNS} from fact f cross join live l on l.id = f.memory_id "
        f"where {in_force} and {about_it} and {kinds} and {stating} and {inside} order by f.id desc limit ?"
    )
    limit = -1 if query.limit is None else query.limit
    return tuple(map(to_fact, db.execute(sql, (*words, *names, *ids, *projects, limit))))


def facts_of(db: apsw.Connection, row: int) -> tuple[Fact, ...]:
    """Return what one memory states, forgotten or not."""
    rows = db.execute(f"select {COLUMNS} from fact f where f.memory_id = ? order by f.id", (row,))
    return tuple(map(to_fact, rows))


def drop_facts(db: apsw.Connection, ids: Sequence[int]) -> None:
    """Drop facts that are no longer stated."""
    db.execute("delete from fact where id in (select value from json_each(?))", (json.dumps(list(ids)),))
