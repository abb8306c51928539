"""Rights: who may do an operation through a server, and what it touches. Each operation declares its own.

An operation that declares nothing is `LOCAL`: no server offers it, so only the owner, at the machine, can do it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from recollect.records import Trust
from recollect.trust import TRUST_LEVELS, level

Touch = Literal["nothing", "session", "own", "named", "all"]
"""What an operation writes.

nothing  it only reads
session  the recall log and the ledger of the session that the request names; nothing if it names none
own      new words of the caller, trusted no further than the caller
named    the memories whose ids the request gives; the caller must be trusted as far as each of them
all      anything
"""
NO_EXCEPTIONS: Final[Mapping[str, Mapping[Any, "Rights"]]] = MappingProxyType({})


class Rights(Struct, frozen=True, kw_only=True):
    """What a caller needs for an operation, and what the operation touches."""

    trust: Trust | None
    """The least trusted caller that may do it; None if no server offers it."""
    touches: Touch
    spans_projects: bool = False
    """Whether it reads or changes more than one project: a caller bound to a project may not do it."""
    exceptions: Mapping[str, Mapping[Any, "Rights"]] = field(default_factory=lambda: NO_EXCEPTIONS)
    """Other rights for some values of some parameters, such as one action of several."""

    @property
    def is_offered(self) -> bool:
        """Whether a server offers the operation to anybody."""
        return self.trust is not None

    @property
    def always_writes(self) -> bool:
        """Whether the operation writes, whatever the request asks, unless it is a dry run."""
        return self.touches not in ("nothing", "session")

    def of(self, values: Mapping[str, Any]) -> "Rights":
        """Return the rights for a request with these *values*: the strictest of those that apply."""
        chosen = [self, *(each[values[name]] for name, each in self.exceptions.items() if values.get(name) in each)]
        return max(chosen, key=lambda each: len(TRUST_LEVELS) if each.trust is None else level(each.trust))

    def writes(self, values: Mapping[str, Any]) -> bool:
        """Return whether a request with these *values* changes the store."""
        touches = self.of(values).touches
        if touches == "session":
            return values.get("session") is not None
        return touches != "nothing" and not values.get("dry_run")

    def but(self, **exceptions: Mapping[Any, "Rights"]) -> "Rights":
        """Return these rights with *exceptions*: for each parameter, the values that have other rights."""
        return replace(self, exceptions=exceptions)


LOCAL: Final = Rights(trust=None, touches="all", spans_projects=True)
"""Only at the machine: it names files there, rules over the server, or nobody has declared its rights."""
READS: Final = Rights(trust="untrusted", touches="nothing")
LOGGED: Final = Rights(trust="untrusted", touches="session")
ADDS: Final = Rights(trust="untrusted", touches="own")
CHANGES: Final = Rights(trust="untrusted", touches="named")
OWNER_WRITES: Final = Rights(trust="owner", touches="all")
OWNER_CHECKS_ALL: Final = Rights(trust="owner", touches="nothing", spans_projects=True)
OWNER_WRITES_ALL: Final = Rights(trust="owner", touches="all", spans_projects=True)
KEEPING_SECRETS: Final[Mapping[Any, Rights]] = {True: Rights(trust="owner", touches="own")}
"""Storing what looks like a secret is a decision of the owner."""
