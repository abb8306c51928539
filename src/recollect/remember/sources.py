"""Bring the store from what a source held before to what it holds now. Gone memories are forgotten, not lost.

A source is a stream of parts. Each part is compared with the recorded pieces that have the same words, and written in
one transaction. Pieces that no part held are gone, which is known after the last part. Until then the source has no
fingerprint, so an interrupted import continues with the next one: it finds the stored parts unchanged.

A document is a stream of one part, and the only one in which edits are recognized: a new text in the section of a text
that is gone. A document with thousands of new memories is written as several parts.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from recollect.errors import InputError
from recollect.records import Event, Forget, Memory, Piece, Restore, Revise, Source, Write, digest
from recollect.remember.context import DEFAULT, Draft, IngestContext, revised
from recollect.remember.dedup import MERGED, is_standalone
from recollect.remember.find_files import MAX_DOCUMENT_BYTES, size_of
from recollect.remember.formats import format_of, read_parts
from recollect.remember.ingest import DecisionCache, IngestResult, decide_early, embed_drafts, ingest_drafts
from recollect.remember.marks import Marks
from recollect.trust import may_change

GONE_REASON: Final = "gone from its source"
"""Why a memory is forgotten when its text is no longer in the file. It comes back with its text."""
PART_MEMORIES: Final = 2500
"""How many memories or pieces of a source are written in one transaction; other writers wait no longer than that."""
Holder = tuple[str, str]
"""A source that holds a memory: the project it was imported for, and its name."""


class SourceFile(Struct, frozen=True, kw_only=True):
    """A file to import: its name in the store, and what is recorded of it next to its pieces."""

    name: str
    fingerprint: str = ""
    device: int = 0
    root: str = ""
    stamp: str = ""

    def holding(self, pieces: Iterable[Piece] = ()) -> Source:
        """Return its record when it holds *pieces*."""
        return Source(
            fingerprint=self.fingerprint, device=self.device, root=self.root, stamp=self.stamp, pieces=tuple(pieces)
        )

    def unfinished(self) -> "SourceFile":
        """Return it without a fingerprint, so that the next import reads it again."""
        return replace(self, fingerprint="", stamp="")


class SourceIndex:
    """The sources recorded for the project of an import, and the memories each of them holds."""

    def __init__(self, context: IngestContext) -> None:
        self.context, self.store = context, context.store
        self.project = context.project or DEFAULT

    def holders(self, memories: Iterable[Memory]) -> dict[int, set[Holder]]:
        """Return the sources that hold each of *memories*: of this project, of its own, and of the default one."""
        given = {memory.id: memory for memory in memories}
        held = self.store.holders(list(given)) if given else {}
        return {
            row: {each for each in held.get(row, ()) if each[0] in {self.project, memory.project, DEFAULT}}
            for row, memory in given.items()
        }

    def others(self, memories: Iterable[Memory], source: str) -> dict[int, str]:
        """Return the first source other than *source* that holds each of *memories*, where there is one."""
        held = self.holders(memories)
        names = {row: {name for _, name in each - {(self.project, source)}} for row, each in held.items()}
        return {row: min(each) for row, each in names.items() if each}

    def record(self, file: SourceFile, pieces: Iterable[Piece], *, project: str | None = None) -> None:
        """Record that *file* consists of *pieces*, in this project or another."""
        self.store.record_source(file.name, file.holding(pieces), project=project or self.project)

    def change(self, file: SourceFile, added: Iterable[Piece], changed: Mapping[int, Piece | None]) -> int:
        """Append pieces to the record of *file* and change some by place; return the place of the first one added."""
        return self.store.change_source(file.name, file.holding(added), project=self.project, changed=changed)

    def pieces(self, source: str, *, digests: Sequence[bytes] | None = None) -> dict[int, Piece]:
        """Return the pieces of *source* that the context sees, by place: all, or those with these *digests*."""
        return self._visible(self.store.pieces(source, project=self.project, digests=digests))

    def pages(self, source: str) -> Iterator[dict[int, Piece]]:
        """Yield the pieces of *source* that the context sees, by place, page by page."""
        last = -1
        while page := self.store.pieces(source, project=self.project, after=last, limit=PART_MEMORIES):
            last = max(page)
            if seen := self._visible(page):
                yield seen

    def _visible(self, found: Mapping[int, Piece]) -> dict[int, Piece]:
        if self.context.project is None:
            return dict(found)
        rows = sorted({piece.memory_id for piece in found.values()})
        seen = self.store.load(rows, scope=self.context.scope)
        return {place: piece for place, piece in found.items() if piece.memory_id in seen}


class SourceDiff(Struct, frozen=True, kw_only=True):
    """What a part of a source changed: memories by their position in it, and counts."""

    new: tuple[int, ...] = ()
    updated: tuple[int, ...] = ()
    unchanged: int = 0
    removed: int = 0
    revived: int = 0
    repeated: int = 0
    """How many of the unchanged ones are new in the source and say what a memory says already."""
    ids: Mapping[int, int] = field(default_factory=dict)
    """The memory that holds each piece, by its position."""
    places: Collection[int] = ()
    """The places of the pieces in the record of the source."""


class SourcePart(Struct, frozen=True, kw_only=True):
    """Drafts of a source that are written in one transaction. Those that are new have been analyzed."""

    sync: "SourceSync"
    drafts: Sequence[Draft]
    keys: Sequence[bytes]
    last: bool

    @property
    def fresh(self) -> list[Draft]:
        """Return the drafts that the source did not hold before."""
        return [draft for draft in self.drafts if draft.tokens is not None]


class _Comparison(Struct, frozen=True, kw_only=True):
    """A part compared with the recorded pieces: positions in the part, places in the record."""

    part: SourcePart
    matched: Mapping[int, int]
    """The place of the piece with the same words, by position."""
    unchanged: Mapping[int, Piece]
    edited: Mapping[int, Piece]
    left: Mapping[int, Piece]
    """The other pieces, by place."""
    revisions: Sequence[Write]
    revivals: Sequence[Write]

    @property
    def fresh(self) -> list[int]:
        return [at for at in range(len(self.part.drafts)) if at not in self.unchanged and at not in self.edited]


# --- one way to bring a source up to date ---------------------------------------------------


def write_parts(parts: Sequence[SourcePart], context: IngestContext, *, in_bulk: bool = False) -> list[SourceDiff]:
    """Write *parts* in one transaction; return what each of them changed.

    *in_bulk* says that they are many small sources. Those that are new one after the other are decided on as one batch.
    """
    decided = decide_early([draft for part in parts for draft in part.fresh], context)
    with context.store.transaction({part.sync.project for part in parts}):
        diffs = [
            diff for run in _runs(parts, in_bulk=in_bulk) for diff in _write_run(run, context, decided, in_bulk=in_bulk)
        ]
    for part, diff in zip(parts, diffs, strict=True):
        part.sync.note(diff)
    return diffs


def _runs(parts: Sequence[SourcePart], *, in_bulk: bool) -> Iterator[list[SourcePart]]:
    for new, run in groupby(parts, key=lambda part: in_bulk and part.sync.is_new()):
        together = list(run)
        if new and len({part.sync.file.name for part in together}) == len(together):
            yield together
        else:
            yield from ([part] for part in together)


def _write_run(
    run: Sequence[SourcePart], context: IngestContext, decided: DecisionCache, *, in_bulk: bool
) -> Iterator[SourceDiff]:
    compared = [part.sync.compare(part) for part in run]
    drafts = [each.part.drafts[at] for each in compared for at in each.fresh]
    results = iter(ingest_drafts(drafts, context, decided=decided, in_bulk=in_bulk))
    for each in compared:
        yield each.part.sync.record(each, dict(zip(each.fresh, results, strict=False)))


class SourceSync:
    """One source being brought up to date. It remembers two bits for each memory of the parts written so far."""

    def __init__(self, file: SourceFile, index: SourceIndex, *, whole: bool = False) -> None:
        self.file, self._index, self._context, self._whole = file, index, index.context, whole
        self._seen, self._rows = Marks(), Marks()

    def is_new(self) -> bool:
        """Return whether nothing is recorded of the source."""
        return not self._index.store.pieces(self.file.name, project=self._index.project, limit=1)

    def parts(self, drafts: Sequence[Draft]) -> Iterator[SourcePart]:
        """Yield *drafts* in parts. Analysis happens here, before the transaction, so no other writer waits for it."""
        keys = [piece_key(draft.memory) for draft in drafts]
        before = self._waiting(keys).values()
        start = 0
        for stop in _slices(keys, before if self._whole else ()):
            ready = _ready_drafts(drafts[start:stop], keys[start:stop], before, self._context)
            last = self._whole and stop == len(keys)
            yield SourcePart(sync=self, drafts=ready, keys=keys[start:stop], last=last)
            start = stop

    def compare(self, part: SourcePart) -> _Comparison:
        """Compare *part* with the pieces that no part has taken yet."""
        waiting = self._waiting(part.keys)
        matched = _match(waiting, part.keys)
        taken = set(matched.values())
        left = {place: piece for place, piece in waiting.items() if place not in taken}
        found = {at: waiting[place] for at, place in matched.items()}
        unchanged, revivals = _returned(found, part.drafts, self._context)
        edited, revisions = self._edits(part.drafts, unchanged, left) if self._is_whole else ({}, [])
        return _Comparison(
            part=part,
            matched=matched,
            unchanged=unchanged,
            edited=edited,
            left=left,
            revisions=revisions,
            revivals=revivals,
        )

    def record(self, compared: _Comparison, results: Mapping[int, IngestResult]) -> SourceDiff:
        """Write what a part changes next to its new memories, and record its pieces."""
        part, whole = compared.part, self._is_whole
        ids = {at: piece.memory_id for at, piece in {**compared.unchanged, **compared.edited}.items()}
        ids |= {at: result.id for at, result in results.items()}
        here = set(ids.values())
        live = {piece.memory_id for piece in compared.left.values() if not piece.gone} - here if whole else ()
        losses = _losses(live, self.file.name, self._index)
        writes: list[Write] = [*compared.revisions, *losses, *compared.revivals]
        if writes:
            self._index.store.apply(writes, at=self._context.now)
        pieces = {
            at: Piece(digest=key, memory_id=ids[at], section=part.drafts[at].memory.section)
            for at, key in enumerate(part.keys)
        }
        file = self.file if part.last else self.file.unfinished()
        places: Collection[int] = range(len(pieces))
        if whole:  # in the order of the document
            gone = (replace(piece, gone=True) for piece in compared.left.values() if piece.memory_id not in here)
            self._index.record(file, [*pieces.values(), *gone])
        else:
            places = self._append(file, compared, [pieces[at] for at in compared.fresh])
        return _diff(compared, results, losses=losses, ids=ids, places=places)

    def _append(self, file: SourceFile, compared: _Comparison, added: Sequence[Piece]) -> list[int]:
        changed: dict[int, Piece | None] = {}
        for at, place in compared.matched.items():
            piece = compared.unchanged.get(at)
            if piece is None or piece.gone:
                changed[place] = piece and replace(piece, gone=False)
        first = self._index.change(file, added, changed)
        return [*compared.matched.values(), *range(first, first + len(added))]

    def note(self, diff: SourceDiff) -> None:
        """Remember a part that has been committed."""
        self._seen.update(diff.places)
        self._rows.update(diff.ids.values())

    def end(self) -> int:
        """Forget what no part held, now that all is read; return how many memories that was."""
        if self._whole:  # its last part did it
            return 0
        removed = sum(map(self._remove, self._index.pages(self.file.name)))
        self._index.change(self.file, (), {})
        return removed

    def _remove(self, page: Mapping[int, Piece]) -> int:
        """Forget the memories of those pieces of *page* that no part held; return how many."""
        left = {place: piece for place, piece in page.items() if place not in self._seen}
        changed: dict[int, Piece | None] = {
            place: None if piece.memory_id in self._rows else replace(piece, gone=True)
            for place, piece in left.items()
            if piece.memory_id in self._rows or not piece.gone
        }
        vanished = not self._seen  # then also what an import trusted less could not forget
        rows = {piece.memory_id for piece in left.values() if vanished or not piece.gone}
        if not (rows or changed):
            return 0
        with self._index.store.transaction({self._index.project}):
            losses = _losses({row for row in rows if row not in self._rows}, self.file.name, self._index)
            if losses:
                self._index.store.apply(losses, at=self._context.now)
            self._index.change(self.file.unfinished(), (), changed)
        return _count_forgotten(losses)

    @property
    def project(self) -> str:
        """The project that the source belongs to."""
        return self._index.project

    @property
    def _is_whole(self) -> bool:
        """Whether the next part is a document, or the beginning of one that holds all that was there before."""
        return self._whole and not self._seen

    def _waiting(self, keys: Sequence[bytes]) -> dict[int, Piece]:
        """Return the pieces that no part has taken yet, by place: those of *keys*, or all of a document."""
        found = self._index.pieces(self.file.name, digests=None if self._whole else keys)
        return {place: piece for place, piece in found.items() if place not in self._seen}

    def _edits(
        self, drafts: Sequence[Draft], unchanged: Collection[int], left: Mapping[int, Piece]
    ) -> tuple[dict[int, Piece], list[Write]]:
        """Return the pieces that were edited, by the position of the new text, and what revises their memories."""
        gone = [piece for piece in left.values() if not piece.gone]
        own = _changeable({piece.memory_id for piece in gone}, self.file.name, self._context)
        shared = self._index.others(own.values(), self.file.name)
        sole = [piece for piece in gone if piece.memory_id in own and piece.memory_id not in shared]
        edited = _pair_edits(drafts, unchanged, sole)
        revisions = [_revision(drafts[at].memory, own[piece.memory_id], self._context) for at, piece in edited.items()]
        return edited, list(revisions)


def remove_source(source: str, index: SourceIndex) -> int:
    """Forget what came from *source* alone, now that it is gone; return how many memories that was.

    Its pieces stay recorded as gone, so that they are recognized when the file comes back.
    """
    return SourceSync(SourceFile(name=source), index).end()


def _diff(
    compared: _Comparison,
    results: Mapping[int, IngestResult],
    *,
    losses: Sequence[Write],
    ids: Mapping[int, int],
    places: Collection[int],
) -> SourceDiff:
    """Count what became of a part: *results* of its new drafts by position, and *losses*."""
    new = tuple(at for at, result in results.items() if result.decision not in MERGED)
    touched = [at for at, result in results.items() if result.decision in MERGED and result.written]
    updated = tuple(sorted((*compared.edited, *touched)))
    revived = len(compared.revivals)
    return SourceDiff(
        new=new,
        updated=updated,
        unchanged=len(compared.part.drafts) - len(new) - len(updated) - revived,
        removed=_count_forgotten(losses),
        revived=revived,
        repeated=len(results) - len(new) - len(touched),
        ids=ids,
        places=places,
    )


def _count_forgotten(writes: Iterable[Write]) -> int:
    return sum(isinstance(write, Forget) for write in writes)


def piece_key(memory: Memory) -> bytes:
    """Return what identifies a piece from one import to the next: its words, where they stand, and its kind."""
    parts = (memory.external_id or "", memory.section or "", memory.title, memory.type, memory.content)
    return digest("\x1f".join(parts if memory.kind == "memory" else (*parts, memory.kind)))


def _ready_drafts(
    drafts: Sequence[Draft], keys: Sequence[bytes], before: Iterable[Piece], context: IngestContext
) -> list[Draft]:
    """Return *drafts* with tokens, facts and vectors for those whose *keys* the source did not hold *before*."""
    known, ready = {piece.digest for piece in before}, list(drafts)
    fresh = [place for place, key in enumerate(keys) if key not in known]
    made = embed_drafts([context.analysed(drafts[place]) for place in fresh], context)
    for place, draft in zip(fresh, made, strict=True):
        ready[place] = draft
    return ready


def _slices(keys: Sequence[bytes], before: Collection[Piece]) -> list[int]:
    """Return where the parts end in which drafts with these *keys* are written.

    The first part holds all that was there *before*. Where some of it is gone there is one part only: what is gone, and
    what it was edited to, is known when all of it is compared.
    """
    left, seen = Counter(piece.digest for piece in before if not piece.gone), 0
    for key in keys if before else ():
        if not left:
            break
        seen += 1
        left -= Counter((key,))
    return [len(keys)] if left else [*range(seen + PART_MEMORIES, len(keys), PART_MEMORIES), len(keys)]


# --- what is the same, what was edited, what is gone ----------------------------------------


def _match(waiting: Mapping[int, Piece], keys: Sequence[bytes]) -> dict[int, int]:
    """Return the place of the piece with each of *keys*, by position; each once, those that are not gone first."""
    left: dict[bytes, list[int]] = defaultdict(list)
    for place in sorted(waiting, key=lambda place: (not waiting[place].gone, -place)):  # the last is taken first
        left[waiting[place].digest].append(place)
    return {at: left[key].pop() for at, key in enumerate(keys) if left[key]}


def _returned(
    matched: Mapping[int, Piece], drafts: Sequence[Draft], context: IngestContext
) -> tuple[dict[int, Piece], list[Restore]]:
    """Return *matched* without what is to be ingested again, and what restores memories whose text has come back.

    A memory that the user forgot stays forgotten. A text whose memory no longer exists, or that another memory holds by
    now, is new.
    """
    back = {place: piece.memory_id for place, piece in matched.items() if piece.gone}
    if not back:
        return dict(matched), []
    memories = context.store.load(sorted(set(back.values())), scope=context.scope)
    events = context.store.history(sorted(memories), scope=context.scope)
    ours = {row for row, memory in memories.items() if memory.deleted_at is not None and _has_left(events[row])}
    taken = _held_by_others([drafts[place].memory for place, row in back.items() if row in ours], context)
    again = {
        place
        for place, row in back.items()
        if row not in memories or (row in ours and _words(drafts[place].memory) in taken)
    }
    revived = sorted({row for place, row in back.items() if row in ours and place not in again})
    kept = {place: piece for place, piece in matched.items() if place not in again}
    return kept, [Restore(id=row, detail={"reason": "back in its source"}) for row in revived]


def _has_left(events: Sequence[Event]) -> bool:
    """Tell whether a memory was last forgotten because its text had left its source."""
    return (
        next((event.detail.get("reason") for event in reversed(events) if event.verb == "forget"), None) == GONE_REASON
    )


def _words(memory: Memory) -> tuple[str, str, bytes]:
    return memory.project, memory.kind, memory.digest


def _held_by_others(memories: Sequence[Memory], context: IngestContext) -> set[tuple[str, str, bytes]]:
    """Return the words of those of *memories* that a live memory of the same project and kind holds."""
    taken: set[tuple[str, str, bytes]] = set()
    alone = [memory for memory in memories if not is_standalone(memory)]
    for project in {memory.project for memory in alone}:
        mine = [(memory.kind, memory.digest) for memory in alone if memory.project == project]
        taken |= {(project, *key) for key in context.store.known(project, digests=mine).by_digest}
    return taken


def _changeable(rows: Collection[int], source: str, context: IngestContext) -> dict[int, Memory]:
    """Load those of *rows* that are live, belong to *source* and may be changed by this import."""
    held = context.store.load(sorted(rows), scope=context.scope) if rows else {}
    live = {row: memory for row, memory in held.items() if memory.source == source and memory.deleted_at is None}
    return {row: memory for row, memory in live.items() if may_change(context.trust, memory)}


def _pair_edits(drafts: Sequence[Draft], unchanged: Collection[int], gone: Sequence[Piece]) -> dict[int, Piece]:
    """Pair new texts with pieces that are gone from the same section: those were edited."""
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


def _losses(rows: Collection[int], source: str, index: SourceIndex) -> list[Write]:
    """Return what follows when the memories *rows* are no longer in *source*.

    A memory that another source holds too belongs to that one from now on. Any other is forgotten unless it is pinned.
    """
    lost = _changeable(rows, source, index.context)
    others = index.others(lost.values(), source)
    contents = {other: _contents(other, index.context) for other in set(others.values())}
    writes: list[Write] = []
    for row, memory in sorted(lost.items()):
        other = others.get(row)
        if other is None and not memory.pinned:
            writes.append(Forget(id=row, detail={"reason": GONE_REASON, "source": source}))
        elif other is not None:
            there = contents[other].get(memory.digest, replace(memory, line=None))
            moved = replace(memory, source=other, line=there.line, title=there.title, section=there.section)
            writes.append(Revise(memory=moved, verb="move", detail={"from": source}))
    return writes


def _contents(source: str, context: IngestContext) -> dict[bytes, Memory]:
    """Return what the file *source* holds, by digest; nothing where reading it would take long."""
    path = Path(source)
    form = format_of(path)
    if form is None or form.isolated or size_of(path) > MAX_DOCUMENT_BYTES:
        return {}
    try:
        found = [context.prepare(memory).memory for part in read_parts(path, form) for memory in part.memories]
    except InputError:
        return {}
    return {memory.digest: memory for memory in reversed(found)}
