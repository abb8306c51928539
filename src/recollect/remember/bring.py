"""Importing: files and folders into memories. Idempotent; changed and vanished files are noticed."""

import hashlib
import stat
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from recollect.errors import RecollectError
from recollect.records import EVERYTHING, Forget, Memory, Piece, Revise, Trust, Write, digest
from recollect.remember.files import LARGEST, Refused, find_files
from recollect.remember.formats import read_file
from recollect.remember.keep import Kept, keep
from recollect.remember.redact import redact
from recollect.remember.tidy import tidy
from recollect.stores.contract import Analyse, Store

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A file, or a part of one, that could not be taken in."""

    path: str
    reason: str


@dataclass(slots=True, kw_only=True)
class Brought:
    """What an import did."""

    files: Counter[str] = field(default_factory=Counter)
    memories: Counter[str] = field(default_factory=Counter)
    redacted: int = 0
    errors: list[Problem] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Where drafts come in: the store and what every import needs to know."""

    store: Store
    analyse: Analyse
    now: datetime
    project: str | None = None
    trust: Trust = "owner"
    redacting: bool = True


def bring(paths: Sequence[Path], door: Door, *, progress: Progress | None = None) -> Brought:
    """Import *paths*; one bad file never stops the rest."""
    done = Brought()
    found = list(find_files(paths))
    for number, each in enumerate(found, start=1):
        if isinstance(each, Refused):
            done.files["failed"] += 1
            done.errors.append(Problem(path=str(each.path), reason=each.reason))
            continue
        done.files["scanned"] += 1
        if progress is not None:
            progress(number, len(found), each.name)
        _bring_file(each, door, done)
    _notice_vanished(paths, {str(each) for each in _files(found)}, door, done)
    return done


def _files(found: Iterable[Path | Refused]) -> Iterator[Path]:
    return (Path(each).absolute() for each in found if isinstance(each, Path))


def _bring_file(path: Path, door: Door, done: Brought) -> None:
    source = path.absolute().as_posix()
    try:
        fingerprint = _fingerprint(path)
        if fingerprint and door.store.sources(below=source).get(source) == fingerprint:
            done.files["skipped"] += 1
            done.memories["unchanged"] += len(door.store.pieces(source))
            return
        parsed = read_file(path)
        drafts = [_through(door, memory) for memory in parsed.memories]
        with door.store.transaction():
            _take(source, fingerprint, drafts, door, done)
    except RecollectError as error:
        done.files["failed"] += 1
        done.errors.append(Problem(path=str(path), reason=f"{error}; {error.hint}" if error.hint else str(error)))
        return
    done.files["imported"] += 1
    done.errors.extend(Problem(path=str(path), reason=problem) for problem in parsed.problems)


