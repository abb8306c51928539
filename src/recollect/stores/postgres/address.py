"""The address of a store in PostgreSQL: what the driver reads of it, and what is ours."""

import re
from collections.abc import Mapping
from typing import Final

import psycopg
from msgspec import Struct
from psycopg.conninfo import conninfo_to_dict

from recollect.errors import InputError

SCHEMA: Final = "recollect"
"""Where the tables are, unless the address names another schema."""
SECONDS: Final = 60.0
"""How many seconds a statement may take, unless the address says; 0 means as long as it likes."""
CONNECTIONS: Final = 16
"""How many connections a process has at most, unless the address says."""
PATIENCE: Final = 10.0
"""How many seconds anybody waits for a server that can do what is asked, where an address names several."""
RESERVED: Final = ("pg_", "information_schema")
"""How schemas are called that belong to the server."""
LONGEST: Final = 86_400.0
MOST: Final = 1_000
EXAMPLE: Final = "such as postgresql://user@host/database?schema=recollect"


class Address(Struct, frozen=True, kw_only=True):
    """Where a store is: a server as the driver reads it, a schema, and the bounds that a process keeps there."""

    server: str
    schema: str = SCHEMA
    seconds: float = SECONDS
    connections: int = CONNECTIONS
    patience: float = 0.0

    @property
    def is_several(self) -> bool:
        """Tell whether it names several servers, of which the driver finds the one that takes writes."""
        told = conninfo_to_dict(self.server)
        return any("," in str(told.get(name, "")) for name in ("host", "hostaddr"))


def read_address(address: str) -> Address:
    """Return what *address* says; the fields of an Address among its parameters are ours."""
    head, mark, query = address.partition("?")
    told = [each.partition("=") for each in query.split("&") if each]
    ours = {name: value for name, _, value in told if name in Address.__struct_fields__ and name != "server"}
    rest = "&".join("".join(each) for each in told if each[0] not in ours)
    server = f"{head}{mark if rest else ''}{rest}"
    try:
        conninfo_to_dict(server)
    except psycopg.Error as error:  # what the driver says may quote the password
        hint = f"{EXAMPLE}; in a password @ : / ? % are written %40 %3A %2F %3F %25"
        raise InputError("the address of the PostgreSQL store cannot be read", hint=hint) from error
    patience = PATIENCE if Address(server=server).is_several else 0.0
    return Address(
        server=server,
        schema=_schema(ours.get("schema", SCHEMA)),
        seconds=_number(ours, "seconds", SECONDS, least=0.0, most=LONGEST),
        connections=int(_number(ours, "connections", CONNECTIONS, least=2, most=MOST)),
        patience=_number(ours, "patience", patience, least=0.0, most=LONGEST),
    )


def _schema(name: str) -> str:
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", name) or name.startswith(RESERVED):
        raise InputError(
            f"{name!r} cannot be a schema of ours", hint="use small letters, digits and _; pg_ is the server's own"
        )
    return name


def _number(told: Mapping[str, str], name: str, usual: float, *, least: float, most: float) -> float:
    try:
        number = float(told.get(name, usual))
    except ValueError:
        number = -1.0
    if not least <= number <= most:
        raise InputError(f"{name} of the address cannot be {told[name]!r}", hint=f"from {least:g} to {most:g}")
    return number
