"""A whole store from one database into another: row by row, as it is, in slices that can be taken up again.

What is derived is made anew where it arrives. In the end every row of both is compared.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from recollect.errors import InputError, StoreDamaged
from recollect.records import Progress
from recollect.stores.sql.codec import EVENT, FACT, HIT, MEMORY, PIECE, RECALL
from recollect.stores.sql.engine import Engine, Session

SLICE: Final = 500
"""How many rows are copied in one transaction."""
COUNTERS: Final = ("newest", "newest_fact", "vectors", "version")
"""What counts on where the rows arrive."""
GREATEST: Final = "case when value > ? then value else ? end"
FLAGS: Final = frozenset({"pinned", "gone", "shown"})
"""The columns that say yes or no, which SQLite keeps as numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table that is not derived: its key, and its other columns."""

    name: str
    key: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return every column, the key first."""
        return (*self.key, *self.columns)

    @property
    def all(self) -> str:
        """Return them as a statement lists them."""
        return ", ".join(self.names)


def _table(name: str, key: tuple[str, ...], columns: Sequence[str]) -> Table:
    return Table(name=name, key=key, columns=tuple(each for each in columns if each not in key))


TABLES: Final = (
    _table("memory", ("id",), MEMORY.written),
    _table("wording", ("memory_id", "ordinal"), ("digest", "content", "checksum")),
    _table("event", ("id",), EVENT.written),
    _table("fact", ("id",), FACT.written),
    _table("source", ("project", "name"), ("fingerprint", "device", "root", "stamp")),
    _table("piece", ("project", "source", "ordinal"), PIECE.written),
    _table("note", ("project", "kind", "name"), ("value",)),
    _table("recall", ("id",), RECALL.written),
    _table("recalled", ("recall_id", "ordinal"), HIT.written),
    _table("generation", ("id",), ("fingerprint", "dimensions", "model", "context_weights")),
    _table(
        "vector",
        ("id",),
        ("generation_id", "memory_id", "ordinal", "start", "stop", "embedding", "context_embedding", "stamp", "checksum"),
    ),
)
"""What a store is made of, in the order in which it is copied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """How many rows of each table arrived, and how many of them had done so before."""

    rows: dict[str, int]
    resumed: int


def move(source: Engine, target: Engine, progress: Progress | None = None) -> Moved:
    """Copy all that *source* holds into *target*, which is empty or holds what an earlier try left there.

    *source* is read as it is at one moment. What arrives is compared in the end, row by row; what is derived is made
    anew when *target* is opened next.
    """
    with source.session() as reading:
        _begin(reading, target)
        resumed = sum(_count(target, table) for table in TABLES)
        copy_rows(reading, target, progress, done=resumed)
        rows = {table.name: _compared(reading, target, table) for table in TABLES}
        with target.session(write=True) as session:
            count_on(session, dict(reading.rows("select key, value from meta")))
            session.rows("delete from meta where key = 'moving'")
    target.counted()
    return Moved(rows=rows, resumed=resumed)


def copy_rows(reading: Session, target: Engine, progress: Progress | None = None, *, done: int = 0) -> None:
    """Copy what *reading* sees and *target* does not hold yet, table by table, in slices."""
    total = sum(reading.value(f"select count(*) from {table.name}") for table in TABLES)
    for table in TABLES:
        for rows in _left(reading, target, table):
            with target.session(write=True) as session:
                _insert(session, table, rows)
            done += len(rows)
            if progress is not None:
                progress(done, total, "rows")


def count_on(session: Session, state: Mapping[str, int]) -> None:
    """Let a store count on where *state* stands, and where it stood itself; its index is made anew."""
    for key in COUNTERS:
        session.rows(f"update meta set value = {GREATEST} where key = ?", (state[key], state[key], key))
    session.rows("update meta set value = value + 1 where key in ('version', 'vectors')")
    session.rows("update vector set stamp = (select value from meta where key = 'vectors')")
    session.rows("update meta set value = -1 where key = 'analyser'")


def clear(session: Session) -> None:
    """Take away all rows that are not derived."""
    for table in reversed(TABLES):
        session.rows(f"delete from {table.name}")


def _begin(reading: Session, target: Engine) -> None:
    """Mark *target* as being filled from this state of this store; refuse one that holds anything else."""
    state = dict(reading.rows("select key, value from meta where key in ('store', 'version')"))
    mark = zlib.crc32(f"{state['store']}:{state['version']}".encode())
    with target.session(write=True) as session:
        held = session.value("select value from meta where key = 'moving'")
        if held == mark:
            return
        if held is not None or any(session.value(f"select 1 from {table.name} limit 1") for table in TABLES):
            what = "half of another move, or of a store that changed since" if held is not None else "what is its own"
            raise InputError(f"the store to move into holds {what}", hint="name an empty one")
        session.rows("insert into meta (key, value) values ('moving', ?)", (mark,))


def _count(target: Engine, table: Table) -> int:
    with target.session() as session:
        return int(session.value(f"select count(*) from {table.name}"))


def _left(reading: Session, target: Engine, table: Table) -> Iterator[list[Any]]:
    """Yield the rows of *table* that are not there yet, by key."""
    with target.session() as session:
        order = ", ".join(f"{name} desc" for name in table.key)
        last = session.rows(f"select {', '.join(table.key)} from {table.name} order by {order} limit 1")
    after: Sequence[Any] | None = last[0] if last else None
    while rows := _page(reading, table, after):
        yield rows
        after = rows[-1][: len(table.key)]


def _page(session: Session, table: Table, after: Sequence[Any] | None) -> list[Any]:
    keys = ", ".join(table.key)
    behind = "" if after is None else f"where ({keys}) > ({', '.join('?' * len(table.key))})"
    sql = f"select {table.all} from {table.name} {behind} order by {keys} limit {SLICE}"
    return session.rows(sql, () if after is None else tuple(after))


def _insert(session: Session, table: Table, rows: Sequence[Sequence[Any]]) -> None:
    marks = ", ".join("?" * (len(table.key) + len(table.columns)))
    plain = [[bool(each) if name in FLAGS else each for name, each in zip(table.names, row, strict=True)] for row in rows]
    session.many(f"insert into {table.name} ({table.all}) values ({marks})", plain)


def _compared(reading: Session, target: Engine, table: Table) -> int:
    """Return how many rows *table* has here and there; refuse to call it done where one differs."""
    count, after = 0, None
    with target.session() as session:
        while True:
            here, there = _page(reading, table, after), _page(session, table, after)
            for one, other in zip(here, there, strict=False):
                if tuple(one) != tuple(other):
                    raise StoreDamaged(f"a row of {table.name} arrived changed", hint="move into an empty store anew")
            if len(here) != len(there):
                raise StoreDamaged(f"rows of {table.name} are missing", hint="run the same command again")
            if not here:
                return count
            count, after = count + len(here), here[-1][: len(table.key)]
