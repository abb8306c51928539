"""Who may do what through a server: each operation of the table is read, written, or only done on one's own machine."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from recollect.surfaces.table import Operation, Parameter

Access = Literal["read", "write", "local"]

ACCESS: Final[Mapping[Access, str]] = {
    "read": "search decisions changes how-it-works why related inject brief show list timeline facts stale conflicts "
    "log lens stats doctor export activity review",
    "write": "add capture forget restore pin supersede feedback reinforce consolidate edit tag embed reindex purge",
    "local": "import roots watch open init shards backup restore-backup move recover model eval tune token",
}
"""What names files of the caller's machine, takes long, or rules over the server itself is local: no door offers it."""

LOCAL_PARAMETERS: Final[Mapping[str, frozenset[str]]] = {
    "export": frozenset({"path"}),
    "purge": frozenset({"verify", "trace"}),
}
"""What only makes sense on the machine of the store."""

TERMINAL: Final = frozenset({"format", "all"})
"""What only a terminal has a use for."""

WRITING_ACTIONS: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "lens": ("action", frozenset({"create", "drop"})),
    "log": ("report", frozenset({"prune"})),
    "review": ("action", frozenset({"done", "again"})),
}
"""Operations that read, but for some of their actions: the parameter that says so, and its values."""

CHANGES_ONE: Final = frozenset({"forget", "restore", "pin", "supersede", "edit", "tag"})
"""Operations that change memories by their ids: who is trusted less than who wrote one may not."""


_ACCESS_OF: Final[Mapping[str, Access]] = {name: access for access, names in ACCESS.items() for name in names.split()}


def access_of(operation: Operation) -> Access:
    """Return what it takes to do *operation*; what nobody has classed is local."""
    return _ACCESS_OF.get(operation.name, "local")


def is_writing(operation: Operation, values: Mapping[str, Any]) -> bool:
    """Tell whether what is asked changes the store."""
    if access_of(operation) == "write":
        return not values.get("dry_run")
    name, actions = WRITING_ACTIONS.get(operation.name, ("", frozenset()))
    return values.get(name) in actions


def parameters_of(operation: Operation) -> tuple[Parameter, ...]:
    """Return the parameters of *operation* that a server takes."""
    local = LOCAL_PARAMETERS.get(operation.name, frozenset()) | TERMINAL
    return tuple(each for each in operation.parameters if each.name not in local)
