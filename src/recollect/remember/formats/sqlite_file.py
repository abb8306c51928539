"""Read the SQLite database of another program without changing it or any file next to it.

To recognise one, its tables are looked at in place. To read one that is being written, which has a log or a journal
beside it, a copy is made. Any other is opened as a file that never changes: no lock and no index of the log is written.
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import quote

from recollect.errors import FileError
from recollect.remember.find_files import shown
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.record import Record
from recollect.remember.formats.values import clean

MAGIC: Final = b"SQLite format 3\0"
Columns = Mapping[str, frozenset[str]]
"""The columns of each table."""
_SIDE_FILES: Final = ("-wal", "-journal")
_COPY_ATTEMPTS: Final = 3


def columns_of(glimpse: Glimpse) -> Columns:
    """Return the tables and columns of a file; none if it is not a readable SQLite database."""
    if not glimpse.head.startswith(MAGIC):
        return {}
    try:
        return _cached_columns(glimpse.path, _state(glimpse.path))
    except FileError:
        return {}


@lru_cache(maxsize=8)
def _cached_columns(path: Path, _: object) -> Columns:
    """Return the tables of a database, read in place and never copied, however large it is.

    The tables of a new database may stand in its log alone, which whoever writes it has open: then both are read.
    """
    with _opened(path, "mode=ro&immutable=1") as db:
        found = db.columns()
    if found or not (_size(path, "-wal") and _size(path, "-shm")):
        return found
    with _opened(path, "mode=ro") as db:
        return db.columns()


class Database:
    """A database of another program: its tables, their columns, their rows."""

    def __init__(self, connection: Any, path: Path) -> None:
        self._connection = connection
        self._path = path

    def columns(self) -> Columns:
        """Return the columns of each real table."""
        found = self._ask("select name, sql from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
        real = [str(name) for name, sql in found if not str(sql).lower().startswith("create virtual")]
        return {
            name: frozenset(str(row[1]) for row in self._ask(f"pragma table_info({_quoted(name)})")) for name in real
        }

    def rows(self, table: str, where: str = "true") -> Iterator[Record]:
        """Yield the rows of *table* in the order they were written, without empty columns."""
        cursor = self._ask(f"select * from {_quoted(table)} where {where} order by rowid")
        for row in cursor:
            names = [each[0] for each in cursor.get_description()]
            yield {
                name: clean(value) if isinstance(value, str) else value
                for name, value in zip(names, row, strict=True)
                if value is not None and value != ""
            }

    def _ask(self, query: str) -> Any:
        return self._connection.cursor().execute(query)


@contextmanager
def database(path: Path) -> Iterator[Database]:
    """Open the database at *path* for reading only; what cannot be read of it raises FileError."""
    if not any(_size(path, end) for end in _SIDE_FILES):
        with _opened(path, "mode=ro&immutable=1") as db:
            yield db
        return
    with TemporaryDirectory(prefix="recollect-") as folder, _opened(path, "mode=rw", copied=Path(folder)) as db:
        yield db


@contextmanager
def _opened(path: Path, mode: str, *, copied: Path | None = None) -> Iterator[Database]:
    """Open the database at *path*, or a copy of it in the folder *copied*."""
    import apsw  # noqa: PLC0415 - only who reads such a file needs it

    try:
        place = path.absolute() if copied is None else _copied(path, copied)
        flags = apsw.SQLITE_OPEN_URI | (apsw.SQLITE_OPEN_READONLY if copied is None else apsw.SQLITE_OPEN_READWRITE)
        connection = apsw.Connection(f"file:{quote(place.as_posix())}?{mode}", flags=flags)
        try:
            connection.cursor().execute("pragma query_only = on; pragma trusted_schema = off")
            yield Database(connection, path)
        finally:
            connection.close()
    except (apsw.Error, OSError, UnicodeError, ValueError) as error:
        said = " ".join(str(error).split())[:200]
        raise FileError(
            f"cannot read {shown(path)}: {said}", hint="close the program that writes it, or copy it"
        ) from error


def _copied(path: Path, folder: Path) -> Path:
    """Copy the database with its log or journal; try again if it was written meanwhile."""
    for _ in range(_COPY_ATTEMPTS):
        before = _state(path)
        for end in ("", *_SIDE_FILES):
            beside = path.with_name(path.name + end)
            if beside.is_file():
                shutil.copyfile(beside, folder / f"copy{end}")
        if _state(path) == before:
            break
    return folder / "copy"


def _state(path: Path) -> tuple[object, ...]:
    """Return what changes when the database does."""
    try:
        found = [path.with_name(path.name + end) for end in ("", *_SIDE_FILES)]
        return tuple((each.stat().st_mtime_ns, each.stat().st_size) if each.is_file() else None for each in found)
    except (OSError, ValueError):
        return ()


def _size(path: Path, end: str) -> int:
    beside = path.with_name(path.name + end)
    return beside.stat().st_size if beside.is_file() else 0


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
