"""Erase memories for good: every row that holds something of them, every byte, and a search for what is left."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from recollect.errors import InputError, StoreError
from recollect.filters import start_of
from recollect.lazy import regex
from recollect.records import ALL_PROJECTS, NO_FILTER, Erased, Filter, Memory, Scope
from recollect.remember.forgotten import drop_notes
from recollect.settings import MOST
from recollect.stores.contract import Store

T = TypeVar("T")
SHOWN: Final = 10
"""How many memories a dry run lists."""
PROBES: Final = 1_000
"""How many pieces of what was erased are searched for, at most; they are taken evenly from all of it."""
PIECE: Final = 24
"""How many characters of a text are searched for together: short enough to lie on one page of a file."""
PIECES: Final = 6
"""How many pieces are taken from one text."""
LEAST: Final = 6
"""How many bytes a piece has at least, so that it does not stand anywhere by accident."""
WINDOW: Final = 64
"""How many bytes of a vector are searched for."""
_WORD: Final = regex(r"\w+")
_LINE: Final = regex(r'[^"\\\n\r\t]+')
"""What is stored as it is written, also inside of JSON."""


class Selection(Struct, frozen=True, kw_only=True):
    """Which memories to erase: all that is given must fit; nothing given selects nothing."""

    ids: tuple[int, ...] | None = None
    where: Filter = NO_FILTER
    scope: Scope = ALL_PROJECTS
    whole_project: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is selected."""
        return self.ids is None and self.where == NO_FILTER and not self.whole_project


class PurgeReport(Struct, frozen=True, kw_only=True):
    """What was erased, or would be, and whether a byte of it is left."""

    ids: tuple[int, ...] = ()
    wordings: int = 0
    events: int = 0
    facts: int = 0
    vectors: int = 0
    recalls: int = 0
    sources: int = 0
    projects: int = 0
    dry_run: bool = False
    listed: tuple[Memory, ...] = ()
    """The first few of those that would go, in a dry run."""
    unfinished: tuple[str, ...] = ()
    """What kept the bytes from being overwritten."""
    verified: bool = False
    probes: int = 0
    """How many pieces of the erased were searched for."""
    traces: tuple[str, ...] = ()
    """Which file still holds which of them."""
    files: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    """Copies beside the store, which were neither changed nor searched."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing is left as far as is known."""
        return not (self.unfinished or self.traces)


def selection(
    *,
    scope: Scope,
    ids: int | Iterable[int] | None = None,
    source: str | None = None,
    project: str | None = None,
    older_than: datetime | date | str | None = None,
    now: datetime,
) -> Selection:
    """Return what a request selects within *scope*; a project out of it is not to be had."""
    if project is not None:
        if scope.projects is not None and project not in scope.projects:
            raise InputError(f"the project {project!r} is not in view", hint="open the store for that project")
        scope = Scope(projects=frozenset({project}))
    where = Filter(sources=None if source is None else (source,), until=start_of(older_than, "older_than", now=now))
    return Selection(
        ids=None if ids is None else _whole(ids), where=where, scope=scope, whole_project=project is not None
    )


def _whole(ids: int | Iterable[int]) -> tuple[int, ...]:
    rows = tuple(dict.fromkeys((ids,) if isinstance(ids, int) else ids))
    for row in rows:
        if not isinstance(row, int) or abs(row) >= 2**63:
            raise InputError(f"{row!r} is not an id", hint="ids are whole numbers; see: recollect list")
    return rows


def in_bytes(megabytes: float | None) -> int | None:
    """Return how many bytes so many *megabytes* are."""
    if megabytes is None:
        return None
    if not 0 <= megabytes < MOST:
        raise InputError(f"a log cannot have {megabytes} MB", hint="give a number from 0 on")
    return int(megabytes * 1_000_000)


