"""The verb for tokens: who may use a server of this store, and for what."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

from recollect.errors import InputError
from recollect.recollection import Recollection
from recollect.records import Progress
from recollect.surfaces.serialise import serialise
from recollect.surfaces.table import Answer, Given, Parameter, action_of, listed, operation
from recollect.upkeep.tokens import Token

_UNITS: Final[Mapping[str, float]] = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def seconds_of(text: str) -> float:
    """Return how many seconds *text* is: 30s, 15m, 12h, 30d, 2w."""
    number, unit = text.strip()[:-1], text.strip()[-1:].lower()
    try:
        seconds = float(number) * _UNITS[unit]
    except (ValueError, KeyError) as error:
        raise InputError(f"{text!r} is not a length of time", hint="such as 30s, 15m, 12h, 30d") from error
    if not 0 < seconds < 1e10:
        raise InputError(f"{text!r} is not a length of time", hint="such as 30s, 15m, 12h, 30d")
    return seconds


def _create(db: Recollection, given: Given) -> Answer:
    expires = given.get("expires")
    made = db.create_token(
        name=given.get("name"),
        project=given.get("project"),
        read_only=bool(given.get("read_only")),
        trust=given["trust"],
        lifetime=None if expires is None else timedelta(seconds=seconds_of(expires)),
    )
    text = f"{made.secret}\nKept as a digest only: this is the one time that it is shown.\n{token_line(made.token)}"
    return Answer(value={"secret": made.secret, **serialise(made.token)}, text=lambda: text)


def _list(db: Recollection, _: Given) -> Answer:
    found = db.tokens()
    return listed(found, token_line, empty="No tokens.", tokens=found)


def _revoke(db: Recollection, given: Given) -> Answer:
    name = given.get("name")
    if not name:
        raise InputError("say which token", hint="see: recollect token list")
    db.revoke_token(name)
    return Answer(value={"name": name, "revoked": True}, text=lambda: f"{name} is revoked")


def token_line(token: Token) -> str:
    """Return a token in one line: its name, its project, what it may do, when it expires."""
    until = f"expires {token.expires_at:%Y-%m-%d %H:%M} UTC" if token.expires_at else "never expires"
    rights = "read-only" if token.read_only else f"read and write as {token.trust}"
    return f"{token.name}  {token.project or 'all projects'}  {rights}  {until}"


ACTIONS: Final[Mapping[str, Callable[[Recollection, Given], Answer]]] = {
    "create": _create,
    "list": _list,
    "revoke": _revoke,
}


@operation(
    action_of(ACTIONS),
    Parameter(name="name", place=True, optional=True, about="the name of the token"),
    Parameter(name="project", about="the one project that it sees and writes to (all)"),
    Parameter(name="read_only", kind="flag", about="it may read and not write"),
    Parameter(
        name="trust",
        kind="choice",
        choices=("owner", "agent", "untrusted"),
        default="agent",
        about="whose word it writes (agent)",
    ),
    Parameter(name="expires", about="how long until it expires: 12h, 30d, … (never)"),
    group="agents",
    makes=True,
)
def token(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Create, list or revoke tokens for a server of this store."""
    return ACTIONS[given["action"]](db, given)
