"""Frozen values as rows and back: a column for each field of the dataclass, and nothing counted by hand."""

import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import compress
from operator import attrgetter, ne
from types import NoneType
from typing import Any, Final, Generic, TypeVar, get_args, get_type_hints

from msgspec import NODEFAULT
from msgspec.structs import FieldInfo, fields

from recollect.errors import RowDamaged
from recollect.records import NOTHING, Context, Event, Fact, Memory, Outline, Piece, Recall, Recalled, Scope, Traits
from recollect.stores.change import folded
from recollect.trust import CONFIDENCE_CAPS

Record = TypeVar("Record")
_ALONE = Memory(content="").context
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)
_load = json.JSONDecoder().decode


@lru_cache(maxsize=64)
def moment(at: datetime) -> str:
    """Return *at* in UTC, always equally long, so that text order is time order."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


instant = datetime.fromisoformat
"""Reads the moment that `moment` wrote."""


def dump(value: object) -> str:
    """Return *value* as compact JSON."""
    return _JSON.encode(value)


def _dump_list(values: tuple[object, ...]) -> str:
    return dump(values) if values else "[]"


def _load_list(text: str) -> tuple[Any, ...]:
    return () if text == "[]" else tuple(_load(text))


def _dump_mapping(value: Mapping[str, object]) -> str:
    return dump(dict(value)) if value else "{}"


def _load_mapping(text: str) -> Mapping[str, object]:
    return NOTHING if text == "{}" else _load(text)


def _dump_context(context: Context) -> str:
    if context is _ALONE or context == _ALONE:
        return "{}"
    kept = {"before": context.before, "after": context.after, "around": context.around}
    return dump({name: text for name, text in kept.items() if text})


def _load_context(text: str) -> Context:
    return _ALONE if text == "{}" else Context(**_load(text))


def _dump_scope(scope: Scope) -> str:
    return dump(None if scope.projects is None else sorted(scope.projects))


def _load_scope(text: str) -> Scope:
    projects = _load(text)
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


# --- checksums --------------------------------------------------------------------------------

UNSEALED = -1
"""The checksum of a row that was written before there were any; the next rebuild seals it."""
_HALF = 32
_ABSENT = "\x00"


def checksum(said: str, *parts: object) -> int:
    """Return what a row is sealed with: above, 31 bits for what it *said*; below, 32 for that and all its *parts*."""
    whole = zlib.crc32(said.encode("utf-8", "surrogatepass"))
    rest = "\x1f".join(map(_plain, parts)).encode("utf-8", "surrogatepass")
    return (whole & 0x7FFF_FFFF) << _HALF | zlib.crc32(rest, whole)


def says_what_it_said(sealed: int, fresh: int) -> bool:
    """Tell whether a row still says what it did when it was *sealed*, whatever became of its other parts."""
    low = (1 << _HALF) - 1
    return sealed >> _HALF == fresh >> _HALF or sealed & low == fresh & low


def _plain(value: Any) -> str:
    """Return *value* as text, equal for what the database takes to be equal."""
    if isinstance(value, str):
        return value
    if value is None:
        return _ABSENT
    if isinstance(value, bytes):
        return value.hex()
    return repr(float(value)) if value % 1 else str(int(value))


def damaged(what: str, row: object) -> RowDamaged:
    """Return the error that a row cannot be read back."""
    return RowDamaged(f"{what} {row} is damaged", hint="run: recollect doctor --deep")


_KEPT: Mapping[object, type | tuple[type, ...]] = {
    datetime: str,
    bool: int,
    int: int,
    float: (float, int),
    bytes: bytes,
    NoneType: NoneType,
}


def _allowed(kind: Any) -> tuple[type, ...]:
    """Return the types that a field of this *kind* may have in the database; what is none of these is text."""
    kinds = get_args(kind) if NoneType in get_args(kind) else (kind,)
    found = (_KEPT.get(each, str) for each in kinds)
    return tuple(each for one in found for each in (one if isinstance(one, tuple) else (one,)))


def _decoded(
    row: Sequence[Any], allowed: Sequence[tuple[type, ...]], decoders: Sequence[tuple[int, Callable[[Any], object]]]
) -> list[Any] | None:
    """Return the values of a row, None where one cannot be read."""
    if not all(map(isinstance, row, allowed)):
        return None
    values = list(row)
    try:
        for at, decode in decoders:
            if values[at] is not None:
                values[at] = decode(values[at])
    except (ValueError, TypeError, RecursionError):
        return None
    return values


class Codec(Generic[Record]):
    """The rows of one kind of value, *without* a field kept elsewhere; *derived* columns are written and never read.

    *sealed* names the field that says most; such rows are written with a checksum.
    """

    def __init__(
        self, record: type[Record], *, without: str = "", sealed: str = "", **derived: Callable[[Any], object]
    ) -> None:
        self._record = record
        kept = [each for each in fields(record) if each.name != without]  # type: ignore[arg-type]
        self.names = tuple(each.name for each in kept)
        self.written = (*self.names, *derived, *(("checksum",) if sealed else ()))
        self._sealed = sealed
        self._derived = tuple(derived.values())
        self._values = attrgetter(*self.names)
        self._places = {name: at for at, name in enumerate(self.names)}
        codes = [(at, *_CODES[each.type]) for at, each in enumerate(kept) if each.type in _CODES]
        self._encode = tuple((at, encode) for at, encode, _ in codes if encode is not None)
        self._decode = tuple((at, decode) for at, _, decode in codes)
        self._allowed = tuple(_allowed(each.type) for each in kept)
        self.defaults = tuple(map(self._default, kept))
        self._usual = tuple(map(_plain, self.defaults))
        self._numbers = range(len(self.names))

    def _default(self, of: FieldInfo) -> Any:
        """Return the default of a field as it is written, or nothing."""
        value = of.default_factory() if of.default_factory is not NODEFAULT else of.default
        if value is None or value is NODEFAULT:
            return None
        encode = dict(self._encode).get(self._places[of.name])
        return value if encode is None else encode(value)

    def columns(self, table: str) -> str:
        """Return the columns to select from *table*, in the order that `read` takes them."""
        return ", ".join(f"{table}.{name}" for name in self.names)

    def insert(self, table: str, *before: str) -> str:
        """Return the statement that inserts rows made by `write`, after the columns *before*."""
        names = (*before, *self.written)
        return f"insert into {table} ({', '.join(names)}) values ({', '.join('?' * len(names))})"

    def update(self, table: str) -> str:
        """Return the statement that puts a row made by `write` in the place of the one whose id follows it."""
        return f"update {table} set {', '.join(f'{name} = ?' for name in self.written)} where id = ?"

    def write(self, record: Record, **instead: object) -> tuple[Any, ...]:
        """Return *record* as a row, with some of its fields *instead* of its own."""
        values = list(self._values(record))
        for name, value in instead.items():
            values[self._places[name]] = value
        for at, encode in self._encode:
            if values[at] is not None:
                values[at] = encode(values[at])
        derived = [derive(record) for derive in self._derived]
        return (*values, *derived, self.checksum(values)) if self._sealed else (*values, *derived)

    def checksum(self, row: Sequence[Any]) -> int:
        """Return the checksum of a row of `columns`; fields that are as they come do not count, so that more can be."""
        # What equals its default is written alike; the text of the others decides.
        told = []
        for at in compress(self._numbers, map(ne, row, self.defaults)):
            text = _plain(row[at])
            if text != self._usual[at]:
                told.append(f"{self.names[at]}={text}")
        return checksum(_plain(row[self._places[self._sealed]]), *told)

    def read(self, row: Sequence[Any], **more: object) -> Record:
        """Return what a row of `columns` holds, and *more* that it does not."""
        values = _decoded(row, self._allowed, self._decode)
        if values is None:
            raise self._damaged(row)
        return self._record(**dict(zip(self.names, values, strict=True), **more))

    def mended(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of *row*, each that cannot be read as it comes by default."""
        return {
            name: value if self._is_readable(name, value) else self.defaults[self._places[name]]
            for name, value in row.items()
        }

    def _is_readable(self, name: str, value: Any) -> bool:
        at = self._places[name]
        decode = dict(self._decode).get(at)
        try:
            if decode is not None and value is not None:
                decode(value)
        except (ValueError, TypeError, RecursionError):
            return False
        return isinstance(value, self._allowed[at])

    def _damaged(self, row: Sequence[Any]) -> RowDamaged:
        """Return the error that *row* cannot be read, by its id or that of its memory."""
        at = self._places.get("id", self._places.get("memory_id", 0))
        return damaged(f"the {self._record.__name__.lower()}", row[at])


