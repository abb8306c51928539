"""Saving what can be read of a damaged file, row by row, into a new one."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import apsw
from msgspec import Struct, field

from recollect.errors import InputError, RowDamaged, StoreDamaged, StoreError
from recollect.files import make_folder, new_part, replacing
from recollect.records import Recovery, digest
from recollect.stores.sql.codec import (
    EVENT,
    FACT,
    HIT,
    MEMORY,
    PIECE,
    RECALL,
    UNSEALED,
    Codec,
    checksum,
    says_what_it_said,
)
from recollect.stores.sql.vectors import checksum_of
from recollect.stores.sqlite import pages
from recollect.stores.sqlite.copies import APPLICATION, remove_stale_parts
from recollect.stores.sqlite.engine import PATIENCE, connect, migrations, translated
from recollect.stores.sqlite.place import SEGMENTS, beside, no_store

Row = dict[str, Any]
CODECS: Mapping[str, Codec[Any]] = {"event": EVENT, "fact": FACT, "piece": PIECE, "recall": RECALL, "recalled": HIT}
BEYOND = 1000
"""How many keys are tried after the last one that was read."""


# --- reading ----------------------------------------------------------------------------------


class Table(Struct, frozen=True):
    """One table of the damaged file: its name, its columns, and those it is sorted by."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]

    @classmethod
    def of(cls, db: apsw.Connection, name: str) -> "Table":
        """Return the table *name* as *db* has it."""
        found = db.execute(f"pragma table_info({name})").fetchall()
        key = sorted((place, str(column)) for _, column, _, _, _, place in found if place)
        return cls(name, tuple(str(row[1]) for row in found), tuple(column for _, column in key))

    @property
    def is_numbered(self) -> bool:
        """Whether the first column of its key is a number."""
        return self.key[0] in ("id", "memory_id", "recall_id")

    def select(self, tail: str) -> str:
        """Return the question for rows: each value with its type, and text as the bytes that it consists of."""
        values = ", ".join(
            f"typeof({name}), iif(typeof({name}) = 'text', cast({name} as blob), {name})" for name in self.columns
        )
        return f"select {values} from {self.name} not indexed {tail}"

    def row(self, values: Sequence[Any]) -> Row:
        """Return what `select` gave, by column; bytes that are no text are marked as such."""
        pairs = zip(self.columns, values[::2], values[1::2], strict=True)
        return {name: value.decode("utf-8", "replace") if kind == "text" else value for name, kind, value in pairs}


class Reading(Struct):
    """The rows of a table that can be read: from the front, from the back, then one by one what is between."""

    db: apsw.Connection
    table: Table
    last: int = 0
    whole: bool = True
    seen: set[Any] = field(default_factory=set)

    def rows(self) -> Iterator[Row]:
        """Yield each row once."""
        yield from self._scan("")
        if self.whole:
            return
        yield from self._scan("desc")
        if self.table.is_numbered:
            top = max([self.last, *(key[0] for key in self.seen if isinstance(key[0], int))]) + BEYOND
            first = {key[0] for key in self.seen} if len(self.table.key) == 1 else set()
            for number in range(1, top):
                if number not in first:
                    yield from self._read(f"where {self.table.key[0]} = ?", (number,))

    def _scan(self, way: str) -> Iterator[Row]:
        order = ", ".join(f"{name} {way}" for name in self.table.key)
        return self._read(f"order by {order}", ())

    def _read(self, tail: str, values: Sequence[object]) -> Iterator[Row]:
        try:
            for each in self.db.execute(self.table.select(tail), tuple(values)):
                row = self.table.row(each)
                key = tuple(row[name] for name in self.table.key)
                if key not in self.seen or self.table.name == "memory":
                    self.seen.add(key)
                    yield row
        except apsw.Error:
            self.whole = False


# --- judging ----------------------------------------------------------------------------------


