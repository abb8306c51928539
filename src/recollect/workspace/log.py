"""The recall log: what was searched for, found and never used."""

from typing import TYPE_CHECKING

from recollect import recall, upkeep
from recollect.arguments import guarded
from recollect.filters import Moment, start_of
from recollect.records import Memory, Recall

if TYPE_CHECKING:
    from recollect.workspace import Workspace


@guarded
class Log:
    """The recall log: what was searched for, found and never used."""

    def __init__(self, db: "Workspace") -> None:
        self._db = db

    def recent(
        self, *, session: str | None = None, fact: int | None = None, memory: int | None = None, limit: int = 20
    ) -> tuple[Recall, ...]:
        """Return what was recalled, the last first: in one session, with one fact, of one memory, or at all.

        Example:
            >>> [(each.query, each.outcome) for each in db.log.recent(session="friday")]
            [('deploy', 'answered')]
        """
        self._db._log.flush()  # what was recalled until now belongs to it
        return self._db.store.recalls(
            scope=self._db.scope, session=self._db._named(session), fact_id=fact, memory_id=memory, limit=limit
        )

    def prompts(self, *, limit: int = 20) -> "tuple[recall.hook_log.Prompt, ...]":
        """Return what the last prompts of agents were given, and why; the newest last.

        Example:
            >>> db.log.prompts()
            ()
        """
        return recall.hook_log.last(self._db.store, limit, scope=self._db.scope)

    def never_recalled(self, *, limit: int | None = None) -> tuple[Memory, ...]:
        """Return the memories that no logged search has shown, the oldest first.

        Example:
            >>> [memory.id for memory in db.log.never_recalled()]
            [2, 3]
        """
        self._db._log.flush()  # what was recalled until now belongs to it
        return recall.log.never_recalled(
            self._db.store, scope=self._db.scope, limit=None if limit is None else max(0, limit)
        )

    def never_used(self) -> "tuple[recall.log.MemoryUse, ...]":
        """Return the memories that were shown three times or more and never used, most often shown first.

        Example:
            >>> db.log.never_used()
            ()
        """
        self._db._log.flush()  # what was recalled until now belongs to it
        return recall.log.never_used(self._db.store, scope=self._db.scope)

    def unanswered(self, *, limit: int = 20) -> tuple[tuple[str, int], ...]:
        """Return the logged queries that found nothing, and how often each was asked.

        Example:
            >>> db.search("dentist", session="friday", mode="keyword").outcome
            'none'
            >>> db.log.unanswered()
            (('dentist', 1),)
        """
        self._db._log.flush()  # what was recalled until now belongs to it
        return self._db.store.unanswered(scope=self._db.scope, limit=limit)

    def prune(self, *, older_than: Moment | None = None, max_size: float | None = None) -> int:
        """Drop searches from the recall log that are too old, or too many for *max_size* megabytes.

        By the settings when neither is given.

        Example:
            >>> db.log.prune(older_than="90d")
            0
        """
        self._db.flush()
        if older_than is None and max_size is None:
            return self._db.retention.prune(self._db.store, scope=self._db.scope, now=self._db.now())
        before, size = start_of(older_than, "older_than", now=self._db.now()), upkeep.purge.in_bytes(max_size)
        return self._db.store.prune_recalls(scope=self._db.scope, before=before, max_bytes=size)
