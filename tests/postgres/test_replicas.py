"""Several servers of one store: writes and reads follow the primary through a failover."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest

import recollect
from kit import NOON
from postgres_server import PATIENCE, Server, url_of
from recollect.errors import RecollectError, StoreError, StoreInterrupted, WriteUncertain
from recollect.recollection import Recollection
from recollect.records import Insert, Memory
from recollect.stores.postgres.address import read_address
from recollect.stores.postgres.connecting import server as told_driver

Pair = tuple[Server, Server]
WAITING = "select pid from pg_stat_activity where wait_event = 'SyncRep'"
"""The connections whose commit waits for a standby."""


@contextmanager
def servers() -> Iterator[Pair]:
    """Give a primary and its standby; a commit is acknowledged when the standby shows it, once `confirm` says so."""
    primary = Server(synchronous_commit="remote_apply")
    try:
        standby = Server(follows=primary, synchronous_commit="remote_apply")
        try:
            yield primary, standby
        finally:
            standby.close()
    finally:
        primary.close()


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """Two servers for all tests that leave them as they were."""
    with servers() as both:
        yield both


def address_of(pair: Pair, schema: str, *more: str) -> str:
    return "&".join((url_of(*reversed(pair)), f"schema={schema}", *more))


def opened(pair: Pair, schema: str, *more: str) -> Recollection:
    return recollect.open(address_of(pair, schema, *more), model="none")


def ask(server: Server, statement: str) -> object:
    with psycopg.connect(f"{server.address} dbname=postgres", autocommit=True) as db:
        cursor = db.execute(statement)
        row = None if cursor.description is None else cursor.fetchone()
    return None if row is None else row[0]


def until(server: Server, statement: str) -> None:
    """Wait until a statement gives true."""
    end = time.monotonic() + PATIENCE
    while not ask(server, statement):
        assert time.monotonic() < end, statement
        time.sleep(0.02)


def confirm(pair: Pair, names: str) -> None:
    """Let commits wait for the standby, or for nobody."""
    pair[0].set("synchronous_standby_names", names)
    if names:
        until(pair[0], "select exists (select 1 from pg_stat_replication where sync_state = 'sync')")
    else:
        until(pair[0], "select current_setting('synchronous_standby_names') = ''")


def write_across(db: Recollection, server: Server) -> None:
    """Write twice in one transaction, whose server is killed in between."""
    with db.store.transaction():
        db.store.apply([Insert(memory=Memory(content="Half of it"))], at=NOON)
        server.kill()
        db.store.apply([Insert(memory=Memory(content="The other half"))], at=NOON)


def test_the_driver_finds_the_server_that_takes_writes() -> None:
    several = read_address("postgresql://ida@db1,db2:5433/notes?connect_timeout=2")
    one = read_address("postgresql://ida@db1/notes")

    assert (several.patience, one.patience) == (10.0, 0.0)
    assert "target_session_attrs=primary" in told_driver(several)
    assert "connect_timeout=2" in told_driver(several)
    assert "target_session_attrs" not in told_driver(one)


def test_a_commit_that_the_standby_does_not_confirm_is_told_as_uncertain(pair: Pair) -> None:
    with opened(pair, "unsure", "seconds=0.5") as db:
        db.add("The web team meets on Mondays")
        confirm(pair, "*")
        pair[1].kill()

        with pytest.raises(WriteUncertain, match="may or may not have been kept") as told:
            db.add("Backups run at night")
        with ThreadPoolExecutor(1) as thread, opened(pair, "unsure") as other:
            waiting = thread.submit(other.add, "Rent is due on the first")
            until(pair[0], f"select exists ({WAITING})")
            ask(pair[0], f"select pg_terminate_backend(pid) from ({WAITING}) as waiting")
            with pytest.raises(WriteUncertain, match="may or may not have been kept"):
                waiting.result()

        assert "before you write it again" in told.value.hint
        confirm(pair, "")
        pair[1].start()
        assert db.add("We deploy on Fridays").written


def test_a_server_that_turned_read_only_is_not_written_to(pair: Pair) -> None:
    with opened(pair, "demoted", "patience=0") as db:
        db.add("The web team meets on Mondays")
        pair[0].set("default_transaction_read_only", "on")
        until(pair[0], "select current_setting('default_transaction_read_only') = 'on'")

        with pytest.raises(StoreError, match=r"read-only|cannot be written"):
            db.add("Backups run at night")

        assert db.search("web team").outcome != "none"
        with psycopg.connect(f"{pair[0].address} dbname=postgres", autocommit=True) as admin:
            admin.execute("set default_transaction_read_only = off")
            admin.execute("alter system reset default_transaction_read_only")
            admin.execute("select pg_reload_conf()")
        until(pair[0], "select current_setting('default_transaction_read_only') = 'off'")
        assert db.add("Backups run at night").written


@pytest.mark.req("E-01")
def test_failover_keeps_every_acknowledged_write_and_everything_goes_on_by_itself() -> None:
    with servers() as both, opened(both, "recollect", "patience=60") as db:
        primary, standby = both
        usual = recollect.open(address_of(both, "recollect", "patience=60"), model="none")
        confirm(both, "*")
        acknowledged, refused, stop = list[str](), list[RecollectError](), threading.Event()

        def write(writer: int) -> None:
            number = 0
            while not stop.is_set():
                number += 1
                text = f"writer {writer} keeps note {number}"
                try:
                    db.add(text, external_id=text)
                except RecollectError as error:
                    refused.append(error)
                else:
                    acknowledged.append(text)

        with ThreadPoolExecutor(3) as threads:
            writers = [threads.submit(write, number) for number in range(2)]
            while len(acknowledged) < 20:
                time.sleep(0.01)
            primary.kill()
            asked = threads.submit(db.search, "note")
            standby.promote()
            enough = len(acknowledged) + 20
            while len(acknowledged) < enough:
                time.sleep(0.01)
            stop.set()
            for each in writers:
                each.result()

        assert asked.result().outcome != "none"
        assert usual.search("note").outcome != "none"
        usual.close()
        kept = {memory.external_id for memory in db.list(limit=10_000).memories}
        assert set(acknowledged) <= kept
        assert all(isinstance(error, StoreInterrupted | WriteUncertain) for error in refused)
        assert db.store.version() > 1_000_000  # behind whatever the lost server may have told

        with pytest.raises(StoreInterrupted, match="nothing of this write was kept"):
            write_across(db, standby)

        standby.start()
        assert db.search("half").outcome == "none"
        lose_a_write(standby)


def lose_a_write(primary: Server) -> None:
    """Fail over to a standby that lacks what was acknowledged, as it may where replication is not synchronous."""
    standby = Server(follows=primary)
    try:
        standby.kill()
        with opened((primary, standby), "recollect", "patience=60") as db:
            lost = db.add("An otter sleeps at the pier")
            assert [hit.id for hit in db.search("otter").hits] == [lost.id]
            primary.kill()
            standby.start()
            standby.promote()

            anew = db.add("A badger digs below the shed")
            assert anew.id == lost.id  # whose number, words and all, is no more what this process kept of it
            assert db.search("otter").hits == ()
            assert [hit.id for hit in db.search("badger").hits] == [lost.id]
    finally:
        standby.close()
