"""The directory of a store that is spread over shards: which there are, and on which of them each project lives.

A shard is a schema with a store in it, on any server. A project lives on one shard from its first write on, and stays
there: whoever knows its place need not ask again, and goes on where the directory cannot be reached.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from psycopg.conninfo import conninfo_to_dict

from recollect.errors import InputError, StoreError
from recollect.stores.postgres.address import Address, read_address
from recollect.stores.postgres.engine import DIRECTORY, PostgresEngine
from recollect.stores.sql.engine import Session

MOST: Final = 256
"""How many shards a store has at most: a process keeps every one open that it was asked for."""
SECRET: Final = ("password", "sslpassword")
"""What an address may not tell a directory."""
COLUMNS: Final = "number, name, address, open"
FEWEST: Final = (
    "insert into placement (project, shard) select ?, s.number from shard s where s.open "
    "order by (select count(*) from placement p where p.shard = s.number), s.number limit 1 on conflict do nothing"
)


class Shard(Struct, frozen=True, kw_only=True):
    """One shard: its name, its address without a password, whether new projects are placed there."""

    number: int
    name: str
    address: str
    open: bool


class Directory:
    """Shards and placements, in a schema of their own."""

    def __init__(self, address: Address) -> None:
        self.engine = PostgresEngine(replace(address, schema=address.directory, reads="primary"), layout=DIRECTORY)

    def shards(self) -> tuple[Shard, ...]:
        """Return every shard, the oldest first."""
        with self.engine.session() as session:
            return _shards(session, "true order by number")

    def placements(self) -> dict[int, tuple[str, ...]]:
        """Return the projects of each shard, by its number and by name."""
        placed: dict[int, list[str]] = {}
        with self.engine.session() as session:
            for number, project in session.rows("select shard, project from placement order by project"):
                placed.setdefault(number, []).append(project)
        return {number: tuple(names) for number, names in placed.items()}

    def find(self, project: str) -> Shard | None:
        """Return where *project* lives; None where nobody has placed it."""
        with self.engine.session() as session:
            return _home(session, project)

    def place(self, project: str, name: str | None = None) -> Shard:
        """Return where *project* lives; a new one is placed on the shard *name*, or on the one with the fewest.

        Whoever else places it at the same time gets the same answer.
        """
        with self.engine.session(write=True) as session:
            if name is None:
                session.rows(FEWEST, (project,))
            else:
                number = _named(session, name).number
                session.rows(
                    "insert into placement (project, shard) values (?, ?) on conflict do nothing", (project, number)
                )
            home = _home(session, project)
        if home is None:
            raise StoreError(
                "no shard takes new projects", hint="add one, or open one: recollect shards add NAME ADDRESS"
            )
        if name not in (None, home.name):
            raise InputError(f"{project} lives on the shard {home.name}", hint="a project stays where it was placed")
        return home

    def add(self, name: str, address: str, *, store: str, projects: tuple[str, ...]) -> Shard:
        """List the schema at *address*, whose *store* is called so, with the *projects* that it holds already.

        A shard that is added again under its name is found at *address* from now on: its server has moved.
        """
        with self.engine.session(write=True) as session:
            known = _shards(session, "name = ? or store = ?", (name, store))
            if known and known == _shards(session, "name = ? and store = ?", (name, store)):
                session.rows("update shard set address = ? where name = ?", (address, name))
                return _named(session, name)
            if known:
                raise InputError(f"that schema or that name is the shard {known[0].name}", hint="recollect shards")
            if session.value("select count(*) from shard") >= MOST:
                raise InputError(f"a store has at most {MOST} shards", hint="place more projects on each")
            sql = "insert into shard (name, address, store) values (?, ?, ?) returning number"
            number = session.value(sql, (name, address, store))
            for project in projects:
                home = _home(session, project)
                if home is not None:
                    raise InputError(
                        f"both that schema and the shard {home.name} hold the project {project}",
                        hint="a project lives on one shard: purge it from the other",
                    )
            rows = [(project, number) for project in projects]
            session.many("insert into placement (project, shard) values (?, ?)", rows)
            return _named(session, name)

    def let(self, name: str, *, take: bool) -> Shard:
        """Let the shard *name* *take* new projects, or no more of them."""
        with self.engine.session(write=True) as session:
            session.rows("update shard set open = ? where name = ?", (take, name))
            return _named(session, name)


def require_no_secret(address: str) -> None:
    """Refuse an address that tells a password, and one that is no schema's."""
    told = read_address(address)
    if told.directory:
        raise InputError("a shard is a schema, and no directory", hint="name it: ?schema=NAME")
    if any(conninfo_to_dict(told.server).get(each) for each in SECRET):
        raise InputError(
            "a directory keeps no passwords", hint="leave it out; each machine has it in ~/.pgpass or PGPASSWORD"
        )


def _shards(session: Session, where: str, values: tuple[object, ...] = ()) -> tuple[Shard, ...]:
    rows = session.rows(f"select {COLUMNS} from shard where {where}", values)
    return tuple(Shard(number=row[0], name=row[1], address=row[2], open=row[3]) for row in rows)


def _named(session: Session, name: str) -> Shard:
    found = _shards(session, "name = ?", (name,))
    if not found:
        raise InputError(f"no shard is called {name}", hint="see: recollect shards")
    return found[0]


def _home(session: Session, project: str) -> Shard | None:
    found = _shards(session, "number = (select p.shard from placement p where p.project = ?)", (project,))
    return found[0] if found else None
