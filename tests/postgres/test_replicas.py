"""Several servers of one store: standbys answer reads, nothing is read that is older than what was, and failover."""

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
from recollect.errors import InputError, RecollectError, StoreError, StoreInterrupted, WriteUncertain
from recollect.recollection import Recollection
from recollect.records import Insert, Memory
from recollect.stores.postgres import pools
from recollect.stores.postgres.address import read_address
from recollect.stores.postgres.connecting import server as told_driver
from recollect.stores.sql import SqlStore

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


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for a standby that came back without waiting."""
    monkeypatch.setattr(pools, "AGAIN", 0.0)


def address_of(pair: Pair, schema: str, *more: str) -> str:
    return "&".join((url_of(*reversed(pair)), f"schema={schema}", *more))


def opened(pair: Pair, schema: str, *more: str) -> Recollection:
    return recollect.open(address_of(pair, schema, "reads=standby", *more), model="none")


def reads_on_standby(db: Recollection) -> bool:
    assert isinstance(db.store, SqlStore)
    with db.store.engine.session() as session:
        return bool(session.value("select pg_is_in_recovery()"))


def wait_for_standby(db: Recollection) -> None:
    """Read until the standby has what this process wrote."""
    end = time.monotonic() + PATIENCE
    while not reads_on_standby(db):
        assert time.monotonic() < end
        time.sleep(0.02)


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


def read_across(db: Recollection, standby: Server) -> None:
    """Read twice in one transaction, whose server is killed in between."""
    with db.store.reading():
        db.store.version()
        standby.kill()
        db.store.version()


def write_across(db: Recollection, server: Server) -> None:
    """Write twice in one transaction, whose server is killed in between."""
    with db.store.transaction():
        db.store.apply([Insert(memory=Memory(content="Half of it"))], at=NOON)
        server.kill()
        db.store.apply([Insert(memory=Memory(content="The other half"))], at=NOON)


def test_an_address_says_where_reads_go_and_the_driver_finds_the_server() -> None:
    several = read_address("postgresql://ida@db1,db2:5433/notes?reads=standby&connect_timeout=2")
    one = read_address("postgresql://ida@db1/notes")

    assert (several.reads, several.patience, one.reads, one.patience) == ("standby", 10.0, "primary", 0.0)
    assert "target_session_attrs=read-write" in told_driver(several, "primary")
    assert "target_session_attrs=standby" in told_driver(several, "standby")
    assert "connect_timeout=2" in told_driver(several, "standby")
    assert "target_session_attrs" not in told_driver(one, "primary")
    with pytest.raises(InputError, match="reads of the address"):
        read_address("postgresql://h/d?reads=anywhere")


def test_reads_are_answered_by_the_standby_and_writes_go_to_the_primary(pair: Pair) -> None:
    with opened(pair, "apart") as db, recollect.open(address_of(pair, "apart"), model="none") as usual:
        db.add("The web team meets on Mondays")
        assert [hit.id for hit in db.search("web team", session="monday").hits] == [1]
        db.flush()
        assert [each.query for each in db.recalls(session="monday")] == ["web team"]
        confirm(pair, "*")
        db.add("Backups run at night")
        assert reads_on_standby(db)
        assert not reads_on_standby(usual)
        assert usual.stats().memories == 2
    confirm(pair, "")


def test_a_process_reads_what_it_wrote_though_the_standby_lags(pair: Pair) -> None:
    with opened(pair, "own") as db:
        ask(pair[1], "select pg_wal_replay_pause()")
        db.add("The web team meets on Mondays")

        assert db.search("web team").outcome != "none"
        assert not reads_on_standby(db)
        ask(pair[1], "select pg_wal_replay_resume()")
        wait_for_standby(db)
        assert db.search("web team").outcome != "none"


def test_what_was_read_once_is_never_unread(pair: Pair) -> None:
    primary, standby = pair
    with opened(pair, "once", "application_name=reader") as reader, opened(pair, "once") as writer:
        writer.add("The web team meets on Mondays")
        ask(primary, "checkpoint")
        until(standby, f"select pg_last_wal_replay_lsn() >= '{ask(primary, 'select pg_current_wal_lsn()')}'")
        ask(standby, "checkpoint")  # which it begins at when it is started again
        standby.set("recovery_min_apply_delay", "1h")
        until(standby, "select current_setting('recovery_min_apply_delay') = '1h'")
        writer.add("Backups run at night")

        assert (reads_on_standby(reader), reader.stats().memories) == (True, 1)
        standby.kill()
        assert (reads_on_standby(reader), reader.stats().memories) == (False, 2)
        standby.start()
        assert ask(standby, "select count(*) from once.memory") == 1
        assert (reads_on_standby(reader), reader.stats().memories) == (False, 2)
        standby.set("recovery_min_apply_delay", "0")
        until(standby, "select count(*) = 2 from once.memory")
        assert (reads_on_standby(reader), reader.stats().memories) == (True, 2)


def test_reads_go_on_when_the_standby_is_killed_in_the_middle_of_one(pair: Pair) -> None:
    standby = pair[1]
    with opened(pair, "killed") as db:
        db.add("The web team meets on Mondays")
        wait_for_standby(db)
        assert isinstance(db.store, SqlStore)
        asked: list[bool] = []

        def kill_once() -> bool:
            if not asked:
                asked.append(reads_on_standby(db))
                standby.kill()
            return False

        assert [hit.id for hit in db.search("web team", cancelled=kill_once).hits] == [1]
        assert asked == [True]
        standby.start()
        wait_for_standby(db)
        with pytest.raises(StoreInterrupted):
            read_across(db, standby)
        assert db.list().total == 1
        standby.start()


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
