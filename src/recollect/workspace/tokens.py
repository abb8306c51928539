"""Tokens: who may use a server of this store, and for what."""

from datetime import timedelta
from typing import TYPE_CHECKING

from recollect import upkeep
from recollect.arguments import guarded
from recollect.errors import InputError
from recollect.records import Trust

if TYPE_CHECKING:
    from recollect.workspace import Workspace


@guarded
class Tokens:
    """Tokens: who may use a server of this store, and for what."""

    def __init__(self, db: "Workspace") -> None:
        self._db = db

    def create(
        self,
        *,
        name: str | None = None,
        project: str | None = None,
        read_only: bool = False,
        trust: Trust = "agent",
        lifetime: timedelta | None = None,
    ) -> "upkeep.tokens.NewToken":
        """Make a token for a server of this store; its secret is told this once and kept as a digest.

        Example:
            >>> made = db.tokens.create(name="bot", read_only=True)
            >>> made.token.read_only, made.secret.startswith("rct.bot.")
            (True, True)
        """
        if self._db._named(name) != name:
            raise InputError("a token cannot be called by a secret", hint="its name is shown to everybody")
        return upkeep.tokens.create_token(
            self._db.store,
            now=self._db.now(),
            name=name,
            project=self._db._named(project) or self._db.project,
            read_only=read_only,
            trust=trust,
            lifetime=lifetime,
        )

    def list(self) -> "tuple[upkeep.tokens.Token, ...]":
        """Return the tokens for servers of this store, by name; in a project those of the project.

        Example:
            >>> made = db.tokens.create(name="bot")
            >>> [each.name for each in db.tokens.list()]
            ['bot']
        """
        held = upkeep.tokens.tokens(self._db.store)
        return tuple(each for each in held if self._db.project is None or each.project == self._db.project)

    def revoke(self, name: str) -> None:
        """Drop a token: from now on it opens nothing.

        Example:
            >>> made = db.tokens.create(name="bot")
            >>> db.tokens.revoke("bot")
            >>> db.tokens.list()
            ()
        """
        if name not in {each.name for each in self.list()}:
            raise InputError(f"no token is called {name!r}", hint="see: recollect token list")
        upkeep.tokens.revoke_token(self._db.store, name)
