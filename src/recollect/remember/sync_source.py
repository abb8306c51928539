"""Settling one source: from the pieces it held before to those it holds now. What is gone is forgotten, not lost."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from recollect.records import ALL_PROJECTS, Forget, Memory, Piece, Revise, Trust, Write, digest
from recollect.remember.facts import extract
from recollect.remember.ingest import Kept, States, keep
from recollect.stores.contract import Analyse, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Where drafts come in: the store and what every import needs to know."""

    store: Store
    analyse: Analyse
    now: datetime
    project: str | None = None
    trust: Trust = "owner"
    redacting: bool = True
    states: States = extract


class Holders:
    """Which sources hold which memories: read when first asked, then kept up to date by those who settle sources."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sources: dict[int, set[str]] | None = None

    def other(self, row: int, source: str) -> str | None:
        """Return a source besides *source* that holds memory *row*, if any does."""
        return min(self._all().get(row, set()) - {source}, default=None)

    def move(self, source: str, before: Sequence[Piece], after: Sequence[Piece]) -> None:
        """Note that *source* held *before* and now holds *after*."""
        if self._sources is not None:
            for piece in before:
                self._sources.get(piece.memory_id, set()).discard(source)
            for piece in after:
                self._sources.setdefault(piece.memory_id, set()).add(source)

    def _all(self) -> dict[int, set[str]]:
        if self._sources is None:
            self._sources = defaultdict(set)
            for source, held in self._store.sources(below="/").items():
                for piece in held.pieces:
                    self._sources[piece.memory_id].add(source)
        return self._sources


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a source brought: new, updated and unchanged pieces by their place in it, and how many went."""

    new: tuple[int, ...] = ()
    updated: tuple[int, ...] = ()
    unchanged: int = 0
    removed: int = 0


def settle(source: str, fingerprint: str, drafts: Sequence[Memory], door: Door, holders: Holders) -> Settled:
    """Bring the store from what *source* held before to *drafts*."""
    marks = [mark(draft) for draft in drafts]
    before = pieces_of(source, door.store)
    left = _by_mark(before)
    same = [left[each].pop(0) if left[each] else None for each in marks]
    gone = _in_order(before, left)
    revised = _revisions(drafts, same, _its_own(gone, source, door.store, holders))
    fresh = [place for place, piece in enumerate(same) if piece is None and place not in revised]
    new = [drafts[place] for place in fresh]
    kept = keep(new, store=door.store, analyse=door.analyse, now=door.now, redacting=False, states=door.states)
    held = {place: piece.memory_id for place, piece in enumerate(same) if piece is not None}
    held |= {place: piece.memory_id for place, piece in revised.items()}
    held |= {place: outcome.id for place, outcome in zip(fresh, kept, strict=True)}
    edited = set(revised.values())
    vanished = {piece.memory_id for piece in gone if piece not in edited} - set(held.values())
    losses = _losses(vanished, source, door.store, holders)
    writes = [*_revise(drafts, revised, door), *losses]
    if writes:
        door.store.apply(writes, at=door.now)
    pieces = [Piece(digest=each, memory_id=held[at], section=drafts[at].section) for at, each in enumerate(marks)]
    record(source, fingerprint, before, pieces, door.store, holders)
    return _settled(fresh, kept, revised=revised, losses=losses, total=len(drafts))


def lose(source: str, door: Door, holders: Holders) -> int:
    """Forget what came from *source* alone, now that it is gone; return how many memories that was."""
    before = pieces_of(source, door.store)
    writes = _losses({piece.memory_id for piece in before}, source, door.store, holders)
    if writes:
        door.store.apply(writes, at=door.now)
    record(source, "", before, (), door.store, holders)
    return sum(isinstance(write, Forget) for write in writes)


def pieces_of(source: str, store: Store) -> tuple[Piece, ...]:
    """Return what was imported from *source*."""
    held = store.sources(below=source).get(source)
    return () if held is None else held.pieces


def record(
    source: str, fingerprint: str, before: Sequence[Piece], after: Sequence[Piece], store: Store, holders: Holders
) -> None:
    """Remember that *source* no longer holds *before* but *after*."""
    store.record_source(source, fingerprint=fingerprint, pieces=after)
    holders.move(source, before, after)


