"""Backups of a PostgreSQL store: SQLite stores in one file, which any recollect opens."""

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from recollect.records import Progress
from recollect.stores.moving import clear, copy_rows, count_on, move
from recollect.stores.sql.engine import Engine, Session, state_of
from recollect.stores.sqlite import copies
from recollect.stores.sqlite.engine import SqliteEngine, brought_up_to_date


def write_file(source: Engine, path: Path, *, force: bool = False, progress: Progress | None = None) -> None:
    """Write what *source* sees to the file *path*, which gets its name when it is whole."""
    copies.refuse_target(path, force=force)
    with tempfile.TemporaryDirectory(prefix=".copying-", dir=path.parent) as folder:
        part = Path(folder, "store.db")
        with closing(SqliteEngine(part)) as target:
            move(source, target, progress)
            with target.session() as session:
                copies.write_copy(session.db, path, force=force)


@contextmanager
def opened_backup(path: Path) -> Iterator[Engine]:
    """Give the SQLite store *path* as it is in today's format; the file itself stays as it is."""
    with brought_up_to_date(path) as part, closing(SqliteEngine(part)) as engine:
        yield engine


def memories_in(source: Engine) -> int:
    """Return how many memories a store holds."""
    with source.session() as session:
        return int(session.value("select count(*) from memory where deleted_at is null"))


def replace_all(source: Engine, target: Engine, session: Session) -> None:
    """Put what *source* holds in the place of what *target* does, in the transaction that *session* is."""
    with source.session() as reading:
        clear(session)
        copy_rows(reading, target)
        count_on(session, state_of(reading).counters)
