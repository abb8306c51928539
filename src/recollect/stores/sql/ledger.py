"""What was imported from where, and small named values."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.records import Piece, Source, SourceHead
from recollect.stores.contract import ANSWERING, NOTHING_CHANGED
from recollect.stores.sql.codec import PIECE, damaged
from recollect.stores.sql.engine import OPEN, Clause, Database, ask

AFTER_SLASH = chr(ord("/") + 1)
"""What follows the slash: a name below a folder sorts before the folder with this at its end."""
ABOUT = ("fingerprint", "device", "root", "stamp")
"""What is kept of the file of a source."""
OF_SOURCE = "project = ? and source = ?"


def _below(below: str, project: str) -> Clause:
    """Return the condition that a source `s` of *project* is *below* or lies below it."""
    folder = below.rstrip("/")
    return Clause("s.project = ?", (project,)) & Clause(
        "(s.name = ? or (s.name > ? and s.name < ?))", (below, f"{folder}/", f"{folder}{AFTER_SLASH}")
    )


def sources(db: Database, *, below: str, project: str) -> dict[str, Source]:
    """Return the sources of *project* at or below *below*."""
    sql = (
        f"select s.name, {', '.join(f's.{each}' for each in ABOUT)}, {PIECE.columns('p')} "
        "from source s join piece p on p.project = s.project and p.source = s.name"
    )
    about: dict[str, dict[str, Any]] = {}
    pieces: dict[str, list[Piece]] = {}
    for name, *row in ask(db, sql, _below(below, project), "order by s.name, p.ordinal"):
        about[name] = dict(zip(ABOUT, row, strict=False))
        pieces.setdefault(name, []).append(PIECE.read(row[len(ABOUT) :]))
    return {name: Source(**about[name], pieces=tuple(held)) for name, held in pieces.items()}


def source_heads(db: Database, *, below: str, project: str) -> dict[str, SourceHead]:
    """Return the sources of *project* at or below *below*, their pieces counted."""
    held = "select count(*) from piece p where p.project = s.project and p.source = s.name and not p.gone"
    sql = f"select s.name, {', '.join(f's.{each}' for each in ABOUT)}, ({held}) from source s"
    rows = ask(db, sql, _below(below, project), "order by s.name")
    return {name: SourceHead(**dict(zip(ABOUT, row, strict=False)), held=row[-1]) for name, *row in rows}


def pieces(
    db: Database,
    name: str,
    *,
    project: str,
    digests: Sequence[bytes] | None = None,
    after: int = -1,
    limit: int = 2**62,
) -> dict[int, Piece]:
    """Return pieces of a source by their place."""
    wanted = Clause("ordinal > ?", (after,)) if digests is None else db.engine.member("digest", set(digests))
    where = Clause(OF_SOURCE, (project, name)) & wanted
    sql = f"select ordinal, {PIECE.columns('piece')} from piece"
    return {place: PIECE.read(row) for place, *row in ask(db, sql, where, "order by ordinal limit ?", (limit,))}


def record_source(db: Database, name: str, source: Source, *, project: str) -> None:
    """Remember what a source of *project* consists of."""
    with db.engine.session(write=True, projects={project}) as session:
        session.rows(f"delete from piece where {OF_SOURCE}", (project, name))
        change_source(db, name, source, project=project)


def change_source(
    db: Database,
    name: str,
    source: Source,
    *,
    project: str,
    changed: Mapping[int, Piece | None] = NOTHING_CHANGED,
) -> int:
    """Change what a source of *project* consists of."""
    with db.engine.session(write=True, projects={project}) as session:
        last = session.value(f"select max(ordinal) from piece where {OF_SOURCE}", (project, name))
        first = 0 if last is None else last + 1
        rows = [(at, piece) for at, piece in changed.items() if piece is not None]
        rows += enumerate(source.pieces, start=first)
        session.many(f"delete from piece where {OF_SOURCE} and ordinal = ?", [(project, name, at) for at in changed])
        session.many(
            PIECE.insert("piece", "project", "source", "ordinal"),
            [(project, name, at, *PIECE.write(piece)) for at, piece in rows],
        )
        session.rows("delete from source where project = ? and name = ?", (project, name))
        if session.value(f"select 1 from piece where {OF_SOURCE} limit 1", (project, name)) is not None:
            sql = f"insert into source (project, name, {', '.join(ABOUT)}) values (?, ?, ?, ?, ?, ?)"
            session.rows(sql, (project, name, *(getattr(source, each) for each in ABOUT)))
        session.changed({project})
    return first


def holders(db: Database, ids: Sequence[int]) -> dict[int, tuple[tuple[str, str], ...]]:
    """Return the sources that hold memories now."""
    where = db.engine.member("memory_id", set(ids)) & Clause("not gone")
    found: dict[int, list[tuple[str, str]]] = {}
    for row, *holder in ask(db, "select distinct memory_id, project, source from piece", where, "order by 1, 2, 3"):
        found.setdefault(row, []).append((holder[0], holder[1]))
    return {row: tuple(each) for row, each in found.items()}


def put_note(db: Database, kind: str, name: str, value: Mapping[str, object] | None, *, project: str = "") -> bool:
    """Keep or drop a note."""
    with db.engine.session(write=True, projects={project}) as session:
        sql = "delete from note where project = ? and kind = ? and name = ? returning 1"
        there = session.value(sql, (project, kind, name)) is not None
        if value is not None:
            text = json.dumps(dict(value), separators=(",", ":"), default=_plain)
            sql = "insert into note (project, kind, name, value) values (?, ?, ?, ?)"
            session.rows(sql, (project, kind, name, text))
        if kind in ANSWERING:
            session.changed({project})
    return there


def note(db: Database, kind: str, name: str, *, project: str = "") -> Mapping[str, Any] | None:
    """Return one note; None where there is none."""
    where = Clause("project = ? and kind = ? and name = ?", (project, kind, name))
    found = ask(db, "select value from note", where)
    return read_note(name, found[0][0]) if found else None


def notes(db: Database, kind: str, *, project: str = "") -> dict[str, Mapping[str, Any]]:
    """Return the notes of a kind that belong to *project*, by name."""
    where = Clause("project = ? and kind = ?", (project, kind))
    rows = ask(db, "select name, value from note", where, "order by name")
    return {name: read_note(name, text) for name, text in rows}


def read_note(name: str, text: str) -> dict[str, Any]:
    """Return the value of the note *name*."""
    try:
        value = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise damaged("the note", name) from error
    if not isinstance(value, dict):
        raise damaged("the note", name)
    return value


def projects(db: Database) -> tuple[str, ...]:
    """Return every project that something belongs to, by name."""
    named = " union ".join(f"select project from {table}" for table in ("memory", "source", "note"))
    return tuple(name for (name,) in ask(db, f"select project from ({named})", OPEN, "order by 1"))


def _plain(value: object) -> object:
    """Return what is no JSON as JSON: a mapping as an object, anything else as text."""
    return dict(value) if isinstance(value, Mapping) else str(value)
