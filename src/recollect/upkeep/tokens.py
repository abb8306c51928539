"""Tokens: who may do what through a server. Kept as digests with the store; the token itself is shown once."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from msgspec import Struct

from recollect.errors import InputError, TokenError
from recollect.records import Trust
from recollect.stores.contract import Store
from recollect.text.dates import as_moment
from recollect.trust import level

KIND: Final = "token"
PREFIX: Final = "rct"
_WRONG: Final = "the token is not valid"
_HINT: Final = "make one: recollect token create"


class Token(Struct, frozen=True, kw_only=True):
    """What is known of a token: its name, which project it is bound to, what it may do, until when."""

    name: str
    project: str | None = None
    """The one project it sees and writes to; None for all."""
    read_only: bool = False
    trust: Trust = "agent"
    """How far what is written with it is trusted."""
    created_at: datetime
    expires_at: datetime | None = None

    def is_expired(self, now: datetime) -> bool:
        """Tell whether its time is over."""
        return self.expires_at is not None and now >= self.expires_at


class NewToken(Struct, frozen=True, kw_only=True):
    """A token that was made just now, and its secret, which is told this once."""

    json_members: ClassVar[str] = "secret *token"

    token: Token
    secret: str


def create_token(
    store: Store,
    *,
    now: datetime,
    name: str | None = None,
    project: str | None = None,
    read_only: bool = False,
    trust: Trust = "agent",
    lifetime: timedelta | None = None,
) -> NewToken:
    """Make a token and keep its digest."""
    level(trust)
    if lifetime is not None and lifetime <= timedelta(0):
        raise InputError("a token must last for some time", hint="such as 30d or 12h")
    called = name or secrets.token_hex(4)
    if not called.replace("-", "").replace("_", "").isalnum() or not called.isascii():
        raise InputError(f"a token cannot be called {called!r}", hint="use letters, digits, - and _")
    expires = None if lifetime is None else _end(now, lifetime)
    made = Token(name=called, project=project, read_only=read_only, trust=trust, created_at=now, expires_at=expires)
    secret = secrets.token_urlsafe(32)
    with store.transaction({""}):
        if called in store.notes(KIND):
            raise InputError(
                f"there is a token called {called!r}", hint=f"revoke it first: recollect token revoke {called}"
            )
        store.put_note(KIND, called, {**_kept(made), "digest": _digest(secret)})
    return NewToken(token=made, secret=f"{PREFIX}.{called}.{secret}")


def _end(now: datetime, lifetime: timedelta) -> datetime:
    try:
        return now + lifetime
    except OverflowError as error:
        raise InputError("a token cannot last so long", hint="leave it out for one without end") from error


def tokens(store: Store) -> tuple[Token, ...]:
    """Return every token, by name."""
    return tuple(_token(name, value) for name, value in sorted(store.notes(KIND).items()))


def revoke_token(store: Store, name: str) -> None:
    """Drop a token: from now on it opens nothing."""
    if not store.put_note(KIND, name, None):
        raise InputError(f"no token is called {name!r}", hint="see: recollect token list")


def verify_token(store: Store, given: str, *, now: datetime) -> Token:
    """Return the token that *given* is; refuse one that is wrong, expired or revoked, always in the same words."""
    prefix, _, rest = given.partition(".")
    name, _, secret = rest.partition(".")
    kept: Mapping[str, Any] = store.notes(KIND).get(name, {})
    right = hmac.compare_digest(str(kept.get("digest", "")), _digest(secret))
    if prefix != PREFIX or not right:
        raise TokenError(_WRONG, hint=_HINT)
    token = _token(name, kept)
    if token.is_expired(now):
        raise TokenError(_WRONG, hint=_HINT)
    return token


def _digest(secret: str) -> str:
    # 256 random bits need no slow hash: nobody can try them all.
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _kept(token: Token) -> dict[str, object]:
    return {
        "project": token.project,
        "read_only": token.read_only,
        "trust": token.trust,
        "created_at": token.created_at.isoformat(),
        "expires_at": token.expires_at and token.expires_at.isoformat(),
    }


def _token(name: str, kept: Mapping[str, Any]) -> Token:
    made = as_moment(kept["created_at"])
    if made is None:
        raise TokenError(_WRONG, hint=_HINT)
    return Token(
        name=name,
        project=kept["project"],
        read_only=bool(kept["read_only"]),
        trust=kept["trust"],
        created_at=made,
        expires_at=as_moment(kept["expires_at"]) if kept["expires_at"] else None,
    )
