"""A PostgreSQL server for the benchmarks, on loopback: its data is kept between runs, its settings are a real one's."""

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from benchmarks.common import ROOT
from psycopg import sql

from postgres_server import Server, _unprivileged

HOME = ROOT / "build" / "postgres"
SETTINGS = {
    "listen_addresses": "'127.0.0.1'",
    "shared_buffers": "1GB",
    "maintenance_work_mem": "1GB",
    "max_wal_size": "4GB",
    "max_connections": "200",
    "log_min_messages": "error",
}
"""A write is on disk when it is acknowledged: fsync and the rest are as PostgreSQL comes."""


class KeptServer(Server):
    """A server whose data stays from one run to the next."""

    def __init__(self, data: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="rpg"))
        self.data, self.port = data, _free_port()
        self._settings, self._user, self._process = SETTINGS, _unprivileged(), None
        data.parent.mkdir(parents=True, exist_ok=True)
        if self._user is not None:
            for each in (self.folder, data.parent):
                os.chown(each, self._user.pw_uid, self._user.pw_gid)
        if not data.exists():
            self.run("initdb", "-D", str(data), "-U", "recollect", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        self.start()

    def close(self) -> None:
        """End the server and leave its data."""
        self._end("SIGINT")
        shutil.rmtree(self.folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


@contextmanager
def running() -> Iterator[str]:
    """Give the address of a server: that of `RECOLLECT_TEST_PG`, or one of our own."""
    given = os.environ.get("RECOLLECT_TEST_PG")
    if given:
        yield given
        return
    server = KeptServer(HOME / "server" / "data")
    try:
        yield server.url()
    finally:
        server.close()


def database(server: str, name: str, *, fresh: bool = False) -> str:
    """Return the address of the database *name*, made where it is missing, or made anew."""
    made = sql.Identifier(name)
    with psycopg.connect(server, autocommit=True) as db:
        if fresh:
            db.execute(sql.SQL("drop database if exists {} with (force)").format(made))
        if db.execute("select 1 from pg_database where datname = %s", (name,)).fetchone() is None:
            db.execute(sql.SQL("create database {} template template0").format(made))
    begin, _, options = server.partition("?")
    return f"{begin.rpartition('/')[0]}/{name}{'?' if options else ''}{options}"


def computed(address: str) -> float:
    """Return how many milliseconds the connections of the database at *address* have computed, where that is known."""
    with psycopg.connect(address, autocommit=True) as db:
        mine = db.info.backend_pid
        rows = db.execute("select pid from pg_stat_activity where datname = current_database()").fetchall()
    files = (Path(f"/proc/{pid}/stat") for (pid,) in rows if pid != mine)
    return sum(_ticks(file) for file in files if file.exists()) * 1000 / os.sysconf("SC_CLK_TCK")


def _ticks(file: Path) -> int:
    fields = file.read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