def purge(
    selected: Selection, store: Store, *, dry_run: bool = False, verify: bool = False, traces: Sequence[str] = ()
) -> PurgeReport:
    """Erase what is *selected*, write the files anew, and if told to *verify*, search them for it and for *traces*.

    Verifying without a selection finishes an erasure that was interrupted.
    """
    if selected.is_empty and not (verify or traces):
        hint = "give ids, --source, --project or --older-than; see: recollect purge --help"
        raise InputError("say what to purge", hint=hint)
    if dry_run:
        gone = _rehearsed(selected, store)
        return replace(_counted(gone), dry_run=True, listed=gone.memories[:SHOWN])
    gone = Erased() if selected.is_empty else _erased(selected, store)
    report = replace(_counted(gone), unfinished=_scrubbed(store))
    if not (verify or traces):
        return report
    probes = [*probes_of(gone), *(text.encode("utf-8", "replace") for text in traces)]
    found = store.traces(probes)
    return replace(
        report,
        verified=True,
        probes=len(probes),
        traces=tuple(f"{name} holds {_quoted(probe)}" for name, probe in found.found),
        files=found.files,
        beside=found.beside,
    )


def _erased(selected: Selection, store: Store) -> Erased:
    with store.transaction():
        gone = store.erase(ids=selected.ids, where=selected.where, scope=selected.scope)
        drop_notes(gone.memories, store)
    return gone


def _scrubbed(store: Store) -> tuple[str, ...]:
    """Have the files written anew; what keeps that from being done is told, for the memories are erased already."""
    try:
        return store.scrub()
    except StoreError as error:
        return (f"{error}; later run: recollect purge --verify",)


def _rehearsed(selected: Selection, store: Store) -> Erased:
    """Return what an erasure would take; nothing of it stays done."""
    gone: list[Erased] = []
    with suppress(_TakenBack), store.transaction():
        gone += [] if selected.is_empty else [_erased(selected, store)]
        raise _TakenBack
    return gone[0] if gone else Erased()


class _TakenBack(Exception):
    """Raised to undo what a dry run did."""


def _counted(gone: Erased) -> PurgeReport:
    return PurgeReport(
        ids=tuple(memory.id for memory in gone.memories),
        wordings=gone.wordings,
        events=gone.events,
        facts=gone.facts,
        vectors=len(gone.vectors),
        recalls=gone.recalls,
        sources=len(gone.sources),
        projects=len(gone.projects),
    )


def _quoted(probe: bytes) -> str:
    try:
        return repr(probe.decode())
    except UnicodeDecodeError:
        return "bytes of a vector or of compressed words"


# --- what is searched for -------------------------------------------------------------------


def probes_of(gone: Erased) -> list[bytes]:
    """Return what to look for: pieces of texts, words, names, windows of vectors, and ends of compressed tokens."""
    texts = [text for memory in gone.memories for text in _texts_of(memory)]
    pieces = [piece for text in (*texts, *gone.texts) for piece in _pieces_of(text)]
    names = [name.encode("utf-8", "replace") for name in (*gone.sources, *gone.projects)]
    long = list(dict.fromkeys(piece for piece in pieces if len(piece) >= LEAST))
    windows = [part for part in map(_window, gone.vectors) if len(set(part)) >= LEAST]
    ends = [tokens[-WINDOW:] for tokens in gone.tokens]  # with the checksum, so that no other text ends alike
    return [*names, *_evenly(long, PROBES), *_evenly(windows, PROBES // 10), *_evenly(ends, PROBES // 10)]


def _texts_of(memory: Memory) -> Iterator[str]:
    yield from (memory.content, memory.title, *memory.tags, memory.external_id or "", memory.section or "")
    yield from (str(value) for value in memory.metadata.values())


def _pieces_of(text: str) -> list[bytes]:
    """Return stretches of *text* as it is stored, and its words as the word index has them."""
    lines = [line[at : at + PIECE].strip() for line in _LINE.findall(text) for at in range(0, len(line), PIECE)]
    words = sorted(set(_WORD.findall(text)), key=lambda word: (-len(word), word))
    found = [*_evenly(lines, PIECES), *words[:PIECES], *(word.casefold() for word in words[:PIECES])]
    return [piece.encode("utf-8", "replace") for piece in found]


def _window(vector: bytes) -> bytes:
    """Return the stretch of *vector* in which the most bytes differ."""
    starts = range(0, max(1, len(vector) - WINDOW + 1), WINDOW)
    return max((vector[at : at + WINDOW] for at in starts), key=lambda part: len(set(part)))


def _evenly(things: Sequence[T], most: int) -> list[T]:
    """Return at most *most* of *things*, taken from all of them evenly."""
    if len(things) <= most:
        return list(things)
    return [things[at * len(things) // most] for at in range(most)]