MEMORY = Codec(Memory, sealed="content", digest=lambda memory: memory.digest)
FACT = Codec(Fact, sealed="quote", folded=lambda fact: folded(fact.subject))
EVENT = Codec(Event, sealed="detail")
RECALL = Codec(Recall, without="hits")
HIT = Codec(Recalled)
PIECE = Codec(Piece)


class Excerpt(Generic[Record]):
    """Named tuples of some fields of a memory, by its id."""

    def __init__(self, record: type[Record]) -> None:
        kinds = get_type_hints(record)
        self._record = record
        self.columns = ", ".join(f"m.{'happened_at' if name == 'when' else name}" for name in kinds)
        """What is to be selected from `memory m`."""
        self._allowed = tuple(map(_allowed, kinds.values()))
        self._decode = tuple((at, _CODES[kind][1]) for at, kind in enumerate(kinds.values()) if kind in _CODES)

    def read(self, rows: Iterable[Sequence[Any]]) -> dict[int, Record]:
        """Return what *rows* of `columns` hold, by id."""
        return {row[0]: self._one(row) for row in rows}

    def _one(self, row: Sequence[Any]) -> Record:
        values = _decoded(row, self._allowed, self._decode)
        if values is None:
            raise damaged("the memory", row[0])
        return self._record(*values)


OUTLINE = Excerpt(Outline)
TRAITS = Excerpt(Traits)
_CAPS: Final = " ".join(
    f"when m.trust = '{trust}' and m.confidence > {most} then {most}" for trust, most in CONFIDENCE_CAPS.items()
)


def ranked(columns: str) -> str:
    """Return *columns* of `memory m` with the confidence that ranking takes: at most as the writer is trusted."""
    return columns.replace("m.confidence", f"case {_CAPS} else m.confidence end")