def _fingerprint(path: Path) -> str:
    """Return what the bytes of *path* are known by; blank where reading it will say what is wrong with it."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            return ""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
    except (OSError, ValueError):
        return ""


def _through(door: Door, memory: Memory) -> Memory:
    own = memory.project if memory.project != "default" else door.project or "default"
    if (own, door.trust) != (memory.project, memory.trust):
        memory = replace(memory, project=own, trust=door.trust)
    return tidy(memory)


def _take(source: str, fingerprint: str, drafts: Sequence[Memory], door: Door, done: Brought) -> None:
    """Bring the store from what *source* held before to *drafts*."""
    marks = [_mark(draft) for draft in drafts]
    before = door.store.pieces(source)
    left = _by_mark(before)
    same = [left[mark].pop(0) if left[mark] else None for mark in marks]
    gone = _in_order(before, left)
    revised = _revisions(drafts, same, gone)
    fresh = [place for place, piece in enumerate(same) if piece is None and place not in revised]
    kept = keep(
        [drafts[place] for place in fresh],
        store=door.store,
        analyse=door.analyse,
        now=door.now,
        redacting=door.redacting,
    )
    held = {place: piece.memory_id for place, piece in enumerate(same) if piece is not None}
    held |= {place: piece.memory_id for place, piece in revised.items()}
    held |= {place: outcome.id for place, outcome in zip(fresh, kept, strict=True)}
    vanished = [piece for piece in gone if piece not in revised.values()]
    writes = [*_revise(drafts, revised, door, done), *_forget(vanished, set(held.values()), source, door)]
    door.store.apply(writes, at=door.now)
    pieces = [
        Piece(digest=mark, memory_id=held[place], section=drafts[place].section) for place, mark in enumerate(marks)
    ]
    door.store.record_source(source, fingerprint=fingerprint, pieces=pieces)
    _count(done, kept, unchanged=len(marks) - len(fresh) - len(revised), updated=len(revised), writes=writes)


def _mark(draft: Memory) -> bytes:
    """Return what a piece is known by from one import to the next: its words and where they stand."""
    return digest("\x1f".join((draft.external_id or "", draft.section or "", draft.title, draft.type, draft.content)))


def _by_mark(pieces: Sequence[Piece]) -> dict[bytes, list[Piece]]:
    by_mark: dict[bytes, list[Piece]] = defaultdict(list)
    for piece in pieces:
        by_mark[piece.digest].append(piece)
    return by_mark


def _in_order(before: Sequence[Piece], left: dict[bytes, list[Piece]]) -> list[Piece]:
    remaining = {id(piece) for pieces in left.values() for piece in pieces}
    return [piece for piece in before if id(piece) in remaining]


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


def _revise(drafts: Sequence[Memory], pairs: dict[int, Piece], door: Door, done: Brought) -> Iterator[Write]:
    held = door.store.load([piece.memory_id for piece in pairs.values()], scope=EVERYTHING)
    for place, piece in pairs.items():
        old, draft = held[piece.memory_id], drafts[place]
        cleaned = redact(draft.content) if door.redacting else None
        done.redacted += cleaned.count if cleaned else 0
        yield Revise(
            memory=replace(
                old,
                content=cleaned.text if cleaned else draft.content,
                title=draft.title,
                line=draft.line,
                section=draft.section,
                tags=draft.tags,
                type=draft.type,
                metadata=draft.metadata,
                context=draft.context,
                observed_at=draft.observed_at,
            )
        )


def _forget(vanished: Sequence[Piece], still: set[int], source: str, door: Door) -> list[Write]:
    """Forget what stood in *source* alone; a memory that another source speaks for stays."""
    rows = sorted({piece.memory_id for piece in vanished} - still)
    held = door.store.load(rows, scope=EVERYTHING)
    events = door.store.history(rows, scope=EVERYTHING)
    others = {
        row: {event.detail.get("source") for event in events[row] if event.verb == "reinforce"} - {None, source}
        for row in held
    }
    return [
        Forget(id=row, detail={"reason": "gone from its source", "source": source})
        for row, memory in held.items()
        if memory.deleted_at is None and memory.source == source and not others[row]
    ]


def _notice_vanished(paths: Sequence[Path], seen: set[str], door: Door, done: Brought) -> None:
    """Forget what came from files that are no longer there."""
    for root in paths:
        for source in door.store.sources(below=root.absolute().as_posix()):
            if source in seen or Path(source).exists():
                continue
            with door.store.transaction():
                writes = _forget(door.store.pieces(source), set(), source, door)
                door.store.apply(writes, at=door.now)
                door.store.record_source(source, fingerprint="", pieces=())
            done.memories["removed"] += len(writes)
            done.files["removed"] += 1


def _count(done: Brought, kept: Sequence[Kept], *, unchanged: int, updated: int, writes: Sequence[Write]) -> None:
    new = sum(outcome.decision in ("distinct", "updates", "conflicts") for outcome in kept)
    touched = sum(outcome.decision in ("identical", "restates") and outcome.written for outcome in kept)
    done.memories["new"] += new
    done.memories["updated"] += updated + touched
    done.memories["unchanged"] += unchanged + len(kept) - new - touched
    done.memories["removed"] += sum(isinstance(write, Forget) for write in writes)
    done.redacted += sum(outcome.redacted for outcome in kept)
