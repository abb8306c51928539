"""Frozen values as rows and back: a column for each field of the dataclass, and nothing counted by hand."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any, Generic, TypeVar

from recollect.records import NOTHING, Context, Event, Fact, Memory, Piece, Recall, Recalled, Scope
from recollect.stores.change import folded

Record = TypeVar("Record")
_ALONE = Context()


@lru_cache(maxsize=64)
def moment(at: datetime) -> str:
    """Return *at* in UTC, always equally long, so that text order is time order."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def instant(text: str) -> datetime:
    """Return the moment that `moment` wrote."""
    return datetime.fromisoformat(text)


def dump(value: object) -> str:
    """Return *value* as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _dump_list(values: tuple[object, ...]) -> str:
    return dump(values) if values else "[]"


def _load_list(text: str) -> tuple[Any, ...]:
    return () if text == "[]" else tuple(json.loads(text))


def _dump_mapping(value: Mapping[str, object]) -> str:
    return dump(dict(value)) if value else "{}"


def _load_mapping(text: str) -> Mapping[str, object]:
    return NOTHING if text == "{}" else json.loads(text)


def _dump_context(context: Context) -> str:
    if context == _ALONE:
        return "{}"
    kept = {"before": context.before, "after": context.after, "around": context.around}
    return dump({name: text for name, text in kept.items() if text})


def _load_context(text: str) -> Context:
    return _ALONE if text == "{}" else Context(**json.loads(text))


def _dump_scope(scope: Scope) -> str:
    return dump(None if scope.projects is None else sorted(scope.projects))


def _load_scope(text: str) -> Scope:
    projects = json.loads(text)
    return Scope(projects=None if projects is None else frozenset(projects))


_CODES: Mapping[object, tuple[Callable[[Any], object] | None, Callable[[Any], object]]] = {
    datetime: (moment, instant),
    datetime | None: (moment, instant),
    bool: (None, bool),
    tuple[str, ...]: (_dump_list, _load_list),
    tuple[int, ...]: (_dump_list, _load_list),
    Mapping[str, object]: (_dump_mapping, _load_mapping),
    Context: (_dump_context, _load_context),
    Scope: (_dump_scope, _load_scope),
}
"""By the type of a field, how it is written and read; other types are kept as they are, as is None."""


class Codec(Generic[Record]):
    """The rows of one kind of value, *without* a field kept elsewhere; *derived* columns are written and never read."""

    def __init__(self, record: type[Record], *, without: str = "", **derived: Callable[[Any], object]) -> None:
        self._record = record
        kept = [each for each in fields(record) if each.name != without]  # type: ignore[arg-type]
        self.names = tuple(each.name for each in kept)
        self._written = (*self.names, *derived)
        self._derived = tuple(derived.values())
        self._values = attrgetter(*self.names)
        self._places = {name: at for at, name in enumerate(self.names)}
        codes = [(at, *_CODES[each.type]) for at, each in enumerate(kept) if each.type in _CODES]
        self._encode = tuple((at, encode) for at, encode, _ in codes if encode is not None)
        self._decode = tuple((at, decode) for at, _, decode in codes)

    def columns(self, table: str) -> str:
        """Return the columns to select from *table*, in the order that `read` takes them."""
        return ", ".join(f"{table}.{name}" for name in self.names)

    def insert(self, table: str, *before: str) -> str:
        """Return the statement that inserts rows made by `write`, after the columns *before*."""
        names = (*before, *self._written)
        return f"insert into {table} ({', '.join(names)}) values ({', '.join('?' * len(names))})"

    def update(self, table: str) -> str:
        """Return the statement that puts a row made by `write` in the place of the one whose id follows it."""
        return f"update {table} set {', '.join(f'{name} = ?' for name in self._written)} where id = ?"

    def write(self, record: Record, **instead: object) -> tuple[Any, ...]:
        """Return *record* as a row, with some of its fields *instead* of its own."""
        values = list(self._values(record))
        for name, value in instead.items():
            values[self._places[name]] = value
        for at, encode in self._encode:
            if values[at] is not None:
                values[at] = encode(values[at])
        return (*values, *(derive(record) for derive in self._derived))

    def read(self, row: Sequence[Any], **more: object) -> Record:
        """Return what a row of `columns` holds, and *more* that it does not."""
        values = list(row)
        for at, decode in self._decode:
            if values[at] is not None:
                values[at] = decode(values[at])
        return self._record(**dict(zip(self.names, values, strict=True)), **more)


MEMORY = Codec(Memory, digest=lambda memory: memory.digest)
FACT = Codec(Fact, folded=lambda fact: folded(fact.subject))
EVENT = Codec(Event)
RECALL = Codec(Recall, without="hits")
HIT = Codec(Recalled)
PIECE = Codec(Piece)
