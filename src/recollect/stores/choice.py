"""Which store an address names; only that one is loaded."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import InputError
from recollect.records import Moved, Progress, Recovery
from recollect.stores.contract import Analyse, Store

if TYPE_CHECKING:
    from recollect.stores.sql.engine import Engine

IN_MEMORY = ":memory:"


def is_store_file(path: Path) -> bool:
    """Tell whether the file at *path* is a store of ours, by how it begins."""
    from recollect.stores.sqlite.copies import is_ours  # noqa: PLC0415

    return is_ours(path)


def find_names(address: str, kind: str, *, begins: str = "", project: str = "") -> tuple[tuple[str, str], ...]:
    """Return names of a *kind* that the store at *address* holds, for a shell that completes them; none is made."""
    if "://" in address:
        return ()  # a shell waits for no server
    from recollect.stores.sqlite.names import find_names as find  # noqa: PLC0415

    return find(Path(address).expanduser(), kind, begins=begins, project=project)


def open_store(address: str, analyse: Analyse, *, analyser: int = 0, cache: Path | None = None) -> Store:
    """Return the store that *address* names: a path, `:memory:`, or `postgresql://…`.

    *analyser* is the version of *analyse*; a store whose word index was made by an older one rebuilds it.
    """
    if is_postgres(address):
        return _open_postgres(address, analyse, analyser, cache)
    if "://" in address:
        raise _unknown(address)
    from recollect.stores.sqlite import open_sqlite  # noqa: PLC0415

    path = None if address == IN_MEMORY else Path(address).expanduser()
    return open_sqlite(path, analyse, analyser=analyser)


def is_postgres(address: str) -> bool:
    """Tell whether *address* is that of a PostgreSQL server."""
    if address.startswith(("postgresql:", "postgres:")) and "://" not in address:
        raise InputError(
            "the address of the PostgreSQL store lacks a slash", hint="such as postgresql://user@host/name"
        )
    return address.startswith(("postgresql://", "postgres://"))


def shown_address(address: str) -> str:
    """Return *address* as it may be shown: that of a server without its password, and without what else is secret."""
    scheme, sign, rest = address.partition("://")
    if not sign:
        return address
    place, _, query = rest.partition("?")
    if "@" in query:
        return f"{scheme}://…"  # who knows what belongs to the password
    user, at, where = place.rpartition("@")
    kept = [each for each in query.split("&") if each.partition("=")[0] in SHOWN]
    return f"{scheme}://{user.partition(':')[0]}{at}{where}{'?' if kept else ''}{'&'.join(kept)}"


SHOWN = frozenset({"host", "hostaddr", "port", "dbname", "user", "schema", "target_session_attrs"})
"""What is shown of the parameters of an address."""


def _open_postgres(address: str, analyse: Analyse, analyser: int, cache: Path | None) -> Store:
    try:
        from recollect.stores.postgres import open_postgres  # noqa: PLC0415
    except ImportError as error:
        raise _not_installed(error) from error
    return open_postgres(address, analyse, analyser=analyser, cache=cache)


def _not_installed(error: ImportError) -> InputError:
    return InputError(
        f"what speaks to PostgreSQL is not installed: {error}", hint="run: pip install 'recollect[postgres]'"
    )


def move_store(old: str, new: str, analyse: Analyse, *, analyser: int = 0, progress: Progress | None = None) -> Moved:
    """Copy the store at *old* into an empty one at *new*, row by row, or go on where an earlier try was stopped."""
    from recollect.stores.moving import move  # noqa: PLC0415

    if IN_MEMORY in (old, new):
        raise InputError("a store in memory cannot be moved", hint="name files, or addresses of PostgreSQL")
    with closing(_engine(old, new=False)) as source, closing(_engine(new, new=True, unlike=old)) as target:
        done = move(source, target, progress)
    open_store(new, analyse, analyser=analyser).close()  # which makes its index
    return done


def _engine(address: str, *, new: bool, unlike: str = "") -> "Engine":
    """Return the database at *address*; what is not *new* must be there already."""
    if is_postgres(address):
        try:
            from recollect.stores.postgres import engine_to_move  # noqa: PLC0415
        except ImportError as error:
            raise _not_installed(error) from error
        return engine_to_move(address, makes=new)
    if "://" in address:
        raise _unknown(address)
    from recollect.stores.sqlite.engine import SqliteEngine  # noqa: PLC0415

    path = Path(address).expanduser()
    if not new and not path.exists():
        raise InputError(f"there is no store {address}", hint="check the path")
    if unlike and path.exists() and "://" not in unlike and path.samefile(Path(unlike).expanduser()):
        raise InputError("both addresses are of one store", hint="name an empty store")
    return SqliteEngine(path)


def _unknown(address: str) -> InputError:
    told = shown_address(address)
    return InputError(f"no store is known for {told}", hint="name a file, :memory:, or postgresql://…")


def recover_store(old: str, new: str, analyse: Analyse, *, analyser: int = 0) -> Recovery:
    """Save what can be read of the store at *old* into a new one at *new*."""
    for address in (old, new):
        if "://" in address or address == IN_MEMORY:
            raise InputError(
                f"{shown_address(address)} is no file", hint="name the damaged store first, then a new file"
            )
    from recollect.stores.sqlite import open_sqlite  # noqa: PLC0415
    from recollect.stores.sqlite.recover import recover  # noqa: PLC0415

    def build(path: Path) -> None:
        open_sqlite(path, analyse, analyser=analyser).close()

    return recover(Path(old).expanduser(), Path(new).expanduser(), build)
