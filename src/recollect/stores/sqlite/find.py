"""Reading: what Scope and Where mean in SQL, and a leaf's postings out of FTS5's own index.

FTS5 keeps the tokens; its `instance` vocabulary table reads them back term by term, as fast as FTS5's
own ranking does, and lets one BM25 serve every store with the statistics of the projects searched.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, assert_never

import apsw

from recollect.records import Bigram, Filter, Form, Leaf, Phrase, Prefix, Scope, Word
from recollect.stores.bm25 import TOGETHER, CollectionStats, Postings
from recollect.stores.sqlite.rows import moment

Clause = tuple[str, list[Any]]
Token = tuple[int, str, int, int]
"""Row, field, length of the row, place in the field."""
Lookup = Callable[[Form, str], Sequence[Token]]
"""Reads where a token stands; within one question each is read once."""
LAST = "\U0010ffff"


def scope_clause(scope: Scope, column: str) -> Clause:
    """Return the condition that *column* lies in *scope*."""
    if scope.projects is None:
        return "true", []
    return f"{column} in (select value from json_each(?))", [json.dumps(sorted(scope.projects))]


def where_clause(where: Filter) -> Clause:
    """Return the condition on `memory m` that *where* states; forgotten memories do not meet it."""
    parts = [
        _there(where.as_of),
        ("true", []) if where.include_superseded else _in_force(where.as_of),
        one_of("m.kind", where.kinds),
        one_of("m.type", where.types),
        _tagged(where.tags),
        _from_sources(where.sources),
        ("m.happened_at >= ?", [moment(where.since)]) if where.since else ("true", []),
        ("m.happened_at < ?", [moment(where.until)]) if where.until else ("true", []),
        _stating(where.fact_types),
    ]
    return " and ".join(text for text, _ in parts), [value for _, values in parts for value in values]


def one_of(column: str, wanted: tuple[str, ...] | None) -> Clause:
    """Return the condition that *column* is one of those wanted; None leaves it open."""
    if wanted is None:
        return "true", []
    return f"{column} in (select value from json_each(?))", [json.dumps(wanted)]


def admitted(db: apsw.Connection, rows: Iterable[int], where: Filter) -> set[int]:
    """Return those of *rows* that *where* admits."""
    if where == Filter():
        superseded = {row for (row,) in db.execute("select id from live where superseded")}
        return set(rows) - superseded
    text, values = where_clause(where)
    sql = f"select m.id from json_each(?) j cross join memory m on m.id = j.value where {text}"
    return {row for (row,) in db.execute(sql, (json.dumps(list(rows)), *values))}


def volume(db: apsw.Connection, scope: Scope) -> CollectionStats:
    """Return how much *scope* holds."""
    text, values = scope_clause(scope, "project")
    sums = ", ".join(f"coalesce(sum({name}), 0)" for name in ("docs", "stems", "exacts", "codes"))
    rows, stems, exacts, codes = next(iter(db.execute(f"select {sums} from volume where {text}", values)))
    return CollectionStats(rows=rows, stem=stems, exact=exacts, code=codes)


def reader(db: apsw.Connection, *, weights: Mapping[str, int], scope: Scope) -> Callable[[Leaf], Postings]:
    """Return how a leaf is looked up in *scope*: weighted counts and row lengths."""

    @cache
    def look(form: Form, text: str) -> Sequence[Token]:
        found: Any = _tokens(db, form, "t.term = ?", [text], scope).fetchall()
        return list(found)

    def read(leaf: Leaf) -> Postings:
        match leaf:
            case Word(text=text, form=form):
                return _counted(look(form, text), weights)
            case Prefix(text=text):
                tokens = _tokens(db, "exact", "t.term >= ? and t.term <= ?", [text, text + LAST], scope)
                return _counted(tokens, weights)
            case Phrase(texts=texts):
                return _phrase(look, texts, weights)
            case Bigram(first=first, second=second):
                return _next_to(look("stem", first), look("stem", second))
        assert_never(leaf)

    return read


def _tokens(db: apsw.Connection, form: Form, clause: str, values: list[Any], scope: Scope) -> apsw.Cursor:
    inside, projects = scope_clause(scope, "l.project")
    sql = (
        f"select t.doc, t.col, l.{form}s, t.offset from {form}_token t cross join live l on l.id = t.doc "
        f"where {clause} and {inside}"
    )
    return db.execute(sql, (*values, *projects))


def _counted(tokens: Iterable[Token], weights: Mapping[str, int]) -> Postings:
    counts: dict[int, tuple[int, int]] = {}
    for row, column, length, _ in tokens:
        weight = weights.get(column)
        if weight:
            counts[row] = (counts[row][0] + weight if row in counts else weight, length)
    return counts


def _next_to(first: Sequence[Token], second: Sequence[Token]) -> Postings:
    """Return where a token of *second* follows one of *first*."""
    ends = {(row, column, offset + 1) for row, column, _, offset in first if column in TOGETHER}
    return _counted([token for token in second if (token[0], token[1], token[3]) in ends], TOGETHER)


def _phrase(look: Lookup, texts: tuple[str, ...], weights: Mapping[str, int]) -> Postings:
    starts: set[Token] | None = None
    for place, text in enumerate(texts):
        here = {(row, column, length, offset - place) for row, column, length, offset in look("exact", text)}
        starts = here if starts is None else starts & here
        if not starts:
            return {}
    return _counted(sorted(starts or ()), weights)


def _there(as_of: datetime | None) -> Clause:
    if as_of is None:
        return "m.deleted_at is null", []
    sql = (
        "m.created_at <= ? and (m.deleted_at is null or m.deleted_at > ?) "
        "and (m.valid_from is null or m.valid_from <= ?) and (m.valid_until is null or m.valid_until > ?)"
    )
    return sql, [moment(as_of)] * 4


def _in_force(as_of: datetime | None) -> Clause:
    if as_of is None:
        return "m.superseded_by is null", []
    return "(m.superseded_by is null or m.superseded_at > ?)", [moment(as_of)]


def _stating(types: tuple[str, ...] | None) -> Clause:
    kinds, names = one_of("f.type", types)
    return (
        ("true", [])
        if types is None
        else (f"exists (select 1 from fact f where f.memory_id = m.id and {kinds})", names)
    )


def _tagged(tags: tuple[str, ...] | None) -> Clause:
    if tags is None:
        return "true", []
    sql = "m.id in (select memory_id from tagged where tag in (select value from json_each(?)))"
    return sql, [json.dumps(tags)]


def _from_sources(wishes: tuple[str, ...] | None) -> Clause:
    if wishes is None:
        return "true", []
    sql = (
        "exists (select 1 from json_each(?) j where m.source = j.value "
        "or substr(m.source, 1, length(rtrim(j.value, '/')) + 1) = rtrim(j.value, '/') || '/' "
        "or substr(m.source, -length(j.value) - 1) = '/' || j.value)"
    )
    return sql, [json.dumps(wishes)]
