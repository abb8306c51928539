"""Through PgBouncer in transaction mode: a connection is somebody else's after each transaction."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import recollect
from kit import plain
from postgres_server import PgBouncer, fresh_database, server
from recollect.stores.postgres import open_postgres
from recollect.stores.postgres.connecting import PREPARE_AFTER

WRITERS = 6


@pytest.fixture
def address() -> Iterator[str]:
    """A database that is reached through fewer connections than there are writers."""
    between = PgBouncer(server(), connections=4)
    yield between.url(fresh_database())
    between.close()


def test_writers_and_readers_share_fewer_connections_than_they_are(address: str, tmp_path: Path) -> None:
    def work(number: int) -> tuple[int, ...]:
        with recollect.open(address, model="none", project=f"project {number % 3}") as db:
            made = db.add(f"The lamp of lighthouse {number} is lit at {number} o'clock")
            db.add(f"Ship number {number} leaves for harbor {number}")
            db.edit(made.id, content=f"The lamp of lighthouse {number} is lit at {number} in the evening")
            return (*(hit.id for hit in db.search(f"lighthouse {number}", limit=1).hits), made.id)

    recollect.open(address, model="none").close()
    with ThreadPoolExecutor(WRITERS) as pool:
        found = list(pool.map(work, range(WRITERS)))

    with recollect.open(address, model="none") as db:
        assert db.stats().memories == 2 * WRITERS
        assert all(len(each) == 2 for each in found)
        db.reindex()
        db.purge(found[0][-1])
        db.backups.create(tmp_path / "copy.db")
        assert db.doctor(deep=True).problems == ()
    with recollect.open(tmp_path / "copy.db", model="none") as copy:
        assert copy.stats().memories == 2 * WRITERS - 1


def test_the_server_keeps_plans_on_direct_connections_only(address: str) -> None:
    direct, through = open_postgres(fresh_database(), plain), open_postgres(address, plain)

    with direct.engine.session() as one, through.engine.session() as other:
        assert (one.db.prepare_threshold, other.db.prepare_threshold) == (PREPARE_AFTER, None)

    direct.close()
    through.close()
