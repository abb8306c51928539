"""Opening the file: pragmas, migrations, and SQLite's errors in our words."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from recollect.errors import InputError, RecollectError, StoreBusy, StoreDamaged, StoreError

APPLICATION = 0x5EC0_11EC
"""Marks the file as ours, so that another program's database is never taken for a store."""

PATIENCE = 60_000
"""How many milliseconds a writer waits for another one."""

PRAGMAS = """
pragma synchronous = full;
pragma temp_store = memory;
pragma cache_size = -32000;
pragma journal_size_limit = 67108864;
"""


def connect(path: Path) -> apsw.Connection:
    """Return a connection to the store at *path*, made and brought up to date as needed."""
    _refuse_strangers(path)
    with translated(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        db = apsw.Connection(str(path))
        db.set_busy_timeout(PATIENCE)
        _migrate(db, path)
        db.execute(PRAGMAS)
        return db


def migrations() -> tuple[str, ...]:
    """Return the steps from an empty file to today's schema, oldest first."""
    folder = Path(__file__).parent / "migrations"
    steps = sorted((step for step in folder.iterdir() if step.name.endswith(".sql")), key=lambda step: step.name)
    return tuple(step.read_text(encoding="utf-8") for step in steps)


def _refuse_strangers(path: Path) -> None:
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
        raise StoreDamaged(
            f"{path} is not a recollect store", hint="name another file with --db; this one is untouched"
        )


def _migrate(db: apsw.Connection, path: Path) -> None:
    if _is_current(db, path):
        return
    _use_wal(db)
    db.execute("begin immediate")
    try:
        if not _is_current(db, path):
            steps = migrations()
            done = db.pragma("user_version")
            for step in steps[done:]:
                db.execute(step)
            db.pragma("application_id", APPLICATION)
            db.pragma("user_version", len(steps))
    except BaseException:
        db.execute("rollback")
        raise
    db.execute("commit")


def _is_current(db: apsw.Connection, path: Path) -> bool:
    mark, version, tables = _state(db)
    known = len(migrations())
    if mark != APPLICATION:
        if version or tables:
            raise StoreDamaged(f"{path} is another program's database", hint="name another file with --db")
        return False
    if version > known:
        raise StoreError(
            f"{path} was written by a newer recollect (format {version}, this one knows {known})",
            hint="upgrade recollect",
        )
    return bool(version == known)


def _state(db: apsw.Connection) -> tuple[int, int, int]:
    """Return the file's mark, version and number of tables at one moment; another process may be making them."""
    alone = not db.in_transaction
    if alone:
        db.execute("begin")
    try:
        tables = db.execute("select count(*) from sqlite_schema").get
        return db.pragma("application_id") & 0xFFFF_FFFF, db.pragma("user_version"), tables
    finally:
        if alone:
            db.execute("rollback")


def _use_wal(db: apsw.Connection) -> None:
    """Switch to WAL; SQLite does not wait for the lock this needs, so we do."""
    until = time.monotonic() + PATIENCE / 1000
    while True:
        try:
            db.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours, with what to do about them."""
    try:
        yield
    except RecollectError:
        raise
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(f"{path} is busy", hint="another process is writing for very long; try again") from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreDamaged(f"{path} is damaged: {error}", hint=f"run: recollect --db {path} doctor") from error
    except apsw.FullError as error:
        raise StoreError(f"the disk of {path} is full", hint="make room; nothing that was stored is lost") from error
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, apsw.AuthError) as error:
        raise StoreError(f"cannot open or write {path}: {error}", hint="check the rights of its folder") from error
    except apsw.ConstraintError as error:
        if "memory.external_id" not in str(error):
            raise StoreError(f"{path}: {error}", hint=f"run: recollect --db {path} doctor") from error
        raise InputError("an external id is taken by another memory", hint="update that memory instead") from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}", hint=f"run: recollect --db {path} doctor") from error
    except OSError as error:
        raise StoreError(f"cannot open {path}: {error.strerror}", hint="check the rights of its folder") from error
