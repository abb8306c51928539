"""Counting the memories of a whole match set in one reading of their rows."""

import json
from collections import Counter
from collections.abc import Collection
from typing import Any

import apsw

from recollect.records import Filter, Scope
from recollect.stores.facets import FACETS, as_facets
from recollect.stores.sqlite.find import scope_clause, where_clause


def admitted_rows(db: apsw.Connection, scope: Scope, where: Filter) -> list[int]:
    """Return every memory of *scope* that *where* admits."""
    inside, projects = scope_clause(scope, "m.project")
    wanted, values = where_clause(where)
    rows = db.execute(f"select m.id from memory m where {wanted} and {inside}", (*values, *projects))
    return [row for (row,) in rows]


def facets(db: apsw.Connection, rows: Collection[int]) -> dict[str, dict[str, int]]:
    """Return how many of *rows* there are of each type, tag, project, source, kind, fact type and month."""
    counters: dict[str, Counter[str]] = {name: Counter() for name in FACETS}
    chosen = json.dumps(sorted(rows))
    sql = (
        "select m.type, m.project, m.source, m.kind, substr(m.happened_at, 1, 7), m.tags "
        "from json_each(?) j cross join memory m on m.id = j.value"
    )
    found: list[Any] = db.execute(sql, (chosen,)).fetchall()
    if found:
        *columns, tags = zip(*found, strict=True)
        for name, values in zip(("type", "project", "source", "kind", "month"), columns, strict=True):
            counters[name].update(value for value in values if value is not None)
        counters["tag"].update(tag for text in tags if text != "[]" for tag in set(json.loads(text)))
    stated = (
        "select f.type, count(distinct f.memory_id) from json_each(?) j cross join fact f on f.memory_id = j.value "
        "group by 1"
    )
    types: list[Any] = db.execute(stated, (chosen,)).fetchall()
    counters["fact_type"].update(dict(types))
    return as_facets(counters)
