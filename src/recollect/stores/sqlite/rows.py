"""Memories as rows, and back."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from recollect.records import NOTHING, Context, Event, Memory
from recollect.stores.change import superseded_since

_VALUES = (
    "project, kind, type, created_at, updated_at, observed_at, deleted_at, valid_from, valid_until, superseded_by, "
    "superseded_at, confidence, pinned, trust, external_id, source, line, section, thread, turn, title, tags, "
    "metadata, context, content"
)
COLUMNS = f"id, {_VALUES}"
INSERT = f"insert into memory ({COLUMNS}, digest) values ({', '.join('?' * 27)})"
REPLACE = f"update memory set ({_VALUES}, digest) = ({', '.join('?' * 26)}) where id = ?"
_ALONE = Context()


def to_row(memory: Memory) -> tuple[Any, ...]:
    """Return the values of *memory* in the order of COLUMNS, then its digest."""
    dates = memory.created_at, memory.updated_at, memory.deleted_at, memory.superseded_at
    return _row(memory, memory.id, *map(_moment, dates))


def to_new_row(memory: Memory, row: int, *, created: datetime, at: datetime) -> tuple[Any, ...]:
    """Return the same for a *memory* that comes in *at* this moment and gets the id *row*."""
    return _row(memory, row, moment(created), moment(at), None, _moment(superseded_since(memory, None, at)))


def _row(memory: Memory, row: int, *dates: str | None) -> tuple[Any, ...]:
    created, updated, deleted, superseded = dates
    return (
        row,
        memory.project,
        memory.kind,
        memory.type,
        created,
        updated,
        _moment(memory.observed_at),
        deleted,
        _moment(memory.valid_from),
        _moment(memory.valid_until),
        memory.superseded_by,
        superseded,
        memory.confidence,
        memory.pinned,
        memory.trust,
        memory.external_id,
        memory.source,
        memory.line,
        memory.section,
        memory.thread,
        memory.turn,
        memory.title,
        dump(memory.tags) if memory.tags else "[]",
        dump(dict(memory.metadata)) if memory.metadata else "{}",
        "{}" if memory.context == _ALONE else _dump_context(memory.context),
        memory.content,
        memory.digest,
    )


def to_memory(row: tuple[Any, ...]) -> Memory:
    """Return the memory that a row of COLUMNS holds."""
    (ident, project, kind, kind_of, created, updated, observed, deleted, since, until, successor, superseded) = row[:12]
    (confidence, pinned, trust, external, source, line, section, thread, turn, *rest) = row[12:]
    (title, tags, metadata, context, content) = rest
    return Memory(
        id=ident,
        project=project,
        kind=kind,
        type=kind_of,
        created_at=instant(created),
        updated_at=instant(updated),
        observed_at=observed and instant(observed),
        deleted_at=deleted and instant(deleted),
        valid_from=since and instant(since),
        valid_until=until and instant(until),
        superseded_by=successor,
        superseded_at=superseded and instant(superseded),
        confidence=confidence,
        pinned=bool(pinned),
        trust=trust,
        external_id=external,
        source=source,
        line=line,
        section=section,
        thread=thread,
        turn=turn,
        title=title,
        tags=() if tags == "[]" else tuple(json.loads(tags)),
        metadata=NOTHING if metadata == "{}" else json.loads(metadata),
        context=_ALONE if context == "{}" else Context(**json.loads(context)),
        content=content,
    )


def to_event(row: tuple[Any, ...]) -> Event:
    """Return the event that (memory_id, verb, at, detail) holds."""
    memory_id, verb, at, detail = row
    return Event(memory_id=memory_id, verb=verb, at=instant(at), detail=json.loads(detail))


@lru_cache(maxsize=64)
def moment(at: datetime) -> str:
    """Return *at* in UTC, always equally long, so that text order is time order."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def _moment(at: datetime | None) -> str | None:
    return None if at is None else moment(at)


def instant(text: str) -> datetime:
    """Return the moment that `moment` wrote."""
    return datetime.fromisoformat(text)


def dump(value: object) -> str:
    """Return *value* as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _dump_context(context: Context) -> str:
    kept: Mapping[str, str] = {"before": context.before, "after": context.after, "around": context.around}
    return dump({name: text for name, text in kept.items() if text})
