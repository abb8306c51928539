"""What every store can do. Nothing is optional; one suite (tests/conformance) tests them all.

A store keeps memories and finds them by word. It ranks by FTS5's BM25 with N, df and the average
length of the projects searched, ties by id, so the same history gives the same answers everywhere.
Soft-deleted memories answer `load`, `history`, questions about a moment at which they were still there
(`Where.as_of`), and nothing else. Such a question reads the tokens of what was forgotten since then anew,
and counts them in; the words of a memory are always those of today, because an edit is a correction:
a belief changes when another memory supersedes it.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from recollect.errors import InputError, UnknownMemory
from recollect.records import (
    EmbeddedMemory,
    Event,
    Fact,
    Filter,
    Form,
    Generation,
    Known,
    Memory,
    Page,
    Piece,
    Recall,
    Scope,
    StoreStats,
    TokenizedMemory,
    VectorHits,
    WordHits,
    WordQuery,
    Write,
)

Analyse = Callable[[Memory, Sequence[str]], TokenizedMemory]
"""How a memory and its other wordings become tokens; a store is opened with one."""


ALIKE = 20
"""How many near-duplicates a store names for one sketch, at most."""


def unknown(row: int) -> UnknownMemory:
    """Return the error for an id nobody has."""
    return UnknownMemory(f"no memory has the id {row}", hint="see: recollect list")


def unknown_fact(row: int) -> UnknownMemory:
    """Return the error for a fact id nobody has."""
    return UnknownMemory(f"no fact has the id {row}", hint="see: recollect facts")


def taken(memory: Memory) -> InputError:
    """Return the error for an external id that names another memory already."""
    return InputError(
        f"the external id {memory.external_id!r} is taken in project {memory.project!r}",
        hint="update that memory instead",
    )


def too_wide(vector: bytes, generation: Generation) -> InputError:
    """Return the error for a vector that does not fit its generation."""
    return InputError(
        f"a vector has {len(vector) // 4} dimensions, this model's have {generation.dimensions}",
        hint="is this the same model? run: recollect model list",
    )


class Store(Protocol):
    """One place where memories live."""

    def transaction(self) -> AbstractContextManager[None]:
        """Hold the only pen: what is read inside stays true until the end, and all is written or none."""
        ...

    def apply(self, writes: Sequence[Write], *, at: datetime) -> tuple[int, ...]:
        """Do *writes*, all or none, each leaving an event; return the id each one touched.

        Durable and findable by word when it returns. An unknown id raises UnknownMemory. A memory that is given
        a successor is superseded since then; a fact is confirmed now. What brings such a date keeps it.
        """
        ...

    def load(self, ids: Sequence[int], *, scope: Scope) -> dict[int, Memory]:
        """Return the memories of *ids* that exist in *scope*, forgotten ones too."""
        ...

    def wordings(self, ids: Sequence[int], *, scope: Scope) -> dict[int, tuple[str, ...]]:
        """Return the other wordings merged into each of *ids*, oldest first; ids without any are absent."""
        ...

    def history(self, ids: Sequence[int], *, scope: Scope) -> dict[int, tuple[Event, ...]]:
        """Return the events of each of *ids*, oldest first."""
        ...

    def facts(self, ids: Sequence[int], *, scope: Scope) -> dict[int, tuple[Fact, ...]]:
        """Return what each of *ids* states, by fact id; memories that are forgotten or state nothing are absent."""
        ...

    def find_facts(
        self, *, scope: Scope, subject: str | None = None, types: tuple[str, ...] | None = None, limit: int
    ) -> tuple[Fact, ...]:
        """Return the facts about *subject* (in any case) of these *types*, the newest first.

        Those of forgotten and superseded memories are left out; None leaves open, no types match nothing.
        """
        ...

    def known(self, project: str, *, digests: Sequence[bytes], external_ids: Sequence[str]) -> Known:
        """Return which contents (live ones) and which external ids (forgotten ones too) *project* holds."""
        ...

    def alike(self, project: str, minhashes: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        """Return, for each sketch, the live memories of *project* sharing a key with it, by id, at most 20."""
        ...

    def match_words(
        self, keywords: WordQuery, *, scope: Scope, where: Filter, limit: int, also: Sequence[int] = ()
    ) -> WordHits:
        """Return the best *limit* memories for *keywords* and the scores of *also* that match."""
        ...

    def match_text(
        self, needles: Sequence[str], *, scope: Scope, where: Filter, limit: int
    ) -> tuple[tuple[int, int], ...]:
        """Return (id, how many needles its title and text hold), most first, then by id.

        Needles are lower case; only ASCII letters match in either case, as LIKE has it.
        """
        ...

    def browse(self, *, scope: Scope, where: Filter, limit: int, offset: int = 0) -> Page:
        """Return memories newest first (`Memory.when`, then id)."""
        ...

    def vocabulary(self, *, scope: Scope, form: Form = "exact", least: int = 1, limit: int = 200_000) -> dict[str, int]:
        """Return the tokens of two characters or more and how many live memories hold each in title or body.

        Those in fewer than *least* memories are left out; the most frequent come first, then by token.
        """
        ...

    def spread(self, words: Sequence[str], *, scope: Scope, form: Form = "exact") -> dict[str, int]:
        """Return how many live memories hold each of these tokens in title or body: 0 for one that none holds."""
        ...

    def facets(self, *, keywords: WordQuery | None, scope: Scope, where: Filter) -> dict[str, dict[str, int]]:
        """Count the whole match set, or all that *where* admits, by what can be filtered by.

        By type, tag, project, source, kind, fact_type (once for each memory) and month ("2026-05", in UTC);
        the most frequent first, then by name.
        """
        ...

    def generations(self, *, scope: Scope) -> tuple[Generation, ...]:
        """Return the generations of vectors, newest first, counted within *scope*."""
        ...

    def pending(self, fingerprint: str, *, after: int, limit: int) -> tuple[int, ...]:
        """Return live memories above id *after* that have no vectors of this generation, by id."""
        ...

    def put_vectors(self, generation: Generation, embedded: Sequence[EmbeddedMemory]) -> int:
        """Keep vectors in place of older ones of the same generation; return how many memories took theirs.

        A memory that changed since, or is gone, takes none. A vector of another width is refused.
        """
        ...

    def drop_vectors(self, fingerprint: str) -> int:
        """Drop a generation; return of how many memories."""
        ...

    def nearest(
        self,
        fingerprint: str,
        vector: bytes,
        *,
        scope: Scope,
        where: Filter,
        limit: int,
        also: Sequence[int] = (),
        unless: str | None = None,
        blend: tuple[float, ...] = (),
    ) -> VectorHits:
        """Return the memories whose best passage is nearest to *vector*, ties by id, and the cosines of *also*.

        *blend* mixes into each turn of a conversation so much of the turn before, after, second before and
        second after; what is stored stays as it was made.

        Memories that have vectors of the generation *unless* are left to it.
        """
        ...

    def kin(self, fingerprint: str, ids: Sequence[int], *, scope: Scope, most: int) -> dict[int, dict[int, float]]:
        """Return for each of *ids* the *most* others among them nearest to it, nearest first, with their cosines.

        The first passage speaks for a memory; one without a vector of this generation, or outside *scope*, is
        nobody's kin.
        """
        ...

    def put_note(self, kind: str, name: str, value: Mapping[str, object]) -> None:
        """Keep a small JSON value under a name, in place of one that had it.

        Notes are no memories: they belong to no project, and `version` does not grow with them.
        """
        ...

    def notes(self, kind: str) -> dict[str, Mapping[str, Any]]:
        """Return the notes of a kind, by name."""
        ...

    def drop_note(self, kind: str, name: str) -> bool:
        """Drop a note; return whether there was one."""
        ...

    def log_recall(self, recalled: Sequence[Recall]) -> None:
        """Keep what was recalled. Nothing else is touched: `version` does not grow, memories get no event.

        The last of the log may be lost with the power; what was written before it is not.
        """
        ...

    def recalls(
        self,
        *,
        scope: Scope,
        session: str | None = None,
        memory_id: int | None = None,
        fact_id: int | None = None,
        limit: int = 100,
    ) -> tuple[Recall, ...]:
        """Return the recalls of a session, that hit a memory, that used a fact; the last logged first.

        A reader sees the searches that were made within *scope*, and no search that could see more.
        """
        ...

    def recall_counts(self, *, scope: Scope) -> dict[int, tuple[int, int]]:
        """Return how often each live memory was shown and nearly shown; those never recalled are absent."""
        ...

    def unanswered(self, *, scope: Scope, limit: int) -> tuple[tuple[str, int], ...]:
        """Return the queries whose outcome was none and how often, most often first, then by query."""
        ...

    def feedback_counts(self, *, scope: Scope) -> dict[int, dict[str, int]]:
        """Return how often each verdict was given on each live memory; those without any are absent."""
        ...

    def sources(self, *, below: str) -> dict[str, str]:
        """Return each imported source at or below the folder *below*, with the fingerprint of its file."""
        ...

    def pieces(self, source: str) -> tuple[Piece, ...]:
        """Return what was imported from *source*, in the order of the file."""
        ...

    def record_source(self, source: str, *, fingerprint: str, pieces: Sequence[Piece]) -> None:
        """Remember that *source* now consists of *pieces*; no pieces means it is gone."""
        ...

    def tally(self, *, scope: Scope) -> StoreStats:
        """Count what is here."""
        ...

    def version(self) -> int:
        """Return a number that grows with every write of memories, facts, vectors or sources, from any process."""
        ...

    def check(self) -> tuple[str, ...]:
        """Return what is wrong, one line each; nothing when all is well."""
        ...

    def rebuild(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Make every derived index anew from the memories; return how many were indexed."""
        ...

    def close(self) -> None:
        """Let go of everything held."""
        ...
