"""Which store an address names; only that one is loaded."""

from pathlib import Path

from recollect.errors import InputError
from recollect.records import Recovery
from recollect.stores.contract import Analyse, Store

IN_MEMORY = ":memory:"


def is_store_file(path: Path) -> bool:
    """Tell whether the file at *path* is a store of ours, by how it begins."""
    from recollect.stores.sqlite.engine import is_ours  # noqa: PLC0415

    return is_ours(path)


def find_names(address: str, kind: str, *, begins: str = "", project: str = "") -> tuple[tuple[str, str], ...]:
    """Return names of a *kind* that the store at *address* holds, for a shell that completes them; none is made."""
    if "://" in address:
        return ()  # a shell waits for no server
    from recollect.stores.sqlite.names import find_names as find  # noqa: PLC0415

    return find(Path(address).expanduser(), kind, begins=begins, project=project)


def open_store(address: str, analyse: Analyse, *, analyser: str = "") -> Store:
    """Return the store that *address* names: a path, `:memory:`, or `postgresql://…`.

    *analyser* names the version of *analyse*; a store whose word index was made by another one rebuilds it.
    """
    if is_postgres(address):
        return _open_postgres(address, analyse, analyser)
    if "://" in address:
        raise InputError(f"no store is known for {address}", hint="name a file, :memory:, or postgresql://…")
    from recollect.stores.sqlite import open_sqlite  # noqa: PLC0415

    path = None if address == IN_MEMORY else Path(address).expanduser()
    return open_sqlite(path, analyse, analyser=analyser)


def is_postgres(address: str) -> bool:
    """Tell whether *address* is that of a PostgreSQL server."""
    return address.startswith(("postgresql://", "postgres://"))


def _open_postgres(address: str, analyse: Analyse, analyser: str) -> Store:
    try:
        from recollect.stores.postgres import open_postgres  # noqa: PLC0415
    except ImportError as error:
        raise InputError(
            f"what speaks to PostgreSQL is not installed: {error}", hint="run: pip install 'recollect[postgres]'"
        ) from error
    return open_postgres(address, analyse, analyser=analyser)


def recover_store(old: str, new: str, analyse: Analyse, *, analyser: str = "") -> Recovery:
    """Save what can be read of the store at *old* into a new one at *new*."""
    for address in (old, new):
        if "://" in address or address == IN_MEMORY:
            raise InputError(f"{address} is no file", hint="name the damaged store first, then a new file")
    from recollect.stores.sqlite import open_sqlite  # noqa: PLC0415
    from recollect.stores.sqlite.recover import recover  # noqa: PLC0415

    def build(path: Path) -> None:
        open_sqlite(path, analyse, analyser=analyser).close()

    return recover(Path(old).expanduser(), Path(new).expanduser(), build)