def is_sound(table: str, row: Row) -> bool:
    """Tell whether *row* can have been written as it is."""
    try:
        codec = CODECS.get(table)
        if codec is not None and set(codec.names) <= row.keys():
            codec.read([row[name] for name in codec.names])
        if table in ("note", "generation"):
            json.loads(row["value"] if table == "note" else row.get("context_weights", "[]"))
        sealed = row.get("checksum", UNSEALED)
        return sealed == UNSEALED or bool(sealed == _sum_of(table, row))
    except (RowDamaged, ValueError, TypeError, KeyError):
        return False


def _sum_of(table: str, row: Row) -> int:
    if table == "wording":
        return checksum(row["content"], row["memory_id"], row["ordinal"])
    if table == "vector":
        names = ("generation_id", "memory_id", "ordinal", "start", "stop", "embedding")
        return checksum_of([row[name] for name in names])
    codec = MEMORY if table == "memory" else CODECS[table]
    return codec.checksum([row[name] for name in codec.names])


def says_its_words(row: Row) -> bool:
    """Tell whether a memory still has the words it had, whatever became of its other fields."""
    if not isinstance(row["content"], str) or not isinstance(row["id"], int):
        return False
    sealed = row.get("checksum", UNSEALED)
    if sealed == UNSEALED or not isinstance(sealed, int):
        return bool(digest(row["content"]) == row["digest"])
    return says_what_it_said(sealed, _sum_of("memory", row))


def mended(row: Row) -> Row:
    """Return a memory with what cannot be read of it left out."""
    names = [name for name in MEMORY.names if name in row]
    values = MEMORY.mended({name: row[name] for name in names})
    return {**row, **values, "digest": digest(row["content"]), **({"checksum": UNSEALED} if "checksum" in row else {})}


# --- writing ----------------------------------------------------------------------------------


class Salvage(Struct):
    """What is being saved from one file into another."""

    old: apsw.Connection
    new: apsw.Connection
    saved: dict[str, int] = field(default_factory=dict)
    torn: list[str] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    aside: list[tuple[str, Row]] = field(default_factory=list)

    def save(self) -> None:
        """Copy every table that is not derived."""
        self._begin()
        for name in pages.tables(self.new):
            if not (pages.is_derived(name) or name.startswith("sqlite_") or name == "meta"):
                self._copy(Table.of(self.new, name))
        self.lost = self._numbers("select distinct memory_id from event where memory_id not in (select id from memory)")
        self._loose_ends()
        self._counters()
        self.new.execute("commit")

    def _begin(self) -> None:
        """Make the tables as the old file has them; a file of before becomes one of today when it is opened."""
        version = min(self.old.pragma("user_version"), len(migrations()))
        self.new.pragma("page_size", self.old.pragma("page_size"))
        self.new.execute("begin")
        for step in migrations()[:version]:
            self.new.execute(step)
        self.new.pragma("application_id", APPLICATION)
        self.new.pragma("user_version", version)

    def _copy(self, table: Table) -> None:
        reading = Reading(self.old, table, last=self._newest() if table.name == "memory" else 0)
        doubtful: list[Row] = []
        self.saved[table.name] = 0
        for row in reading.rows():
            if is_sound(table.name, row) and (table.name != "memory" or is_readable(row)):
                self._insert(table, row)
            else:
                doubtful.append(row)
        for row in doubtful:
            self._doubt(table, row)
        if not reading.whole:
            self.torn.append(table.name)

    def _doubt(self, table: Table, row: Row) -> None:
        """Keep a memory whose words are as they were, if nothing better was read for it; put all else aside."""
        if table.name != "memory" or not says_its_words(row):
            self.aside.append((table.name, row))
        elif self._insert(table, mended(row)):
            self.changed.append(row["id"])

    def _insert(self, table: Table, row: Row) -> bool:
        names = ", ".join(row)
        sql = f"insert or ignore into {table.name} ({names}) values ({', '.join('?' * len(row))})"
        try:
            self.new.execute(sql, tuple(row.values()))
            taken = bool(self.new.changes())
        except apsw.ConstraintError:
            taken = False
        self.saved[table.name] += taken
        if not taken and table.name != "memory":
            self.aside.append((table.name, row))
        return taken

    def _loose_ends(self) -> None:
        """Put aside what belongs to memories that are lost; nothing is superseded by one of them."""
        gone = "not in (select id from memory)"
        for name in ("fact", "wording", "vector"):
            if name in self.saved:
                table = Table.of(self.new, name)
                rows = map(table.row, self.new.execute(table.select(f"where memory_id {gone}")).fetchall())
                self.aside += [(name, row) for row in rows if name not in pages.FORGIVEN]
                self.new.execute(f"delete from {name} where memory_id {gone}")
        columns = Table.of(self.new, "memory").columns
        unset = {"superseded_by": "null", "superseded_at": "null", "checksum": str(UNSEALED)}
        assigned = ", ".join(f"{name} = {value}" for name, value in unset.items() if name in columns)
        sql = f"update memory set {assigned} where superseded_by is not null and superseded_by {gone} returning id"
        self.changed += self._numbers(sql)

    def _newest(self) -> int:
        with suppress(apsw.Error):
            newest = self.old.execute("select value from meta where key = 'newest'").get
            return newest if isinstance(newest, int) and 0 < newest < 2**40 else 0
        return 0

    def _counters(self) -> None:
        """Carry the counters over, none of them lower than what is there; all that is derived is to be made anew."""
        reading = Reading(self.old, Table.of(self.new, "meta"))
        held = {row["key"]: row["value"] for row in reading.rows() if isinstance(row["value"], int)}
        self.new.executemany("update meta set value = max(value, ?) where key = ?", [(v, k) for k, v in held.items()])
        for key, table in (("newest", "memory"), ("newest_fact", "fact")):
            top = f"coalesce((select max(id) from {table}), 0)" if table in self.saved else "0"
            self.new.execute(f"update meta set value = max(value, {top}) where key = ?", (key,))
        self.new.execute("update meta set value = -1 where key = 'analyser'")
        self.new.execute("update meta set value = 0 where key = 'rebuilding'")
        self.new.execute("update meta set value = value + 1 where key = 'vectors'")

    def _numbers(self, sql: str) -> list[int]:
        return [row for (row,) in self.new.execute(sql).fetchall() if isinstance(row, int)]


