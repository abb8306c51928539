"""The operation on tokens: who may use a server of this store, and for what."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final, Literal

from msgspec import Struct

from recollect import upkeep
from recollect.errors import InputError
from recollect.operations.answer import Answer, listed, operation
from recollect.operations.request import Call, Request
from recollect.parameters import about

if TYPE_CHECKING:  # a client of the server opens no store
    from recollect.workspace import Workspace

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


def token_line(token: "upkeep.tokens.Token") -> str:
    """Return a token in one line: its name, its project, what it may do, when it expires."""
    until = f"expires {token.expires_at:%Y-%m-%d %H:%M} UTC" if token.expires_at else "never expires"
    rights = "read-only" if token.read_only else f"read and write as {token.trust}"
    return f"{token.name}  {token.project or 'all projects'}  {rights}  {until}"


class TokenRequest(Request, group="agents", creates_store=True):
    """What to do with which token."""

    action: Annotated[Literal["create", "list", "revoke"], about("what to do (list)", place=1)] = "list"
    name: Annotated[str, about("the name of the token", place=2)] | None = None
    project: Annotated[str, about("the one project that it sees and writes to (all)")] | None = None
    read_only: Annotated[bool, about("it may read and not write")] = False
    trust: Annotated[Literal["owner", "agent", "untrusted"], about("whose word it writes (agent)")] = "agent"
    expires: Annotated[str, about("how long until it expires: 12h, 30d, … (never)")] | None = None


class TokenList(Struct, frozen=True, kw_only=True):
    """The tokens for servers of this store."""

    tokens: "tuple[upkeep.tokens.Token, ...]"


class RevokedToken(Struct, frozen=True, kw_only=True):
    """A token that is not valid any more."""

    name: str
    revoked: bool = True


@operation
def token(
    db: "Workspace", request: TokenRequest, _: Call
) -> "Answer[TokenList] | Answer[upkeep.tokens.NewToken] | Answer[RevokedToken]":
    """Create, list or revoke tokens for a server of this store."""
    if request.action == "list":
        found = db.tokens.list()
        return listed(TokenList(tokens=found), found, token_line, empty="No tokens.")
    if request.action == "create":
        return _created(db, request)
    name = request.name
    if not name:
        raise InputError("say which token", hint="see: recollect token list")
    db.tokens.revoke(name)
    return Answer(value=RevokedToken(name=name), text=lambda: f"{name} is revoked")


def _created(db: "Workspace", request: TokenRequest) -> "Answer[upkeep.tokens.NewToken]":
    expires = request.expires
    made = db.tokens.create(
        name=request.name,
        project=request.project,
        read_only=request.read_only,
        trust=request.trust,
        lifetime=None if expires is None else timedelta(seconds=seconds_of(expires)),
    )
    text = f"{made.secret}\nKept as a digest only: this is the one time that it is shown.\n{token_line(made.token)}"
    return Answer(value=made, text=lambda: text)
