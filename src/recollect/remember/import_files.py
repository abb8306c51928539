"""Importing: files and folders into memories. Idempotent; changed and vanished files are noticed."""

import gc
import hashlib
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from recollect.errors import FileError, InputError, RecollectError
from recollect.records import Memory, Piece, Trust
from recollect.remember.clean import tidy
from recollect.remember.find_files import LARGEST, Refused, find_files
from recollect.remember.formats import SUFFIXES, Exported, Parsed, read_file
from recollect.remember.ingest import keep
from recollect.remember.redact import redact_memory
from recollect.remember.restore_export import Returning, reclaim
from recollect.remember.sync_source import Door, Holders, Settled, lose, mark, record, settle

Progress = Callable[[int, int, str], None]
TRUSTED: Sequence[Trust] = ("untrusted", "agent", "owner")


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


def bring(paths: Sequence[Path], door: Door, *, progress: Progress | None = None) -> Brought:
    """Import *paths*; one bad file never stops the rest, a store in trouble stops it all."""
    done, holders = Brought(), Holders(door.store)
    found = list(find_files(paths, suffixes=SUFFIXES))
    seen = {source_of(each) for each in found if isinstance(each, Path)}
    for number, each in enumerate(found, start=1):
        if isinstance(each, Refused):
            done.files["failed"] += 1
            done.errors.append(Problem(path=str(each.path), reason=each.reason))
            continue
        done.files["scanned"] += 1
        if progress is not None:
            progress(number, len(found), each.name)
        with _undisturbed():
            _bring_file(each, door, holders, done)
    _notice_vanished(paths, seen, door, holders, done)
    return done


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let the collector of cycles rest: a file becomes many values without any, which it would go through in vain."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def source_of(path: Path) -> str:
    """Return the name that *path* goes by in a store: absolute, and text whatever the file system holds."""
    return os.fsencode(path.absolute().as_posix()).decode("utf-8", "backslashreplace")


def _bring_file(path: Path, door: Door, holders: Holders, done: Brought) -> None:
    source, fingerprint = source_of(path), _fingerprint(path)
    if fingerprint and door.store.sources(below=source).get(source) == fingerprint:
        done.files["skipped"] += 1
        done.memories["unchanged"] += len(door.store.pieces(source))
        return
    try:
        parsed = _read(path)
        through = [_through(door, memory, parsed.exported.get(at)) for at, memory in enumerate(parsed.memories)]
        with door.store.transaction():
            drafts = [memory for memory, _ in through]
            take = _take_back if parsed.exported else _take
            settled = take(source, fingerprint, drafts, parsed, door, holders)
    except InputError as error:
        done.files["failed"] += 1
        done.errors.append(Problem(path=str(path), reason=f"{error}; {error.hint}" if error.hint else str(error)))
        return
    done.files["imported"] += 1
    done.errors.extend(Problem(path=str(path), reason=problem) for problem in parsed.problems)
    _count(done, settled, [secrets for _, secrets in through])


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


def _read(path: Path) -> Parsed:
    try:
        return read_file(path)
    except RecollectError:
        raise
    except Exception as error:  # a fault in one reader must not cost the other files
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise FileError(f"it cannot be understood: {said}", hint="please report this") from error


def _through(door: Door, memory: Memory, exported: Exported | None) -> tuple[Memory, int]:
    """Return *memory* as it passes the *door*, and how many secrets stay outside."""
    project = memory.project if memory.project != "default" else door.project or "default"
    trust = door.trust if exported is None else min(memory.trust, door.trust, key=TRUSTED.index)
    if (project, trust) != (memory.project, memory.trust):
        memory = replace(memory, project=project, trust=trust)
    ready = tidy(memory)
    redacted = redact_memory(ready) if door.redacting else None
    return (redacted.memory, redacted.count) if redacted else (ready, 0)


def _take(source: str, fingerprint: str, drafts: Sequence[Memory], _: Parsed, door: Door, holders: Holders) -> Settled:
    return settle(source, fingerprint, drafts, door, holders)


def _take_back(
    source: str, fingerprint: str, drafts: Sequence[Memory], parsed: Parsed, door: Door, holders: Holders
) -> Settled:
    """Take in an export of our own; records of another kind in the same file are kept as new ones."""
    ours = sorted(parsed.exported)
    others = [place for place in range(len(drafts)) if place not in parsed.exported]
    returning = [Returning(memory=drafts[place], exported=parsed.exported[place]) for place in ours]
    rest = [drafts[place] for place in others]
    kept = dict(zip(ours, reclaim(returning, store=door.store, now=door.now), strict=True))
    kept |= zip(others, keep(rest, store=door.store, analyse=door.analyse, now=door.now, redacting=False), strict=True)
    pieces = [Piece(digest=mark(draft), memory_id=kept[place].id) for place, draft in enumerate(drafts)]
    record(source, fingerprint, door.store.pieces(source), pieces, door.store, holders)
    new = tuple(place for place, outcome in kept.items() if outcome.decision not in ("identical", "restates"))
    updated = tuple(place for place, outcome in kept.items() if place not in new and outcome.written)
    return Settled(new=new, updated=updated, unchanged=len(drafts) - len(new) - len(updated))


def _notice_vanished(paths: Sequence[Path], seen: set[str], door: Door, holders: Holders, done: Brought) -> None:
    """Forget what came from files that are no longer there."""
    for root in paths:
        for source in door.store.sources(below=source_of(root)):
            if source in seen or Path(source).exists():
                continue
            with door.store.transaction():
                done.memories["removed"] += lose(source, door, holders)
            done.files["removed"] += 1


def _count(done: Brought, settled: Settled, secrets: Sequence[int]) -> None:
    done.memories["new"] += len(settled.new)
    done.memories["updated"] += len(settled.updated)
    done.memories["unchanged"] += settled.unchanged
    done.memories["removed"] += settled.removed
    done.redacted += sum(secrets[place] for place in (*settled.new, *settled.updated))
