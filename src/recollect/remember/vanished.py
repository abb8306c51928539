"""Find files that are no longer where they were imported from, and decide whether their memories are forgotten.

An absent folder is not a deletion: nothing below an unreadable path is forgotten, nor anything from a device that is
not mounted. If all or most files below a root would go, the user has to say so.
"""

import os
import stat
from array import array
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path, PurePosixPath
from typing import Final

from msgspec import Struct

from recollect.records import SourceHead
from recollect.remember.marks import Marks
from recollect.remember.secret_rules import MARK
from recollect.remember.sources import SourceIndex

MAX_UNASKED_FILES: Final = 5
"""This many files may go from below a root whatever share of it they are, unless they are all."""
MAX_UNASKED_SHARE: Final = 0.5
"""The share of the files below a root that may go without being asked for."""
DEVICE_MASK: Final = 2**63 - 1


class Vanished(Struct, frozen=True, kw_only=True):
    """Sources that are gone, those kept out of caution, and how many memories are kept with them."""

    gone: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    memories: int = 0


class Seen(Struct, frozen=True, kw_only=True):
    """The files an import found, by device of their folder, the paths it could not read, and its roots."""

    devices: Mapping[str, int]
    refused: frozenset[str]
    roots: tuple[str, ...]

    def root_of(self, name: str) -> str:
        """Return the nearest root above *name*."""
        return max((root for root in self.roots if lies_in(name, root)), key=len, default="")


def lies_in(name: str, folder: str) -> bool:
    """Return whether *name* is *folder* or below it."""
    return name == folder or name.startswith(f"{folder.rstrip('/')}/")


def device_of(folder: Path) -> int:
    """Return the number of the device that *folder* is on, or 0."""
    try:
        return folder.stat().st_dev & DEVICE_MASK
    except (OSError, ValueError):
        return 0


def find_vanished(recorded: Mapping[str, SourceHead], seen: Seen, index: SourceIndex, *, prune: bool) -> Vanished:
    """Return which of the sources *recorded* below the roots are gone; with *prune* none is kept out of caution."""
    held = {name: source for name, source in recorded.items() if source.held}
    unseen = sorted(held.keys() - seen.devices.keys())
    # A redacted name does not tell which file it was.
    away = [name for name in unseen if MARK not in name and not _is_there(name)]
    away = [name for name in away if seen.refused.isdisjoint((name, *map(str, PurePosixPath(name).parents)))]
    renumbered = {held[name].device: device for name, device in seen.devices.items() if name in held}
    if prune:
        return Vanished(gone=tuple(away))
    missing = {name for name in away if _is_absent(name, renumbered.get(held[name].device, held[name].device))}
    lost, moved = _losses([name for name in away if name not in missing], index)
    kept = held.keys() - lost.keys() | moved
    cautious = {name for group in _groups(held, seen) if _is_too_much(group, lost, kept) for name in group}
    withheld = tuple(name for name in away if name in missing or (name in cautious and lost[name]))
    rows = Marks()
    for name in withheld:
        rows.update(lost.get(name) or _rows(name, index))
    return Vanished(gone=tuple(name for name in away if name not in withheld), withheld=withheld, memories=len(rows))


def _is_there(name: str) -> bool:
    """Return whether a file or a link exists or may exist: an unreadable one is not gone."""
    try:
        os.lstat(name)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return True


def _is_absent(name: str, device: int) -> bool:
    """Return whether the folder of *name* is absent too: behind a dangling link, or on another device."""
    for folder in Path(name).parents:
        try:
            status = folder.stat()
        except FileNotFoundError:
            if folder.is_symlink():
                return True
            continue
        except OSError:
            return True
        return not stat.S_ISDIR(status.st_mode) or device not in (0, status.st_dev & DEVICE_MASK)
    return True


def _rows(name: str, index: SourceIndex) -> Iterator[int]:
    """Yield the memories that the source *name* holds."""
    for page in index.pages(name):
        yield from (piece.memory_id for piece in page.values() if not piece.gone)


def _losses(away: Sequence[str], index: SourceIndex) -> tuple[dict[str, "array[int]"], set[str]]:
    """Return for each source that is *away* the memories that would be forgotten, and which live on elsewhere."""
    gone = {(index.project, name) for name in away}
    lost, moved = {name: array("q") for name in away}, set()
    for name in away:
        for page in index.pages(name):
            rows = {piece.memory_id for piece in page.values() if not piece.gone}
            memories = index.store.load(sorted(rows), scope=index.context.scope) if rows else {}
            live = {row: memory for row, memory in memories.items() if memory.deleted_at is None}
            held = index.holders(live.values())
            moved |= {name for row in live if held[row] - gone}
            lost[name].extend(
                row for row, each in live.items() if (index.project, each.source) in gone and held[row] <= gone
            )
    return lost, moved


def _groups(held: Mapping[str, SourceHead], seen: Seen) -> Iterator[list[str]]:
    """Yield the sources below each root of this import, and below each root of an earlier one."""
    groups: dict[str, list[str]] = {}
    for name, source in held.items():
        for root in {seen.root_of(name), source.root} - {name, ""}:
            groups.setdefault(root, []).append(name)
    yield from groups.values()


def _is_too_much(group: Sequence[str], lost: Mapping[str, "array[int]"], kept: AbstractSet[str]) -> bool:
    """Return whether an import would forget most memories below a root, which may be a mistake."""
    going = [name for name in group if lost.get(name)]
    return bool(going) and (
        kept.isdisjoint(group) or (len(going) > MAX_UNASKED_FILES and len(going) > MAX_UNASKED_SHARE * len(group))
    )