def mark(draft: Memory) -> bytes:
    """Return what a piece is known by from one import to the next: its words and where they stand."""
    return digest("\x1f".join((draft.external_id or "", draft.section or "", draft.title, draft.type, draft.content)))


def _settled(
    fresh: Sequence[int], kept: Sequence[Kept], *, revised: Mapping[int, Piece], losses: Sequence[Write], total: int
) -> Settled:
    """Count what became of the drafts."""
    outcomes = list(zip(fresh, kept, strict=True))
    same = ("identical", "restates")
    new = tuple(place for place, outcome in outcomes if outcome.decision not in same)
    touched = tuple(place for place, outcome in outcomes if outcome.decision in same and outcome.written)
    updated = tuple(sorted((*revised, *touched)))
    removed = sum(isinstance(write, Forget) for write in losses)
    return Settled(new=new, updated=updated, unchanged=total - len(new) - len(updated), removed=removed)


# --- what is the same -----------------------------------------------------------------------


def _by_mark(pieces: Sequence[Piece]) -> dict[bytes, list[Piece]]:
    by_mark: dict[bytes, list[Piece]] = defaultdict(list)
    for piece in pieces:
        by_mark[piece.digest].append(piece)
    return by_mark


def _in_order(before: Sequence[Piece], left: Mapping[bytes, list[Piece]]) -> list[Piece]:
    remaining = {id(piece) for pieces in left.values() for piece in pieces}
    return [piece for piece in before if id(piece) in remaining]


# --- what was edited ------------------------------------------------------------------------


def _its_own(gone: Sequence[Piece], source: str, store: Store, holders: Holders) -> list[Piece]:
    """Return those of *gone* whose memory lives and belongs to *source* alone, so that an edit may change it."""
    held = store.load([piece.memory_id for piece in gone], scope=ALL_PROJECTS)
    mine = {row for row, memory in held.items() if memory.source == source and memory.deleted_at is None}
    return [piece for piece in gone if piece.memory_id in mine and holders.other(piece.memory_id, source) is None]


def _revisions(drafts: Sequence[Memory], same: Sequence[Piece | None], gone: Sequence[Piece]) -> dict[int, Piece]:
    """Pair what is new with what is gone when both stand in the same section: that text was edited."""
    waiting: dict[str, list[Piece]] = defaultdict(list)
    for piece in gone:
        if piece.section:
            waiting[piece.section].append(piece)
    pairs = {}
    for place, draft in enumerate(drafts):
        if same[place] is None and draft.external_id is None and draft.section and waiting[draft.section]:
            pairs[place] = waiting[draft.section].pop(0)
    return pairs


def _revise(drafts: Sequence[Memory], pairs: Mapping[int, Piece], door: Door) -> Iterator[Write]:
    held = door.store.load([piece.memory_id for piece in pairs.values()], scope=ALL_PROJECTS)
    lasting = ("id", "project", "confidence", "pinned", "created_at", "updated_at", "superseded_by", "superseded_at")
    for place, piece in pairs.items():
        old = held[piece.memory_id]
        new = replace(drafts[place], **{name: getattr(old, name) for name in lasting})
        yield Revise(memory=new, facts=door.states(new))


# --- what is gone ---------------------------------------------------------------------------


def _losses(vanished: Collection[int], source: str, store: Store, holders: Holders) -> list[Write]:
    """Return what follows when the memories *vanished* no longer stand in *source*.

    One that belongs to it is forgotten; where another source says the same, it belongs to that one from now on.
    """
    writes: list[Write] = []
    for row, memory in store.load(sorted(vanished), scope=ALL_PROJECTS).items():
        if memory.deleted_at is not None or memory.source != source:
            continue
        other = holders.other(row, source)
        if other is None:
            writes.append(Forget(id=row, detail={"reason": "gone from its source", "source": source}))
        else:
            moved = replace(memory, source=other, line=None)
            writes.append(Revise(memory=moved, verb="move", detail={"from": source}))
    return writes
