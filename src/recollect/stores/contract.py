"""What every store can do. Nothing is optional; one suite (tests/conformance) tests them all.

A store keeps memories and finds them by word. It ranks by FTS5's BM25 with N, df and the average
length of the projects searched, ties by id, so the same history gives the same answers everywhere.
Soft-deleted memories answer `load`, `history` and nothing else.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from recollect.errors import InputError, UnknownMemory
from recollect.records import (
    NEVER,
    Embedded,
    Event,
    Generation,
    Keywords,
    Known,
    Matches,
    Memory,
    Nears,
    Page,
    Piece,
    Scope,
    Tally,
    Terms,
    Where,
    Write,
)

Analyse = Callable[[Memory, Sequence[str]], Terms]
"""How a memory and its other wordings become tokens; a store is opened with one."""


ALIKE = 20
"""How many near-duplicates a store names for one sketch, at most."""


def unknown(row: int) -> UnknownMemory:
    """Return the error for an id nobody has."""
    return UnknownMemory(f"no memory has the id {row}", hint="see: recollect list")


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


def born(memory: Memory, at: datetime) -> datetime:
    """Return when *memory* was first written down: now, unless it brings its date from another store."""
    return at if memory.created_at == NEVER else memory.created_at


class Store(Protocol):
    """One place where memories live."""

    def transaction(self) -> AbstractContextManager[None]:
        """Hold the only pen: what is read inside stays true until the end, and all is written or none."""
        ...

    def apply(self, writes: Sequence[Write], *, at: datetime) -> tuple[int, ...]:
        """Do *writes*, all or none, each leaving an event; return the id each one touched.

        Durable and findable by word when it returns. An unknown id raises UnknownMemory.
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

    def known(self, project: str, *, digests: Sequence[bytes], external_ids: Sequence[str]) -> Known:
        """Return which contents (live ones) and which external ids (forgotten ones too) *project* holds."""
        ...

    def alike(self, project: str, sketches: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        """Return, for each sketch, the live memories of *project* sharing a key with it, by id, at most 20."""
        ...

    def match_words(
        self, keywords: Keywords, *, scope: Scope, where: Where, limit: int, also: Sequence[int] = ()
    ) -> Matches:
        """Return the best *limit* memories for *keywords* and the scores of *also* that match."""
        ...

    def match_text(
        self, needles: Sequence[str], *, scope: Scope, where: Where, limit: int
    ) -> tuple[tuple[int, int], ...]:
        """Return (id, how many needles its title and text hold), most first, then by id.

        Needles are lower case; only ASCII letters match in either case, as LIKE has it.
        """
        ...

    def browse(self, *, scope: Scope, where: Where, limit: int, offset: int = 0) -> Page:
        """Return memories newest first (`Memory.when`, then id)."""
        ...

    def generations(self, *, scope: Scope) -> tuple[Generation, ...]:
        """Return the generations of vectors, newest first, counted within *scope*."""
        ...

    def pending(self, fingerprint: str, *, after: int, limit: int) -> tuple[int, ...]:
        """Return live memories above id *after* that have no vectors of this generation, by id."""
        ...

    def put_vectors(self, generation: Generation, embedded: Sequence[Embedded]) -> int:
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
        where: Where,
        limit: int,
        also: Sequence[int] = (),
        unless: str | None = None,
        blend: tuple[float, ...] = (),
    ) -> Nears:
        """Return the memories whose best passage is nearest to *vector*, ties by id, and the cosines of *also*.

        *blend* mixes into each turn of a conversation so much of the turn before, after, second before and
        second after; what is stored stays as it was made.

        Memories that have vectors of the generation *unless* are left to it.
        """
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

    def tally(self, *, scope: Scope) -> Tally:
        """Count what is here."""
        ...

    def version(self) -> int:
        """Return a number that grows with every write, from any process."""
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
