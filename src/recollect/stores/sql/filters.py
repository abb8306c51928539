"""What Scope and Filter mean in SQL, driven by the one table of filters."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import and_

from recollect.arguments import storable
from recollect.records import FILTER_FIELDS, NO_FILTER, Filter, FilterField, Scope
from recollect.stores.sql.codec import moment
from recollect.stores.sql.engine import OPEN, Clause, Database, Engine, Session


def in_scope(engine: Engine, scope: Scope, column: str = "m.project") -> Clause:
    """Return the condition that *column* lies in *scope*."""
    return engine.member(column, None if scope.projects is None else sorted(scope.projects))


def admits(engine: Engine, where: Filter) -> Clause:
    """Return the condition on `memory m` that *where* states; forgotten memories do not meet it."""
    return _present(where.as_of) & _current(where) & describes(engine, where)


def describes(engine: Engine, where: Filter) -> Clause:
    """Return what *where* says of a memory, forgotten, superseded or not."""
    asked = ((field, getattr(where, field.name)) for field in FILTER_FIELDS if field.match != "scope")
    fields = (_MATCH[field.match](engine, field, values) for field, values in asked if values is not None)
    return reduce(and_, (*_plain_columns(where), *fields), OPEN)


def admitted(db: Database, scope: Scope, where: Filter, also: Clause = OPEN) -> list[int]:
    """Return every memory of *scope* that *where* and *also* admit."""
    wanted, table = admits(db.engine, where), "memory"
    if where == NO_FILTER:  # narrow rows give the same answer sooner
        wanted, table = Clause("not m.superseded"), "document"
    with db.engine.session() as session:
        clause = wanted & in_scope(db.engine, scope) & also
        return [row for (row,) in session.rows(f"select m.id from {table} m where {clause.sql}", clause.values)]


def admitted_among(engine: Engine, session: Session, ids: Collection[int], where: Filter) -> set[int]:
    """Return those of *ids*, documents all, that *where* admits."""
    if where == NO_FILTER:
        return set(ids) - {row for (row,) in session.rows("select id from document where superseded")}
    clause = engine.member("m.id", ids) & admits(engine, where)
    return {row for (row,) in session.rows(f"select m.id from memory m where {clause.sql}", clause.values)}


KNOWN = "(m.created_at <= ? or m.observed_at <= ?)"
"""Whether a memory was known at a moment, given twice: recorded by then, or dated by its writer."""


def _present(as_of: datetime | None) -> Clause:
    if as_of is None:
        return Clause("m.deleted_at is null")
    sql = (
        f"{KNOWN} and (m.deleted_at is null or m.deleted_at > ?) "
        "and (m.valid_from is null or m.valid_from <= ?) and (m.valid_until is null or m.valid_until > ?)"
    )
    return Clause(sql, (moment(as_of),) * 5)


def _current(where: Filter) -> Clause:
    if where.include_superseded:
        return OPEN
    if where.as_of is None:
        return Clause("m.superseded_by is null")
    later = "select 1 from memory n where n.id = m.superseded_by and n.observed_at <= ?"
    sql = f"(m.superseded_by is null or (m.superseded_at > ? and not exists ({later})))"
    return Clause(sql, (moment(where.as_of),) * 2)


def _plain_columns(where: Filter) -> Iterable[Clause]:
    if where.since is not None:
        yield Clause("m.happened_at >= ?", (moment(where.since),))
    if where.until is not None:
        yield Clause("m.happened_at < ?", (moment(where.until),))
    if where.pinned is not None:
        yield Clause("m.pinned" if where.pinned else "not m.pinned")


def _attribute(engine: Engine, field: FilterField, values: tuple[str, ...]) -> Clause:
    return engine.member(f"m.{field.key}", values)


def _tag(engine: Engine, _: FilterField, values: tuple[str, ...]) -> Clause:
    tags = engine.member("t.tag", values)
    return Clause(f"m.id in (select t.memory_id from tagged t where {tags.sql})", tags.values)


def _fact(engine: Engine, _: FilterField, values: tuple[str, ...]) -> Clause:
    types = engine.member("f.type", values)
    return Clause(f"exists (select 1 from fact f where f.memory_id = m.id and {types.sql})", types.values)


def _path(_: Engine, field: FilterField, values: tuple[str, ...]) -> Clause:
    """Return the condition that the path is one of those wanted, lies below one, or holds one between its slashes."""
    column = f"m.{field.key}"
    one = f"{column} = ? or substr({column}, 1, ?) = ? or replace({column} || '/', ?, '') <> {column} || '/'"
    places = [(wish, wish.rstrip("/") + "/") for wish in map(storable, values)]
    found = [(wish, len(folder), folder, "/" + folder) for wish, folder in places]
    return Clause(_any_of([one] * len(values)), tuple(value for each in found for value in each))


def _any_of(conditions: Sequence[str]) -> str:
    """Join *conditions* by OR, halves within halves: databases bound how deep an expression may nest."""
    if len(conditions) < 2:
        return f"({conditions[0]})" if conditions else "false"
    half = len(conditions) // 2
    return f"({_any_of(conditions[:half])} or {_any_of(conditions[half:])})"


_MATCH: Mapping[str, Callable[[Engine, FilterField, tuple[str, ...]], Clause]] = {
    "attribute": _attribute,
    "tag": _tag,
    "path": _path,
    "fact": _fact,
}
