"""Bring the store from what a collection held before to what it holds now, part by part, however large it is.

A part is compared with the pieces that have the same words, and written, in a transaction of its own. What is gone is
known when the last part is read. Between two parts the source has no fingerprint, so that an import that ends there
goes on with the next one: what is stored by then is found unchanged.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from recollect.records import Forget, Piece
from recollect.remember.context import Draft, IngestContext
from recollect.remember.ingest import decide_early, ingest_drafts
from recollect.remember.marks import Marks
from recollect.remember.sync_source import (
    SourceDiff,
    SourceFile,
    SourceIndex,
    changeable,
    losses_of,
    pages,
    piece_key,
    ready_drafts,
    returned,
    source_diff,
    visible,
)


class SourceStream:
    """A source being imported in parts. What it keeps of the parts so far is two bits for each memory.

    In a source that is read so a text that was edited is a new one, and the old one is gone, unless both have the
    same external id: which old text belongs to it would be known only at the end.
    """

    def __init__(self, file: SourceFile, context: IngestContext, index: SourceIndex) -> None:
        self._file, self._context, self._index = file, context, index
        self._seen, self._rows = Marks(), Marks()

    def add(self, drafts: Sequence[Draft]) -> SourceDiff:
        """Store the next part of the source; return what became of it."""
        keys, store = [piece_key(draft.memory) for draft in drafts], self._context.store
        ready = ready_drafts(drafts, keys, self._waiting(keys).values(), self._context)
        decided = decide_early([draft for draft in ready if draft.tokens is not None], self._context)
        with store.transaction():
            matched = _match(self._waiting(keys), keys)
            pieces = {at: piece for at, (_, piece) in matched.items()}
            unchanged, revived = returned(pieces, ready, self._context)
            fresh = [at for at in range(len(ready)) if at not in unchanged]
            results = ingest_drafts([ready[at] for at in fresh], self._context, decided=decided)
            if revived:
                store.apply(revived, at=self._context.now)
            added = [
                Piece(digest=keys[at], memory_id=result.id, section=ready[at].memory.section)
                for at, result in zip(fresh, results, strict=True)
            ]
            changed = {
                place: replace(piece, gone=False) if at in unchanged else None
                for at, (place, piece) in matched.items()
                if piece.gone
            }
            first = self._record(self._file.unfinished(), added, changed)
        ids = {at: piece.memory_id for at, piece in unchanged.items()}
        ids |= {at: result.id for at, result in zip(fresh, results, strict=True)}
        self._seen.update(place for place, _ in matched.values())
        self._seen.update(range(first, first + len(added)))
        self._rows.update(ids.values())
        by_place = dict(zip(fresh, results, strict=True))
        return source_diff(by_place, total=len(drafts), revived=len(revived), ids=ids)

    def end(self) -> int:
        """Forget what is gone, now that all was read; return how many memories that was."""
        removed = sum(self._remove(page) for page in pages(self._file.name, self._context, self._index))
        self._record(self._file, (), {})
        return removed

    def _waiting(self, keys: Sequence[bytes]) -> dict[int, Piece]:
        """Return the pieces with these *keys* that no part has taken yet, by place."""
        found = self._context.store.pieces(self._file.name, project=self._index.project, digests=keys)
        return visible({at: piece for at, piece in found.items() if at not in self._seen}, self._context)

    def _record(self, file: SourceFile, added: Sequence[Piece], changed: Mapping[int, Piece | None]) -> int:
        held = file.holding(added)
        return self._context.store.change_source(file.name, held, project=self._index.project, changed=changed)

    def _remove(self, page: Mapping[int, Piece]) -> int:
        """Forget the memories of those pieces of *page* that were not met; return how many."""
        left = {place: piece for place, piece in page.items() if place not in self._seen}
        changed: dict[int, Piece | None] = {
            place: None if piece.memory_id in self._rows else replace(piece, gone=True)
            for place, piece in left.items()
            if piece.memory_id in self._rows or not piece.gone
        }
        if not changed:
            return 0
        source, store = self._file.name, self._context.store
        rows = sorted({piece.memory_id for piece in left.values() if not piece.gone})
        with store.transaction():
            own = changeable(store.load(rows, scope=self._context.scope), source, self._context)
            lost = {row: memory for row, memory in own.items() if row not in self._rows}
            losses = list(losses_of(lost, source, self._context, self._index))
            if losses:
                store.apply(losses, at=self._context.now)
            self._record(self._file.unfinished(), (), changed)
        return sum(isinstance(write, Forget) for write in losses)


def _match(found: Mapping[int, Piece], keys: Sequence[bytes]) -> dict[int, tuple[int, Piece]]:
    """Return for each of *keys* that is there its place and piece, each piece once; what is not gone goes first."""
    left: dict[bytes, list[int]] = {}
    for place in sorted(found, key=lambda at: (not found[at].gone, -at)):  # the last is taken first
        left.setdefault(found[place].digest, []).append(place)
    taken = {at: left[key].pop() for at, key in enumerate(keys) if left.get(key)}
    return {at: (place, found[place]) for at, place in taken.items()}