def is_readable(row: Row) -> bool:
    """Tell whether a memory can be read as it is, and its digest is that of its words."""
    if not set(MEMORY.names) <= row.keys():  # a format of before
        return says_its_words(row)
    with suppress(RowDamaged):
        return bool(MEMORY.read([row[name] for name in MEMORY.names]).digest == row["digest"])
    return False


# --- a new file -------------------------------------------------------------------------------


def recover(old: Path, new: Path, build: Callable[[Path], None]) -> Recovery:
    """Save what can be read of *old* into the new store *new*, which *build* then opens to make what is derived."""
    _refuse(old, new)
    aside = new.with_name(f"{new.name}.aside.jsonl")
    remove_stale_parts(new.parent)
    with translated(old), new_part(new) as part:
        try:
            salvage = _salvaged(_reading(old), part)
            build(part)
            if salvage.aside:
                _put_aside(aside, salvage.aside)
            part.rename(new)
            with suppress(OSError):  # segments are made anew where they are missing
                beside(part, SEGMENTS).rename(beside(new, SEGMENTS))
        finally:
            rmtree(beside(part, SEGMENTS), ignore_errors=True)
            for leftover in (part, *(part.with_name(part.name + end) for end in ("-wal", "-shm", "-journal"))):
                leftover.unlink(missing_ok=True)
    return Recovery(
        saved=salvage.saved,
        lost=tuple(sorted(salvage.lost)),
        changed=tuple(sorted(set(salvage.changed))),
        torn=tuple(salvage.torn),
        aside=len(salvage.aside),
        aside_path=str(aside) if salvage.aside else None,
    )


def _refuse(old: Path, new: Path) -> None:
    if not old.exists():
        raise InputError(f"{old} does not exist", hint="name the damaged store first, then the new one")
    _refuse_strangers(old)
    if new.exists():
        raise InputError(f"{new} exists", hint="name a file that does not exist; nothing is overwritten")
    make_folder(new.parent)


