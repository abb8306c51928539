"""A whole store from one database into another: row by row, as it is, in slices that can be taken up again.

What is derived is made anew where it arrives. In the end every row of both is compared.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from recollect.errors import InputError, StoreDamaged
from recollect.records import Moved, Progress
from recollect.stores.sql.codec import EVENT, FACT, HIT, MEMORY, PIECE, RECALL
from recollect.stores.sql.engine import Engine, Session, next_stamp, state_of
from recollect.stores.sql.recalls import SIZE

SLICE: Final = 500
"""How many rows are copied in one transaction."""
COUNTERS: Final = ("newest", "newest_fact", "vectors", "version")
"""What counts on where the rows arrive."""
ANEW: Final = "move into an empty store anew"
EMPTIED: Final = "name an empty store; or remove that file, or drop that schema, and move again"
FLAGS: Final = frozenset({"pinned", "gone", "shown"})
"""The columns that say yes or no, which SQLite keeps as numbers."""


class Table(Struct, frozen=True, kw_only=True):
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
        (
            "generation_id",
            "memory_id",
            "ordinal",
            "start",
            "stop",
            "embedding",
            "context_embedding",
            "stamp",
            "checksum",
        ),
    ),
)
"""What a store is made of, in the order in which it is copied."""


def move(source: Engine, target: Engine, progress: Progress | None = None) -> Moved:
    """Copy all that *source* holds into *target*, which is empty or holds what an earlier try left there.

    *source* is read as it is at one moment. What arrives is compared in the end, row by row; what is derived is made
    anew when *target* is opened next.
    """
    with source.session() as reading:
        before = _state(reading)
        _begin(before, target)
        resumed = sum(_count(target, table) for table in TABLES)
        copy_rows(reading, target, progress)
        rows = _compare(reading, target, progress)
        with target.session(write=True) as session:
            count_on(session, state_of(reading).counters)
            target.counted()
            session.rows("delete from meta where key = 'moving'")
    with source.session() as reading:
        return Moved(rows=rows, resumed=resumed, left_behind=_state(reading) != before)


def copy_rows(reading: Session, target: Engine, progress: Progress | None = None) -> None:
    """Copy what *reading* sees and *target* does not hold yet, table by table, in slices."""
    total, done = _total(reading), 0
    for table in TABLES:
        done += _count(target, table)
        for rows in _pages(reading, table, skipped=_count(target, table)):
            with target.session(write=True) as session:
                _insert(session, table, rows)
            done += len(rows)
            if progress is not None:
                progress(done, total, "rows copied")


def count_on(session: Session, state: Mapping[str, int]) -> None:
    """Let a store count on where *state* stands, and where it stood itself; its index is made anew."""
    session.count_on({key: state[key] for key in COUNTERS})
    session.changed({""})
    session.rows("update vector set stamp = ?", (next_stamp(session),))
    session.rows("update meta set value = -1 where key = 'analyser'")
    session.rows(f"update meta set value = (select coalesce(sum({SIZE}), 0) from recall r) where key = 'recall_bytes'")


def clear(session: Session) -> None:
    """Take away all rows that are not derived."""
    for table in reversed(TABLES):
        session.rows(f"delete from {table.name}")


def _state(reading: Session) -> dict[str, int]:
    """Return which store this is, and which of its states."""
    counters = state_of(reading).counters
    return {key: counters[key] for key in ("store", "version")}


def _begin(state: Mapping[str, int], target: Engine) -> None:
    """Mark *target* as being filled from this state of a store; refuse one that holds anything else."""
    mark = zlib.crc32(f"{state['store']}:{state['version']}".encode())
    with target.session(write=True) as session:
        held = session.value("select value from meta where key = 'moving'")
        if held == mark:
            return
        if held is not None:
            raise InputError("the store to move into holds half of another store, or of one that changed", hint=EMPTIED)
        if any(session.value(f"select 1 from {table.name} limit 1") for table in TABLES):
            if _state(session)["store"] == state["store"]:
                raise InputError("both addresses are of one store, or of a copy of it", hint="name an empty store")
            raise InputError("the store to move into holds memories of its own", hint="name an empty store")
        session.rows("insert into meta (key, value) values ('moving', ?)", (mark,))


def _total(reading: Session) -> int:
    return sum(int(reading.value(f"select count(*) from {table.name}")) for table in TABLES)


def _count(target: Engine, table: Table) -> int:
    with target.session() as session:
        return int(session.value(f"select count(*) from {table.name}"))


def _pages(reading: Session, table: Table, *, skipped: int = 0) -> Iterator[list[Any]]:
    """Yield the rows of *table* by key, all but the first *skipped*; another database may sort some keys otherwise."""
    keys = ", ".join(table.key)
    after: Sequence[Any] = ()
    if skipped:
        last = reading.rows(f"select {keys} from {table.name} order by {keys} limit 1 offset ?", (skipped - 1,))
        if not last:
            return
        after = last[0]
    while rows := reading.rows(_page(table, behind=bool(after)), tuple(after)):
        yield rows
        after = rows[-1][: len(table.key)]


def _page(table: Table, *, behind: bool) -> str:
    keys, marks = ", ".join(table.key), ", ".join("?" * len(table.key))
    where = f"where ({keys}) > ({marks})" if behind else ""
    return f"select {table.all} from {table.name} {where} order by {keys} limit {SLICE}"


def _insert(session: Session, table: Table, rows: Sequence[Sequence[Any]]) -> None:
    marks = ", ".join("?" * (len(table.key) + len(table.columns)))
    plain = [
        [bool(each) if name in FLAGS else each for name, each in zip(table.names, row, strict=True)] for row in rows
    ]
    session.many(f"insert into {table.name} ({table.all}) values ({marks})", plain)


# --- comparing --------------------------------------------------------------------------------


def _compare(reading: Session, target: Engine, progress: Progress | None) -> dict[str, int]:
    """Return how many rows each table has here and there; refuse to call it done where one differs."""
    total, done = _total(reading), 0
    counts = dict.fromkeys((table.name for table in TABLES), 0)
    with target.session() as session:
        for table in TABLES:
            for rows in _pages(reading, table):
                _require_equal(table, rows, _same(session, table, rows))
                counts[table.name] += len(rows)
                done += len(rows)
                if progress is not None:
                    progress(done, total, "rows compared")
            if session.value(f"select count(*) from {table.name}") != counts[table.name]:
                raise StoreDamaged(f"there are rows of {table.name} that the old store does not hold", hint=ANEW)
    return counts


def _same(session: Session, table: Table, rows: Sequence[Sequence[Any]]) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Return what stands under the keys of *rows*, by key."""
    width = len(table.key)
    keys = [value for row in rows for value in row[:width]]
    marks = ", ".join([f"({', '.join('?' * width)})"] * len(rows))
    sql = f"select {table.all} from {table.name} where ({', '.join(table.key)}) in (values {marks})"
    return {tuple(row[:width]): tuple(row) for row in session.rows(sql, keys)}


def _require_equal(table: Table, rows: Sequence[Sequence[Any]], there: Mapping[tuple[Any, ...], object]) -> None:
    for row in rows:
        arrived = there.get(tuple(row[: len(table.key)]))
        if arrived is None:
            raise StoreDamaged(f"rows of {table.name} are missing where they were moved to", hint=ANEW)
        if arrived != tuple(row):
            raise StoreDamaged(f"a row of {table.name} arrived changed", hint=ANEW)
