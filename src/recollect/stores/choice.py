"""Which store an address names; only that one is loaded."""

from pathlib import Path

from recollect.errors import InputError
from recollect.stores.contract import Analyse, Store

IN_MEMORY = ":memory:"


def is_store_file(path: Path) -> bool:
    """Tell whether the file at *path* is a store of ours, by how it begins."""
    from recollect.stores.sqlite.engine import is_ours  # noqa: PLC0415

    return is_ours(path)


def open_store(address: str, analyse: Analyse, *, analyser: str = "") -> Store:
    """Return the store that *address* names: a path, or `:memory:`.

    *analyser* names the version of *analyse*; a store whose word index was made by another one rebuilds it.
    """
    if "://" in address:
        raise InputError(f"no store is known for {address}", hint="name a file, or :memory:")
    from recollect.stores.sqlite import open_sqlite  # noqa: PLC0415

    path = None if address == IN_MEMORY else Path(address).expanduser()
    return open_sqlite(path, analyse, analyser=analyser)
