"""What every store can do. Nothing is optional; one suite (tests/conformance) tests them all.

A store keeps memories and finds them by word and by vector. It ranks by BM25 (`bm25.py`) with N, df and the average
length of the projects searched, ties by id, so the same history gives the same answers everywhere.
Forgotten memories answer `load`, `history`, questions about a moment at which they were still there
(`Filter.as_of`), and nothing else. Such a question reads the tokens of what was forgotten since then anew,
and counts them in; the words of a memory are always those of today, because an edit is a correction:
a belief changes when another memory supersedes it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from recollect.errors import InputError, UnknownMemory
from recollect.records import (
    LEDGER,
    NO_FILTER,
    ByteSearch,
    Conversation,
    EmbeddedMemory,
    Erased,
    Event,
    Fact,
    FactQuery,
    Filter,
    Form,
    Generation,
    Known,
    Memory,
    NearWords,
    Outline,
    Page,
    Passage,
    Piece,
    Position,
    Progress,
    Recall,
    Scope,
    Source,
    SourceHead,
    StoreStats,
    SubstringQuery,
    TokenizedMemory,
    Traits,
    Usage,
    VectorHits,
    WordHits,
    WordQuery,
    Write,
)

Analyse = Callable[[Memory, Sequence[str]], TokenizedMemory]
"""How a memory and its other wordings become tokens; a store is opened with one."""


ALIKE = 20
"""How many near-duplicates a store names for one minhash, at most."""

ANSWERING = frozenset({"lens", "tuning"})
"""The kinds of notes that change answers, so that `version` grows with them."""


LEDGERS = frozenset({LEDGER})
"""The kinds of notes whose keys are ids of memories."""


NOTHING_CHANGED: Mapping[int, Piece | None] = MappingProxyType({})


def unknown(row: int) -> UnknownMemory:
    """Return the error for an id nobody has."""
    return UnknownMemory(f"no memory has the id {row}", hint="see: recollect list")


def unknown_fact(row: int) -> UnknownMemory:
    """Return the error for a fact id nobody has."""
    return UnknownMemory(f"no fact has the id {row}", hint="see: recollect facts")


def too_wide(vector: bytes, dimensions: int) -> InputError:
    """Return the error for a vector that does not fit its generation."""
    return InputError(
        f"a vector has {len(vector) // 4} dimensions, this model's have {dimensions}",
        hint="is this the same model? run: recollect model list",
    )


def unused_generations(generations: Sequence[Generation]) -> tuple[Generation, ...]:
    """Return those of *generations*, newest first, that a newer one has taken the place of in every memory."""
    made = [each for each in generations if not each.is_external]
    complete = next((at for at, each in enumerate(made) if each.pending == 0), len(made))
    return tuple(made[complete + 1 :])


class MemoryStore(Protocol):
    """Memories, what they state, and what became of them."""

    def apply(self, writes: Sequence[Write], *, at: datetime) -> tuple[int, ...]:
        """Do *writes*, all or none, each leaving an event; return the id each one touched.

        What is reinstated brings its events with it instead.

        Durable and findable by word when it returns. An unknown id raises UnknownMemory, an external id that
        another memory of the project and kind has InputError. A memory that is given a successor is superseded
        since then; a fact is confirmed now. What brings such a date keeps it.
        """
        ...

    def load(self, ids: Sequence[int], *, scope: Scope) -> dict[int, Memory]:
        """Return the memories of *ids* that exist in *scope*, forgotten ones too, in the order of *ids*."""
        ...

    def wordings(self, ids: Sequence[int], *, scope: Scope) -> dict[int, tuple[str, ...]]:
        """Return the other wordings merged into each of *ids*, oldest first; ids without any are absent."""
        ...

    def history(
        self, ids: Sequence[int], *, scope: Scope, verbs: Sequence[str] | None = None
    ) -> dict[int, tuple[Event, ...]]:
        """Return the events of each of *ids*, oldest first, or those of some *verbs*; ids without any are absent."""
        ...

    def facts(self, query: FactQuery, *, scope: Scope) -> tuple[Fact, ...]:
        """Return the facts that *query* asks for, the newest first."""
        ...

    def known(
        self,
        project: str,
        *,
        digests: Sequence[tuple[str, bytes]] = (),
        external_ids: Sequence[tuple[str, str]] = (),
        births: Sequence[tuple[str, datetime]] = (),
        minhashes: Sequence[Sequence[int]] = (),
    ) -> Known:
        """Return which (kind, digest), (kind, external id), (kind, created at) and what near each minhash is held.

        All within *project*: contents and minhashes of live memories, external ids and moments of creation of
        forgotten ones too; those of one moment by id, near ones by id and at most 20.
        """
        ...

    def browse(
        self,
        *,
        scope: Scope,
        where: Filter,
        limit: int,
        offset: int = 0,
        after: Position | None = None,
        among: Sequence[int] | None = None,
        count: bool = True,
    ) -> Page:
        """Return memories newest first (`Memory.when`, then id), of those *among* if given.

        The page begins *after* a position, if given; the total counts all memories all the same.
        Without *count* the total is the number of ids returned: enough to learn whether there are any.
        """
        ...

    def conversations(
        self, *, scope: Scope, where: Filter, limit: int, offset: int = 0, latest: bool = False
    ) -> tuple[Conversation, ...]:
        """Return conversations by when they began, then by their first id; the *latest* first if asked."""
        ...

    def stats(self, *, scope: Scope) -> StoreStats:
        """Count what is here."""
        ...

    def erase(self, *, scope: Scope, ids: Sequence[int] | None = None, where: Filter = NO_FILTER) -> Erased:
        """Take away what *ids* and *where* select of *scope*, forgotten or not, and all that speaks of it.

        Their wordings, events, facts, tokens, vectors and pieces go; so do searches in the log that found or quote
        one, wordings of others that were merged from one, and the words of one in the context and the events of
        others; names of sources and projects go when nothing else has them. What one of them superseded is
        superseded by what superseded that one, or by an id that nobody has. All or none; an unknown id raises
        UnknownMemory; an id is never given again. The bytes are overwritten by `scrub`.
        """
        ...


class WordIndex(Protocol):
    """Memories by their words, and what of them ranking looks at."""

    def match_words(
        self,
        query: WordQuery | SubstringQuery,
        *,
        scope: Scope,
        where: Filter,
        limit: int,
        score_ids: Sequence[int] = (),
    ) -> WordHits:
        """Return the best *limit* memories for *query*, ties by id, and the scores of those of *score_ids* that match.

        A damaged index is rebuilt first; where that cannot be done, a WordQuery raises WordIndexUnavailable.
        A SubstringQuery reads the memories themselves and needs no index.
        """
        ...

    def document_frequencies(
        self,
        *,
        scope: Scope,
        form: Form = "exact",
        words: Sequence[str] | None = None,
        least: int = 1,
        limit: int = 200_000,
    ) -> dict[str, int]:
        """Return how many live memories hold each of *words* in title or body: 0 for one that none holds.

        None asks for the whole vocabulary: the tokens of two characters or more in at least *least* memories,
        the *limit* most frequent, the most frequent first, then by token.
        """
        ...

    def near_words(self, words: Mapping[str, int], *, scope: Scope, holding: Sequence[str] = ()) -> NearWords:
        """Return the exact forms near each of *words*, and those that hold one of the parts *holding*, and more.

        Near is what begins with the same character and lies as many edits away as *words* says, or fewer: letters
        put in, left out, replaced, or two neighbours swapped (optimal string alignment). Only forms of letters alone,
        two or more, in title or body of live memories count. The nearest come first, then the most frequent, then
        by text. *tokens* counts the exact forms of the scope in every field, each time they stand.
        """
        ...

    def traits(self, ids: Sequence[int], *, scope: Scope) -> dict[int, Traits]:
        """Return the traits of the memories that `load` would return, in the same order; a blank thread is none.

        The confidence is the one for ranking: at most as far as the writer is trusted.
        """
        ...

    def outlines(self, ids: Sequence[int], *, scope: Scope) -> dict[int, Outline]:
        """Return the outlines of the memories that `load` would return, in the same order."""
        ...

    def load_with_events(
        self, ids: Sequence[int], *, scope: Scope, verbs: Sequence[str]
    ) -> tuple[dict[int, Memory], dict[int, tuple[Event, ...]]]:
        """Return what `load` returns of *ids*, and of what `history` returns the events with details, at one go."""
        ...

    def facets(self, *, query: WordQuery | None, scope: Scope, where: Filter) -> dict[str, dict[str, int]]:
        """Count the whole match set, or all that *where* admits, by what can be filtered by.

        By type, tag, project, source, kind, fact_type (once for each memory) and month ("2026-05", in UTC);
        the most frequent first, then by name.
        """
        ...


class VectorIndex(Protocol):
    """Memories by their vectors, one generation for each model."""

    def generations(self, *, scope: Scope) -> tuple[Generation, ...]:
        """Return the generations of vectors, newest first, counted within *scope*."""
        ...

    def pending(self, fingerprint: str, *, after: int, limit: int) -> tuple[int, ...]:
        """Return live memories above id *after* that have no vectors of this generation, by id."""
        ...

    def put_vectors(self, generation: Generation, embedded: Sequence[EmbeddedMemory]) -> int:
        """Keep vectors in place of older ones of the same generation; return how many memories took theirs.

        A memory that changed since, or is gone, takes none. A vector of another width is refused. Other
        `context_weights` than the generation has make all its context vectors anew; with no vectors to keep,
        a generation that does not exist is not made.
        """
        ...

    def drop_vectors(self, fingerprint: str) -> int:
        """Drop a generation; return of how many memories."""
        ...

    def nearest(  # noqa: PLR0913  (each says something else)
        self,
        fingerprint: str,
        vector: bytes,
        *,
        scope: Scope,
        where: Filter,
        limit: int,
        score_ids: Sequence[int] = (),
        exclude_generation: str | None = None,
        in_context: bool = False,
        exact: bool = False,
    ) -> VectorHits:
        """Return the memories whose best passage is nearest to *vector*, ties by id, and the cosines of *score_ids*.

        *in_context* compares the context vector of a passage that has one. Memories that have vectors of the
        generation *exclude_generation* are left to it. A large store may miss one in a thousand, unless *exact*.
        """
        ...

    def vectors(
        self, fingerprint: str, ids: Sequence[int], *, scope: Scope, include_forgotten: bool = False
    ) -> dict[int, tuple[Passage, ...]]:
        """Return the passages of those of *ids* that are live, in *scope* and embedded, in their order in the text.

        A turn of a conversation has a context vector, which follows its neighbours: when one is embedded, changed,
        forgotten or restored, it is made anew in the same transaction.
        """
        ...


class RecallLog(Protocol):
    """What was searched for, what was shown, and what became of it."""

    def log_recall(self, recalls: Sequence[Recall]) -> None:
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
        offset: int = 0,
        oldest_first: bool = False,
    ) -> tuple[Recall, ...]:
        """Return the recalls of a session, that hit a memory, that used a fact; the last logged first, unless told.

        A reader sees the searches that were made within *scope*, and no search that could see more.
        """
        ...

    def usage(self, *, scope: Scope, ids: Sequence[int] | None = None) -> dict[int, Usage]:
        """Return how often each live memory, or each of *ids*, was shown and judged; those never are absent."""
        ...

    def unanswered(self, *, scope: Scope, limit: int) -> tuple[tuple[str, int], ...]:
        """Return the queries whose outcome was none and how often, most often first, then by query."""
        ...

    def prune_recalls(
        self, *, scope: Scope, before: datetime | None = None, max_bytes: int | None = None, most: int | None = None
    ) -> int:
        """Drop recalls made in *scope* from *before* that moment, and the oldest until *max_bytes* hold the rest.

        At most *most* of the oldest are looked at, and then the size of the whole log counts; return how many went.
        """
        ...


class SourceLedger(Protocol):
    """What was imported from where, for each project by itself."""

    def sources(self, *, below: str, project: str) -> dict[str, Source]:
        """Return each source at or below the folder *below* that was imported for *project*, by name."""
        ...

    def record_source(self, name: str, source: Source, *, project: str) -> None:
        """Remember what the source *name* of *project* now consists of; no pieces means that it is forgotten."""
        ...

    def source_heads(self, *, below: str, project: str) -> dict[str, SourceHead]:
        """Return what `sources` returns without the pieces, which are only counted."""
        ...

    def pieces(
        self, name: str, *, project: str, digests: Sequence[bytes] | None = None, after: int = -1, limit: int = 2**62
    ) -> dict[int, Piece]:
        """Return the pieces of a source behind the place *after*, or those of some *digests*, by their place, in order.

        A place is a number that a piece keeps until the source is recorded anew.
        """
        ...

    def change_source(
        self, name: str, source: Source, *, project: str, changed: Mapping[int, Piece | None] = NOTHING_CHANGED
    ) -> int:
        """Add the pieces of *source* behind those that are there, and tell of its file what *source* tells.

        What is *changed* takes the place of the piece there, None leaves it empty. Return the place of the first that
        was added. A source that is left without pieces is forgotten.
        """
        ...

    def holders(self, ids: Sequence[int]) -> dict[int, tuple[tuple[str, str], ...]]:
        """Return the project and the name of each source that holds a memory of *ids* now, by memory, sorted."""
        ...


class Notes(Protocol):
    """Small named JSON values: lenses, tunings, ledgers of sessions. Each belongs to a project, or to none ("")."""

    def put_note(self, kind: str, name: str, value: Mapping[str, object] | None, *, project: str = "") -> bool:
        """Keep *value* in place of the note that has this name, or drop that one; return whether there was one."""
        ...

    def note(self, kind: str, name: str, *, project: str = "") -> Mapping[str, Any] | None:
        """Return the note of this kind and name that belongs to *project*; None where there is none."""
        ...

    def notes(self, kind: str, *, project: str = "") -> dict[str, Mapping[str, Any]]:
        """Return the notes of a kind that belong to *project*, by name."""
        ...


class Copies(Protocol):
    """The whole store: to walk through, to read from as it is at one moment, in a file, and back from a file."""

    def ids(self, *, scope: Scope, after: int = 0, limit: int) -> tuple[int, ...]:
        """Return the lowest ids above *after*, those of forgotten memories too, lowest first."""
        ...

    def events(self, *, scope: Scope, limit: int) -> tuple[Event, ...]:
        """Return the last *limit* events of all memories of *scope*, forgotten ones too, the last first."""
        ...

    def projects(self) -> tuple[str, ...]:
        """Return every project that a memory, forgotten ones too, a source or a note belongs to, by name.

        What belongs to none belongs to the blank one.
        """
        ...

    def snapshot(self) -> "Store":
        """Return what is here now as a store of its own, for reading; close it in the end.

        It stays as it is whatever is written meanwhile, and keeps nobody from writing.
        """
        ...

    def backup(self, path: Path, *, force: bool = False, progress: Progress | None = None) -> None:
        """Write what is here now to the file *path*; it has that name only when it is whole and checked.

        Nobody is kept from writing meanwhile. A name that is taken is refused unless *force* is true, and that of
        a store in use always.
        """
        ...

    def restore_backup(self, path: Path, *, aside: Path | None = None, dry_run: bool = False) -> int:
        """Put the backup *path* in the place of what is here, all or nothing; return how many memories it holds.

        What is here is written to the new file *aside* first, and nobody writes in between. Who reads meanwhile
        sees the old state to the end of its question. `version` grows, and no id is given twice. With *dry_run* the
        backup is only checked.
        """
        ...


class Store(MemoryStore, WordIndex, VectorIndex, RecallLog, SourceLedger, Notes, Copies, Protocol):
    """One place where memories live."""

    def transaction(self, projects: Collection[str] | None = None) -> AbstractContextManager[None]:
        """Open a write transaction: all is written or none, and what is read of *projects* stays true until the end.

        Without *projects* that holds for the whole store, and other writers wait meanwhile.
        """
        ...

    def reading(self) -> AbstractContextManager[None]:
        """Open a read transaction: all that this thread asks inside is answered from one state; write outside of it."""
        ...

    def version(self) -> int:
        """Return a number that grows with every write that can change an answer, from any process.

        Those of memories, facts, vectors, sources, and of notes of the kinds in ANSWERING.
        """
        ...

    def check(self, *, deep: bool = False) -> tuple[str, ...]:
        """Return what is wrong, one line each; nothing when all is well. *deep* compares every row and every token."""
        ...

    def rebuild(self, progress: Progress | None = None) -> int:
        """Make every derived index anew from the memories; return how many were indexed."""
        ...

    def settle(self) -> None:
        """Prepare what makes answers come sooner, however long it takes; they are right without it, too."""
        ...

    def scrub(self) -> tuple[str, ...]:
        """Write every file anew without what was deleted; return what stood against it, one line each."""
        ...

    def traces(self, probes: Sequence[bytes]) -> ByteSearch:
        """Search the raw bytes of every file for *probes*; what memories hold in words of their own is no trace."""
        ...

    def close(self) -> None:
        """Let go of everything held."""
        ...
