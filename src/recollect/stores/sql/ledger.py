"""What was imported from where, and small named values."""

import json
from collections.abc import Mapping
from typing import Any

from recollect.records import Piece, Source
from recollect.stores.contract import ANSWERING
from recollect.stores.sql.codec import PIECE
from recollect.stores.sql.engine import OPEN, Clause, Database, ask, bump

AFTER_SLASH = chr(ord("/") + 1)
"""What follows the slash: a name below a folder sorts before the folder with this at its end."""


def sources(db: Database, *, below: str, project: str) -> dict[str, Source]:
    """Return the sources of *project* at or below *below*."""
    folder = below.rstrip("/")
    where = Clause("s.project = ?", (project,)) & Clause(
        "(s.name = ? or (s.name > ? and s.name < ?))", (below, f"{folder}/", f"{folder}{AFTER_SLASH}")
    )
    sql = (
        f"select s.name, s.fingerprint, s.device, s.root, {PIECE.columns('p')} "
        "from source s join piece p on p.project = s.project and p.source = s.name"
    )
    pieces: dict[tuple[str, str, int, str], list[Piece]] = {}
    for name, fingerprint, device, root, *piece in ask(db, sql, where, "order by s.name, p.ordinal"):
        pieces.setdefault((name, fingerprint, device, root), []).append(PIECE.read(piece))
    return {
        name: Source(fingerprint=fingerprint, pieces=tuple(held), device=device, root=root)
        for (name, fingerprint, device, root), held in pieces.items()
    }


def record_source(db: Database, name: str, source: Source, *, project: str) -> None:
    """Remember what a source of *project* consists of."""
    rows = [(project, name, at, *PIECE.write(piece)) for at, piece in enumerate(source.pieces)]
    row = (project, name, source.fingerprint, source.device, source.root)
    with db.engine.session(write=True) as session:
        session.rows("delete from piece where project = ? and source = ?", (project, name))
        session.rows("delete from source where project = ? and name = ?", (project, name))
        if rows:
            sql = "insert into source (project, name, fingerprint, device, root) values (?, ?, ?, ?, ?)"
            session.rows(sql, row)
            session.many(PIECE.insert("piece", "project", "source", "ordinal"), rows)
        bump(session, "version")


def put_note(db: Database, kind: str, name: str, value: Mapping[str, object] | None, *, project: str = "") -> bool:
    """Keep or drop a note."""
    with db.engine.session(write=True) as session:
        sql = "delete from note where project = ? and kind = ? and name = ? returning 1"
        there = session.value(sql, (project, kind, name)) is not None
        if value is not None:
            text = json.dumps(dict(value), separators=(",", ":"), default=_plain)
            sql = "insert into note (project, kind, name, value) values (?, ?, ?, ?)"
            session.rows(sql, (project, kind, name, text))
        if kind in ANSWERING:
            bump(session, "version")
    return there


def notes(db: Database, kind: str, *, project: str = "") -> dict[str, Mapping[str, Any]]:
    """Return the notes of a kind that belong to *project*, by name."""
    where = Clause("project = ? and kind = ?", (project, kind))
    rows = ask(db, "select name, value from note", where, "order by name")
    return {name: json.loads(text) for name, text in rows}


def projects(db: Database) -> tuple[str, ...]:
    """Return every project that something belongs to, by name."""
    named = " union ".join(f"select project from {table}" for table in ("memory", "source", "note"))
    return tuple(name for (name,) in ask(db, f"select project from ({named})", OPEN, "order by 1"))


def _plain(value: object) -> object:
    """Return what is no JSON as JSON: a mapping as an object, anything else as text."""
    return dict(value) if isinstance(value, Mapping) else str(value)
