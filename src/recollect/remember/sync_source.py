"""Bring the store from what a source held before to what it holds now. What is gone is forgotten, not lost."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from recollect.errors import InputError
from recollect.records import Event, Forget, Memory, Piece, Restore, Revise, Source, Write, digest
from recollect.remember.context import DEFAULT, Draft, IngestContext, revised
from recollect.remember.dedup import MERGED, is_standalone
from recollect.remember.find_files import LARGEST, size_of
from recollect.remember.formats import format_of, read_parts
from recollect.remember.ingest import Decided, IngestResult, embed_drafts, ingest_drafts
from recollect.stores.contract import Store
from recollect.trust import may_change

REASON: Final = "gone from its source"
"""Why a memory is forgotten when its text is no longer in the file; such a one comes back with its text."""
Holder = tuple[str, str]
"""A source that holds a memory: the project it was imported for, and its name."""


class SourceFile(Struct, frozen=True, kw_only=True):
    """A file to be imported: its name in the store, and what is recorded of it beside its pieces."""

    name: str
    fingerprint: str = ""
    device: int = 0
    root: str = ""
    stamp: str = ""

    def holding(self, pieces: Iterable[Piece] = ()) -> Source:
        """Return what is recorded of it when it holds *pieces*."""
        return Source(
            fingerprint=self.fingerprint, device=self.device, root=self.root, stamp=self.stamp, pieces=tuple(pieces)
        )

    def unfinished(self) -> "SourceFile":
        """Return it as one that is not read to its end, so that the next import reads it again."""
        return replace(self, fingerprint="", stamp="")


class SourceIndex:
    """Which sources hold which memories, and what each consists of, for the project of an import."""

    def __init__(self, store: Store, *, project: str) -> None:
        self.store = store
        self.project = project

    def holders(self, memories: Iterable[Memory]) -> dict[int, set[Holder]]:
        """Return the sources that hold each of *memories*, of this project, of its own and of none."""
        given = {memory.id: memory for memory in memories}
        held = self.store.holders(list(given)) if given else {}
        return {
            row: {each for each in held.get(row, ()) if each[0] in {self.project, memory.project, DEFAULT}}
            for row, memory in given.items()
        }

    def others(self, memories: Iterable[Memory], source: str) -> dict[int, str]:
        """Return for each of *memories* that a source besides *source* holds the first of those."""
        held = self.holders(memories)
        names = {row: {name for _, name in each - {(self.project, source)}} for row, each in held.items()}
        return {row: min(each) for row, each in names.items() if each}

    def record(self, file: SourceFile, pieces: Iterable[Piece], *, project: str | None = None) -> None:
        """Store that *file* consists of *pieces*, in this project or another."""
        self.store.record_source(file.name, file.holding(pieces), project=project or self.project)


class SourceDiff(Struct, frozen=True, kw_only=True):
    """What a source brought: new, updated and unchanged pieces by their place in it, how many went and came back."""

    new: tuple[int, ...] = ()
    updated: tuple[int, ...] = ()
    unchanged: int = 0
    removed: int = 0
    revived: int = 0
    repeated: int = 0
    """How many of the unchanged ones are new in the source and say what a memory says already."""
    ids: Mapping[int, int] = field(default_factory=dict)
    """The memory that holds each piece, by its place."""


def sync_source(
    file: SourceFile,
    drafts: Sequence[Draft],
    context: IngestContext,
    index: SourceIndex,
    *,
    decided: Decided | None = None,
    in_bulk: bool = False,
) -> SourceDiff:
    """Ingest what is new in *file*, revise what was edited and forget what is gone, in the caller's transaction.

    A piece that was gone and is there again brings its memory back, as it was, under its id. *in_bulk* says that the
    file is one of many.
    """
    source, before = file.name, pieces_of(file.name, context, index)
    keys = [piece_key(draft.memory) for draft in drafts]
    unchanged, left = _match(before, keys)
    unchanged, revived = returned(unchanged, drafts, context)
    gone = [piece for piece in left if not piece.gone]
    held = context.store.load([piece.memory_id for piece in gone], scope=context.scope) if gone else {}
    own = changeable(held, source, context)
    shared = index.others(own.values(), source)
    sole = [piece for piece in gone if piece.memory_id in own and piece.memory_id not in shared]
    edited = _pair_edits(drafts, unchanged, sole)
    fresh = [place for place in range(len(drafts)) if place not in unchanged and place not in edited]
    ingested = ingest_drafts([drafts[at] for at in fresh], context, decided=decided, in_bulk=in_bulk)
    results = dict(zip(fresh, ingested, strict=True))
    ids = {place: piece.memory_id for place, piece in (unchanged | edited).items()}
    ids |= {place: result.id for place, result in results.items()}
    lost = {row: memory for row, memory in own.items() if row not in set(ids.values())}
    losses = list(losses_of(lost, source, context, index))
    revisions = [_revision(drafts[at].memory, own[piece.memory_id], context) for at, piece in edited.items()]
    writes: list[Write] = [*revisions, *losses, *revived]
    if writes:
        context.store.apply(writes, at=context.now)
    pieces = [Piece(digest=key, memory_id=ids[at], section=drafts[at].memory.section) for at, key in enumerate(keys)]
    here = set(ids.values())
    index.record(file, [*pieces, *_gone(piece for piece in left if piece.memory_id not in here)])
    return source_diff(results, edited=edited, total=len(drafts), losses=losses, revived=len(revived), ids=ids)


def ready_drafts(
    drafts: Sequence[Draft], keys: Sequence[bytes], before: Collection[Piece], context: IngestContext
) -> list[Draft]:
    """Return *drafts* with the tokens, facts and vectors of those that a source did not hold *before* by their *keys*.

    They are made before the transaction, so that no other writer waits for them.
    """
    known, ready = {piece.digest for piece in before}, list(drafts)
    fresh = [place for place, key in enumerate(keys) if key not in known]
    made = embed_drafts([context.analysed(drafts[place]) for place in fresh], context)
    for place, draft in zip(fresh, made, strict=True):
        ready[place] = draft
    return ready


SLICE: Final = 2500
"""How many memories of a new source are written in one transaction; other writers wait no longer than that takes."""


def slices(keys: Sequence[bytes], before: Sequence[Piece]) -> list[int]:
    """Return where the slices end in which drafts are written, by their *keys*; each has the ones before it.

    So nothing seems gone: the first slice has all that was there *before*; where not all of it is there still, there
    is one slice.
    """
    left, seen = Counter(piece.digest for piece in before if not piece.gone), 0
    for key in keys if before else ():
        if not left:
            break
        seen += 1
        left -= Counter((key,))
    return [len(keys)] if left else [*range(seen + SLICE, len(keys), SLICE), len(keys)]


def remove_source(source: str, context: IngestContext, index: SourceIndex) -> int:
    """Forget what came from *source* alone, now that it is gone; return how many memories that was.

    Its pieces stay recorded as gone, so that what comes back is known.
    """
    removed = 0
    for page in pages(source, context, index):
        with context.store.transaction():
            held = context.store.load(sorted({piece.memory_id for piece in page.values()}), scope=context.scope)
            writes = list(losses_of(changeable(held, source, context), source, context, index))
            if writes:
                context.store.apply(writes, at=context.now)
            gone = dict(zip(page, _gone(page.values()), strict=True))
            file = SourceFile(name=source).holding()
            context.store.change_source(source, file, project=index.project, changed=gone)
        removed += sum(isinstance(write, Forget) for write in writes)
    return removed


PAGE: Final = 2500
"""How many pieces of a source are looked at together."""


def pages(source: str, context: IngestContext, index: SourceIndex) -> Iterator[dict[int, Piece]]:
    """Yield what was imported from *source* for this project, as far as the context sees it, in parts, by place."""
    last = -1
    while page := context.store.pieces(source, project=index.project, after=last, limit=PAGE):
        last = max(page)
        if seen := visible(page, context):
            yield seen


def visible(found: Mapping[int, Piece], context: IngestContext) -> dict[int, Piece]:
    """Return those of the pieces *found* whose memories the context sees."""
    if context.project is None:
        return dict(found)
    seen = context.store.load(sorted({piece.memory_id for piece in found.values()}), scope=context.scope)
    return {place: piece for place, piece in found.items() if piece.memory_id in seen}


def pieces_of(source: str, context: IngestContext, index: SourceIndex) -> tuple[Piece, ...]:
    """Return what was imported from *source* for this project, as far as the context sees it."""
    return tuple(visible(context.store.pieces(source, project=index.project), context).values())


def _gone(pieces: Iterable[Piece]) -> list[Piece]:
    return [piece if piece.gone else replace(piece, gone=True) for piece in pieces]


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
    revived: int = 0,
    ids: Mapping[int, int] | None = None,
) -> SourceDiff:
    """Count what became of *total* drafts: *results* of those ingested, by place, *edited* ones, and what went."""
    new = tuple(place for place, result in results.items() if result.decision not in MERGED)
    touched = [place for place, result in results.items() if result.decision in MERGED and result.written]
    updated = tuple(sorted((*edited, *touched)))
    removed = sum(isinstance(write, Forget) for write in losses)
    held = ids or {place: result.id for place, result in results.items()}
    unchanged = total - len(new) - len(updated) - revived
    return SourceDiff(
        new=new,
        updated=updated,
        unchanged=unchanged,
        removed=removed,
        revived=revived,
        repeated=len(results) - len(new) - len(touched),
        ids=held,
    )


# --- what is the same, what was edited, what is gone ----------------------------------------


def _match(before: Sequence[Piece], keys: Sequence[bytes]) -> tuple[dict[int, Piece], list[Piece]]:
    """Return the pieces that are there again, by their new place, and those that are not, in their order."""
    left: dict[bytes, list[int]] = defaultdict(list)
    for at, piece in sorted(enumerate(before), key=lambda each: each[1].gone):  # what is here goes first
        left[piece.digest].append(at)
    unchanged = {place: before[left[key].pop(0)] for place, key in enumerate(keys) if left[key]}
    return unchanged, [before[at] for at in sorted(at for places in left.values() for at in places)]


def returned(
    matched: Mapping[int, Piece], drafts: Sequence[Draft], context: IngestContext
) -> tuple[dict[int, Piece], list[Restore]]:
    """Return *matched* without what is to be read anew, and what brings back the memories whose text has come back.

    What somebody forgot stays forgotten. A text whose memory is no more, or that another one holds by now, is new.
    """
    back = {place: piece.memory_id for place, piece in matched.items() if piece.gone}
    if not back:
        return dict(matched), []
    memories = context.store.load(sorted(set(back.values())), scope=context.scope)
    events = context.store.history(sorted(memories), scope=context.scope)
    ours = {row for row, memory in memories.items() if memory.deleted_at is not None and _left(events[row])}
    taken = _held_by_others([drafts[place].memory for place, row in back.items() if row in ours], context)
    anew = {
        place
        for place, row in back.items()
        if row not in memories or (row in ours and _words(drafts[place].memory) in taken)
    }
    revived = sorted({row for place, row in back.items() if row in ours and place not in anew})
    kept = {place: piece for place, piece in matched.items() if place not in anew}
    return kept, [Restore(id=row, detail={"reason": "back in its source"}) for row in revived]


def _left(events: Sequence[Event]) -> bool:
    """Tell whether a memory was last forgotten because its text had left its source."""
    return next((event.detail.get("reason") for event in reversed(events) if event.verb == "forget"), None) == REASON


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


def changeable(held: Mapping[int, Memory], source: str, context: IngestContext) -> dict[int, Memory]:
    """Return the live memories that belong to *source*, without what is trusted further than this import."""
    live = {row: memory for row, memory in held.items() if memory.source == source and memory.deleted_at is None}
    return {row: memory for row, memory in live.items() if may_change(context.trust, memory)}


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


def losses_of(lost: Mapping[int, Memory], source: str, context: IngestContext, index: SourceIndex) -> Iterator[Write]:
    """Yield what follows when the memories *lost*, which belong to *source*, no longer stand in it.

    One is forgotten, unless it is pinned; where another source says the same, it belongs to that one from now on.
    """
    others = index.others(lost.values(), source)
    contents = {other: _contents(other, context) for other in set(others.values())}
    for row, memory in sorted(lost.items()):
        other = others.get(row)
        if other is None and not memory.pinned:
            yield Forget(id=row, detail={"reason": REASON, "source": source})
        elif other is not None:
            there = contents[other].get(memory.digest, replace(memory, line=None))
            moved = replace(memory, source=other, line=there.line, title=there.title, section=there.section)
            yield Revise(memory=moved, verb="move", detail={"from": source})


def _contents(source: str, context: IngestContext) -> dict[bytes, Memory]:
    """Return what the file *source* holds, by the digest of its words; nothing where reading it now takes long."""
    path = Path(source)
    form = format_of(path)
    if form is None or form.isolated or size_of(path) > LARGEST:
        return {}
    try:
        found = [context.prepare(memory).memory for part in read_parts(path, form) for memory in part.memories]
    except InputError:
        return {}
    return {memory.digest: memory for memory in reversed(found)}
