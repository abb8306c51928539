"""Reading memories, what is said of them, and where they came from."""

import json
from collections.abc import Sequence
from typing import Any

import apsw

from recollect.records import (
    Event,
    Filter,
    IndexHit,
    Known,
    Memory,
    Page,
    Piece,
    Scope,
    Source,
    StoreStats,
    SubstringQuery,
    WordHits,
)
from recollect.stores.contract import ALIKE
from recollect.stores.sqlite.find import scope_clause, where_clause
from recollect.stores.sqlite.rows import COLUMNS, to_event, to_memory


def load(db: apsw.Connection, ids: Sequence[int], scope: Scope) -> dict[int, Memory]:
    """Return the memories of *ids* in *scope*."""
    rows = about(db, f"select {COLUMNS} from memory m where", "m.id", ids, scope)
    found = {row[0]: to_memory(row) for row in rows}
    return {row: found[row] for row in ids if row in found}


def wordings(db: apsw.Connection, ids: Sequence[int], scope: Scope) -> dict[int, tuple[str, ...]]:
    """Return the other wordings of *ids*."""
    sql = "select memory_id, w.content from wording w join memory m on m.id = memory_id where"
    return grouped(about(db, sql, "memory_id", ids, scope, "order by memory_id, ordinal"))


def history(db: apsw.Connection, ids: Sequence[int], scope: Scope) -> dict[int, tuple[Event, ...]]:
    """Return the events of *ids*, oldest first."""
    sql = "select memory_id, memory_id, verb, at, detail from event e join memory m on m.id = memory_id where"
    rows = about(db, sql, "memory_id", ids, scope, "order by e.id")
    return grouped([(row, to_event(tuple(event))) for row, *event in rows])


def about(db: apsw.Connection, sql: str, column: str, ids: Sequence[int], scope: Scope, order: str = "") -> list[Any]:
    """Return the rows of *sql*, which joins `memory m`, whose *column* is one of *ids*, in *scope*."""
    inside, values = scope_clause(scope, "m.project")
    chosen = f"{sql} {column} in (select value from json_each(?)) and {inside} {order}"
    return db.execute(chosen, (json.dumps(list(ids)), *values)).fetchall()


def grouped(pairs: Sequence[tuple[int, Any]]) -> dict[int, tuple[Any, ...]]:
    """Return the second of each pair by the first."""
    groups: dict[int, list[Any]] = {}
    for row, value in pairs:
        groups.setdefault(row, []).append(value)
    return {row: tuple(values) for row, values in groups.items()}


def known(
    db: apsw.Connection,
    project: str,
    digests: Sequence[tuple[str, bytes]],
    external_ids: Sequence[tuple[str, str]],
    minhashes: Sequence[Sequence[int]],
) -> Known:
    """Return what *project* holds of these."""
    by_digest = (
        "select m.kind, j.value, min(m.id) from json_each(?1) j cross join memory m on m.digest = unhex(j.value) "
        "where m.project = ?2 and m.deleted_at is null group by 1, 2 union all "
        "select m.kind, j.value, min(m.id) from json_each(?1) j cross join wording w on w.digest = unhex(j.value) "
        "cross join memory m on m.id = w.memory_id where m.project = ?2 and m.deleted_at is null group by 1, 2"
    )
    by_name = "select id from memory where project = ? and kind = ? and external_id = ?"
    wanted, found = set(digests), dict[tuple[str, bytes], int]()
    hexes = sorted({digest.hex() for _, digest in digests})
    for kind, text, row in db.execute(by_digest, (json.dumps(hexes), project)) if hexes else ():
        key = kind, bytes.fromhex(text)
        if key in wanted:
            found[key] = min(row, found.get(key, row))
    named = ((key, db.execute(by_name, (project, *key)).get) for key in external_ids)
    return Known(
        by_digest=found,
        by_external_id={key: row for key, row in named if row is not None},
        near=_near(db, project, minhashes) if minhashes else (),
    )


