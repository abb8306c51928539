"""The words of the store, read from FTS5's own vocabulary."""

from collections.abc import Sequence
from typing import Any

import apsw

from recollect.records import Form, Scope
from recollect.stores.sqlite.find import Clause, scope_clause, volume

NAMED = "col in ('title', 'body')"
DEARER = 300
"""How many tokens are counted one by one in the time that one question to FTS5 takes."""


def vocabulary(db: apsw.Connection, scope: Scope, form: Form) -> dict[str, int]:
    """Return in how many live memories each token stands, in title or body."""
    inside, projects = scope_clause(scope, "l.project")
    if _is_whole(db, scope):
        return _whole(db, form)
    sql = (
        f"select t.term, count(distinct t.doc) from {form}_token t cross join live l on l.id = t.doc "
        f"where t.{NAMED} and {inside} group by t.term"
    )
    rows: list[Any] = db.execute(sql, projects).fetchall()
    return dict(rows)


def _is_whole(db: apsw.Connection, scope: Scope) -> bool:
    inside, projects = scope_clause(scope, "project")
    return not db.execute(f"select exists (select 1 from volume where docs > 0 and not ({inside}))", projects).get


def _whole(db: apsw.Connection, form: Form) -> dict[str, int]:
    """Count by column, which FTS5 does by itself; what stands in both columns is counted once."""
    counts: dict[str, int] = {}
    twice: list[str] = []
    for term, docs in db.execute(f"select term, doc from {form}_spread where {NAMED}"):
        if term in counts:
            twice.append(term)
        counts[term] = counts.get(term, 0) + docs
    if DEARER * len(twice) > _tokens(db, form):
        sql = f"select term, count(distinct doc) from {form}_token where {NAMED} group by term"
        rows: list[Any] = db.execute(sql).fetchall()
        return dict(rows)
    for term in twice:
        counts[term] = _count(db, form, term, ("true", []))
    return counts


def _tokens(db: apsw.Connection, form: Form) -> int:
    whole = volume(db, Scope())
    return whole.stem if form == "stem" else whole.exact


def spread(db: apsw.Connection, words: Sequence[str], scope: Scope, form: Form) -> dict[str, int]:
    """Return in how many live memories each of *words* stands, in title or body."""
    inside = ("true", []) if _is_whole(db, scope) else scope_clause(scope, "l.project")
    return {word: _count(db, form, word, inside) if _is_term(db, form, word) else 0 for word in words}


def _is_term(db: apsw.Connection, form: Form, word: str) -> bool:
    return db.execute(f"select 1 from {form}_token where term = ? limit 1", (word,)).get is not None


def _count(db: apsw.Connection, form: Form, term: str, inside: Clause) -> int:
    """Return how many memories FTS5 finds a token in; being a token, it needs no more than quotes."""
    condition, projects = inside
    table = form if condition == "true" else f"{form} join live l on l.id = {form}.rowid"
    sql = f"select count(*) from {table} where {form} match ? and {condition}"
    found: int = db.execute(sql, (f'{{title body}} : "{term}"', *projects)).get
    return found
