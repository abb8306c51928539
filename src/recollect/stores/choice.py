"""Which store an address names; only that one is loaded."""

from pathlib import Path

from recollect.errors import InputError
from recollect.stores.contract import Analyse, Store

IN_MEMORY = ":memory:"


def open_store(address: str, analyse: Analyse) -> Store:
    """Return the store that *address* names: a path, or `:memory:`."""
    if address == IN_MEMORY:
        from recollect.stores.ram import RamStore  # noqa: PLC0415

        return RamStore(analyse)
    if "://" in address:
        raise InputError(f"no store is known for {address}", hint="name a file, or :memory:")
    from recollect.stores.sqlite import SqliteStore  # noqa: PLC0415

    return SqliteStore(Path(address).expanduser(), analyse)