def _near(db: apsw.Connection, project: str, minhashes: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the live memories of *project* sharing a key with each minhash."""
    sql = (
        "select s.key, s.memory_id from json_each(?) j cross join sketch s on s.key = j.value "
        "cross join live l on l.id = s.memory_id where l.project = ? order by s.memory_id"
    )
    keys = {key for minhash in minhashes for key in minhash}
    holders: dict[int, list[int]] = {}
    for key, row in db.execute(sql, (json.dumps(sorted(keys)), project)):
        those = holders.setdefault(key, [])
        if len(those) < ALIKE:
            those.append(row)
    near = ({row for key in minhash for row in holders.get(key, ())} for minhash in minhashes)
    return tuple(tuple(sorted(rows)[:ALIKE]) for rows in near)


def browse(db: apsw.Connection, scope: Scope, where: Filter, *, limit: int, offset: int) -> Page:
    """Return memories newest first."""
    wanted, values = where_clause(where)
    inside, projects = scope_clause(scope, "m.project")
    chosen = f"from memory m where {wanted} and {inside}"
    total = db.execute(f"select count(*) {chosen}", (*values, *projects)).get
    sql = f"select m.id {chosen} order by m.happened_at desc, m.id desc limit ? offset ?"
    rows = db.execute(sql, (*values, *projects, limit, offset))
    return Page(ids=tuple(row for (row,) in rows), total=total)


def match_text(
    db: apsw.Connection, query: SubstringQuery, scope: Scope, where: Filter, *, limit: int, score_ids: Sequence[int]
) -> WordHits:
    """Return how many needles the text of each memory holds."""
    wanted, values = where_clause(where)
    inside, projects = scope_clause(scope, "m.project")
    sql = (
        "select id, held from (select m.id, (select count(*) from json_each(?) j "
        "where instr(lower(m.title || char(10) || m.content), j.value)) held "
        f"from memory m where {wanted} and {inside}) "
        "where held order by held desc, id"
    )
    rows = db.execute(sql, (json.dumps(list(query.needles)), *values, *projects))
    hits = [IndexHit(id=row, score=held, coverage=held / len(query.needles)) for row, held in rows]
    asked = set(score_ids)
    return WordHits(
        top=tuple(hits[:limit]),
        by_id={hit.id: hit for hit in hits if hit.id in asked},
        total=len(hits),
        version=version(db),
    )


def version(db: apsw.Connection) -> int:
    """Return how many writes there were."""
    return int(db.execute("select value from meta where key = 'version'").get)


def sources(db: apsw.Connection, below: str) -> dict[str, Source]:
    """Return the sources at or below *below*."""
    folder = below.rstrip("/") + "/"
    clause, values = "name = ? or substr(name, 1, ?) = ?", (below, len(folder), folder)
    rows: list[Any] = db.execute(
        f"select name, fingerprint from source where {clause} order by name", values
    ).fetchall()
    sql = (
        "select p.source, p.digest, p.memory_id, p.section from source cross join piece p on p.source = name "
        f"where {clause} order by p.source, p.ordinal"
    )
    pieces: dict[str, list[Piece]] = {name: [] for name, _ in rows}
    for name, key, row, section in db.execute(sql, values):
        pieces[name].append(Piece(digest=key, memory_id=row, section=section))
    return {name: Source(fingerprint=fingerprint, pieces=tuple(pieces[name])) for name, fingerprint in rows}


def stats(db: apsw.Connection, scope: Scope) -> StoreStats:
    """Count what is here."""
    inside, values = scope_clause(scope, "m.project")
    alive = f"from memory m where deleted_at is null and {inside}"

    def number(sql: str) -> int:
        return int(db.execute(sql, values).get)

    def groups(column: str) -> dict[str, int]:
        rows: list[Any] = db.execute(f"select {column}, count(*) {alive} group by 1 order by 1", values).fetchall()
        return dict(rows)

    return StoreStats(
        memories=number(f"select count(*) {alive}"),
        forgotten=number(f"select count(*) from memory m where deleted_at is not null and {inside}"),
        superseded=number(f"select count(*) {alive} and superseded_by is not null"),
        projects=groups("project"),
        types=groups("type"),
        sources=number(f"select count(distinct source) {alive}"),
        variants=number(f"select count(*) from wording join memory m on m.id = memory_id where {inside}"),
        events=number(f"select count(*) from event join memory m on m.id = memory_id where {inside}"),
    )
