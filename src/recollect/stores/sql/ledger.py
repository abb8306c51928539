"""What was imported from where, and small named values."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.records import Piece, Source
from recollect.stores.contract import ANSWERING
from recollect.stores.sql.codec import PIECE
from recollect.stores.sql.engine import Clause, Database, ask, bump

AFTER_SLASH = chr(ord("/") + 1)
"""What follows the slash: a name below a folder sorts before the folder with this at its end."""


def sources(db: Database, *, below: str) -> dict[str, Source]:
    """Return the sources at or below *below*."""
    folder = below.rstrip("/")
    where = Clause("(s.name = ? or (s.name > ? and s.name < ?))", (below, f"{folder}/", f"{folder}{AFTER_SLASH}"))
    sql = f"select s.name, s.fingerprint, {PIECE.columns('p')} from source s join piece p on p.source = s.name"
    pieces: dict[tuple[str, str], list[Piece]] = {}
    for name, fingerprint, *piece in ask(db, sql, where, "order by s.name, p.ordinal"):
        pieces.setdefault((name, fingerprint), []).append(PIECE.read(piece))
    return {name: Source(fingerprint=print_, pieces=tuple(held)) for (name, print_), held in pieces.items()}


def record_source(db: Database, source: str, *, fingerprint: str, pieces: Sequence[Piece]) -> None:
    """Remember what *source* consists of."""
    rows = [(source, at, *PIECE.write(piece)) for at, piece in enumerate(pieces)]
    with db.engine.session(write=True) as session:
        session.rows("delete from piece where source = ?", (source,))
        session.rows("delete from source where name = ?", (source,))
        if rows:
            session.rows("insert into source (name, fingerprint) values (?, ?)", (source, fingerprint))
            session.many(PIECE.insert("piece", "source", "ordinal"), rows)
        bump(session, "version")


def put_note(db: Database, kind: str, name: str, value: Mapping[str, object] | None) -> bool:
    """Keep or drop a note."""
    with db.engine.session(write=True) as session:
        sql = "delete from note where kind = ? and name = ? returning 1"
        there = session.value(sql, (kind, name)) is not None
        if value is not None:
            text = json.dumps(dict(value), separators=(",", ":"), default=_plain)
            session.rows("insert into note (kind, name, value) values (?, ?, ?)", (kind, name, text))
        if kind in ANSWERING:
            bump(session, "version")
    return there


def notes(db: Database, kind: str) -> dict[str, Mapping[str, Any]]:
    """Return the notes of a kind, by name."""
    rows = ask(db, "select name, value from note", Clause("kind = ?", (kind,)), "order by name")
    return {name: json.loads(text) for name, text in rows}


def _plain(value: object) -> object:
    """Return what is no JSON as JSON: a mapping as an object, anything else as text."""
    return dict(value) if isinstance(value, Mapping) else str(value)
