"""Bring the store from what a source held before to what it holds now. What is gone is forgotten, not lost."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from recollect.records import ALL_PROJECTS, Forget, Memory, Piece, Revise, Write, digest
from recollect.remember.context import Draft, IngestContext, revised
from recollect.remember.ingest import MERGED, IngestResult, embed_drafts, ingest_drafts
from recollect.stores.contract import Store


class SourceIndex:
    """Which sources hold which memories: read when first asked for, then kept up to date by `record`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sources: dict[int, set[str]] | None = None

    def other(self, row: int, source: str) -> str | None:
        """Return a source besides *source* that holds memory *row*, if any does."""
        if self._sources is None:
            self._sources = defaultdict(set)
            for name, held in self._store.sources(below="/").items():
                for piece in held.pieces:
                    self._sources[piece.memory_id].add(name)
        return min(self._sources.get(row, set()) - {source}, default=None)

    def record(self, source: str, fingerprint: str, *, before: Sequence[Piece], after: Sequence[Piece]) -> None:
        """Store that *source* no longer holds *before* but *after*."""
        self._store.record_source(source, fingerprint=fingerprint, pieces=after)
        if self._sources is not None:
            for piece in before:
                self._sources.get(piece.memory_id, set()).discard(source)
            for piece in after:
                self._sources.setdefault(piece.memory_id, set()).add(source)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDiff:
    """What a source brought: new, updated and unchanged pieces by their place in it, and how many went."""

    new: tuple[int, ...] = ()
    updated: tuple[int, ...] = ()
    unchanged: int = 0
    removed: int = 0
    ids: Mapping[int, int] = field(default_factory=dict)
    """The memory that holds each piece, by its place."""


def sync_source(
    source: str, fingerprint: str, drafts: Sequence[Draft], context: IngestContext, index: SourceIndex
) -> SourceDiff:
    """Ingest what is new in *source*, revise what was edited and forget what is gone, in the caller's transaction."""
    before, keys = pieces_of(source, context.store), [piece_key(draft.memory) for draft in drafts]
    unchanged, gone = _match(before, keys)
    held = context.store.load([piece.memory_id for piece in gone], scope=ALL_PROJECTS) if gone else {}
    own = {row: memory for row, memory in held.items() if memory.source == source and memory.deleted_at is None}
    edited = _pair_edits(drafts, unchanged, [piece for piece in gone if _is_sole(piece, own, source, index)])
    fresh = [place for place in range(len(drafts)) if place not in unchanged and place not in edited]
    results = dict(zip(fresh, ingest_drafts(embed_drafts([drafts[at] for at in fresh], context), context), strict=True))
    ids = {place: piece.memory_id for place, piece in (unchanged | edited).items()}
    ids |= {place: result.id for place, result in results.items()}
    lost = {row: memory for row, memory in own.items() if row not in set(ids.values())}
    losses = list(_losses(lost, source, index))
    writes = [*(_revision(drafts[at].memory, own[piece.memory_id], context) for at, piece in edited.items()), *losses]
    if writes:
        context.store.apply(writes, at=context.now)
    pieces = [Piece(digest=key, memory_id=ids[at], section=drafts[at].memory.section) for at, key in enumerate(keys)]
    index.record(source, fingerprint, before=before, after=pieces)
    return source_diff(results, edited=edited, total=len(drafts), losses=losses, ids=ids)


def remove_source(source: str, context: IngestContext, index: SourceIndex) -> int:
    """Forget what came from *source* alone, now that it is gone; return how many memories that was."""
    before = pieces_of(source, context.store)
    held = context.store.load(sorted({piece.memory_id for piece in before}), scope=ALL_PROJECTS)
    own = {row: memory for row, memory in held.items() if memory.source == source and memory.deleted_at is None}
    writes = list(_losses(own, source, index))
    if writes:
        context.store.apply(writes, at=context.now)
    index.record(source, "", before=before, after=())
    return sum(isinstance(write, Forget) for write in writes)


def pieces_of(source: str, store: Store) -> tuple[Piece, ...]:
    """Return what was imported from *source*."""
    held = store.sources(below=source).get(source)
    return () if held is None else held.pieces


def piece_key(memory: Memory) -> bytes:
    """Return what a piece is known by from one import to the next: its words, where they stand, and its kind."""
    parts = (memory.external_id or "", memory.section or "", memory.title, memory.type, memory.content)
    return digest("\x1f".join(parts if memory.kind == "memory" else (*parts, memory.kind)))


def source_diff(
    results: Mapping[int, IngestResult],
    *,
    total: int,
    edited: Collection[int] = (),
    losses: Sequence[Write] = (),
    ids: Mapping[int, int] | None = None,
) -> SourceDiff:
    """Count what became of *total* drafts: *results* of those ingested, by place, *edited* ones, and what went."""
    new = tuple(place for place, result in results.items() if result.decision not in MERGED)
    touched = [place for place, result in results.items() if result.decision in MERGED and result.written]
    updated = tuple(sorted((*edited, *touched)))
    removed = sum(isinstance(write, Forget) for write in losses)
    held = ids or {place: result.id for place, result in results.items()}
    unchanged = total - len(new) - len(updated)
    return SourceDiff(new=new, updated=updated, unchanged=unchanged, removed=removed, ids=held)


# --- what is the same, what was edited, what is gone ----------------------------------------


def _match(before: Sequence[Piece], keys: Sequence[bytes]) -> tuple[dict[int, Piece], list[Piece]]:
    """Return the pieces that are there again, by their new place, and those that are not, in their order."""
    left: dict[bytes, list[int]] = defaultdict(list)
    for at, piece in enumerate(before):
        left[piece.digest].append(at)
    unchanged = {place: before[left[key].pop(0)] for place, key in enumerate(keys) if left[key]}
    return unchanged, [before[at] for at in sorted(at for places in left.values() for at in places)]


def _is_sole(piece: Piece, own: Mapping[int, Memory], source: str, index: SourceIndex) -> bool:
    """Return whether the memory of *piece* belongs to *source* alone, so that an edit may change it."""
    return piece.memory_id in own and index.other(piece.memory_id, source) is None


def _pair_edits(drafts: Sequence[Draft], unchanged: Collection[int], gone: Sequence[Piece]) -> dict[int, Piece]:
    """Pair what is new with what is gone when both stand in the same section: that text was edited."""
    waiting: dict[str, list[Piece]] = defaultdict(list)
    for piece in gone:
        if piece.section:
            waiting[piece.section].append(piece)
    pairs = {}
    for place, draft in enumerate(drafts):
        section = draft.memory.section
        if place not in unchanged and draft.memory.external_id is None and section and waiting[section]:
            pairs[place] = waiting[section].pop(0)
    return pairs


def _revision(new: Memory, old: Memory, context: IngestContext) -> Revise:
    memory = revised(old, new, "project", "confidence", "pinned")
    return Revise(memory=memory, facts=context.facts(memory))


def _losses(lost: Mapping[int, Memory], source: str, index: SourceIndex) -> Iterator[Write]:
    """Yield what follows when the memories *lost*, which belong to *source*, no longer stand in it.

    One is forgotten; where another source says the same, it belongs to that one from now on.
    """
    for row, memory in sorted(lost.items()):
        other = index.other(row, source)
        if other is None:
            yield Forget(id=row, detail={"reason": "gone from its source", "source": source})
        else:
            yield Revise(memory=replace(memory, source=other, line=None), verb="move", detail={"from": source})