def _reading(path: Path) -> apsw.Connection:
    """Return a connection that cannot write; where nobody has a log open, it makes none either."""
    log = path.with_name(f"{path.name}-wal")
    still = "" if log.exists() and log.stat().st_size else "&immutable=1"
    return _readonly(path, still)


def _readonly(path: Path, more: str = "") -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    db = apsw.Connection(f"file:{quote(str(path.absolute()))}?mode=ro{more}", flags=flags)
    db.set_busy_timeout(PATIENCE)
    return db


def _salvaged(old: apsw.Connection, part: Path) -> Salvage:
    with closing(old), closing(apsw.Connection(str(part))) as new:
        old.execute("begin")
        salvage = Salvage(old, new)
        salvage.save()
        old.execute("rollback")
    return salvage


def _put_aside(path: Path, rows: Sequence[tuple[str, Row]]) -> None:
    def plain(value: object) -> str:
        return value.hex() if isinstance(value, bytes) else str(value)

    with replacing(path) as file:
        for table, row in rows:
            file.write(json.dumps({"table": table, "row": row}, ensure_ascii=False, default=plain) + "\n")


# --- the same file ----------------------------------------------------------------------------


def replace(path: Path, fill: Callable[[Path], None]) -> None:
    """Put what the tables of *path* hold, and what *fill* makes of it, into sound pages of the same file.

    It is tried while others write; if they do so meanwhile, they have to wait for a second try.
    """
    with closing(_readonly(path)) as db:
        _refuse_losses(path, pages.lost(db))
    with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        for locked in (False, True):
            if _replaced(path, Path(folder, f"{int(locked)}.db"), fill, locked=locked):
                return


def _replaced(path: Path, fresh: Path, fill: Callable[[Path], None], *, locked: bool) -> bool:
    with closing(apsw.Connection(str(path))) as target, closing(apsw.Connection(str(fresh))) as source:
        with closing(_readonly(path)) as watch:
            before = watch.pragma("data_version")
            backup = _locked(target, source) if locked else None
            salvage = _salvaged(_readonly(path), fresh)
            _refuse_losses(path, salvage.torn, salvage)
            connect(fresh).close()
            fill(fresh)
            backup = backup or _locked(target, source)
            same = locked or watch.pragma("data_version") == before
            with backup:
                if same:
                    backup.step(-1)
        return same


def _refuse_losses(path: Path, torn: Sequence[str], salvage: Salvage | None = None) -> None:
    """Refuse to put a file in the place of one that may hold more."""
    what = [name for name in torn if name not in pages.FORGIVEN]
    if salvage is not None:
        rows = [name for name, _ in salvage.aside if name not in pages.FORGIVEN] + [*map(str, salvage.changed)]
        what += [f"{len(rows)} rows are not as they were written"] if rows else []
    if what:
        hint = f"run: recollect recover {path} NEW"
        raise StoreDamaged(f"{path} has lost more than its indexes: {what[0]}", hint=hint)


def _locked(target: apsw.Connection, source: apsw.Connection) -> apsw.Backup:
    """Return a copy of *source* to *target* that has begun: nobody else can write there."""
    until = time.monotonic() + PATIENCE / 1000
    backup = target.backup("main", source, "main")
    while True:
        try:
            backup.step(0)
        except (apsw.BusyError, apsw.LockedError):
            if time.monotonic() > until:
                backup.close(True)
                raise
            time.sleep(0.01)
        else:
            return backup


def _refuse_strangers(path: Path) -> None:
    """Refuse a file that is no store of ours."""
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except FileNotFoundError:
        return
    except IsADirectoryError as error:
        raise StoreError(f"{path} is a folder, not a store", hint="name a file, such as notes.db") from error
    except OSError as error:
        raise StoreError(f"cannot open {path}: {error.strerror}", hint="check the rights of the file") from error
    if head and head != b"SQLite format 3\x00":
        raise no_store(path)
