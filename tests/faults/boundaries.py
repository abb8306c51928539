"""The process dies, or the power goes, before every single change that a workload makes to its files.

A workload runs once; its changes are written down, with what the store held after each step. Then, for each change, the
files are made as they would be if the end had come just before it, opened in the usual way, and looked at.
"""

import hashlib
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import demands
from disk import Disk, Files
from faulty_files import Change, watched
from row import SCRATCH, Progress, Row, silent
from workloads import WORKLOADS, Place, State, Workload, differences, opened, state_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What one run of a workload did to the files, and what was in the store after each step."""

    workload: Workload
    start: Files
    changes: tuple[Change, ...]
    acknowledged: tuple[int, ...]
    """How many steps had returned before each change; one more number stands for the end."""
    states: tuple[State, ...]

    @property
    def ids(self) -> range:
        return range(1, 1 + max((row for state in self.states for row in state), default=0))


def record(workload: Workload, root: Path) -> Recording:
    """Run *workload* below *root* once and write down all it does."""
    place = prepared(workload, root)
    start, changes, acknowledged = place.files(), [], []
    states: list[State] = []

    def watch(change: Change) -> None:
        changes.append(change)
        acknowledged.append(len(states) - 1)

    states.append(first_state(workload, place, root / "first"))
    for session in workload.sessions:
        with watched(watch), opened(place.store, workload.model) as db:
            for step in session:
                step(db, place)
                states.append(state_of(db, range(1, 200)))
    return Recording(
        workload=workload,
        start=start,
        changes=tuple(changes),
        acknowledged=(*acknowledged, len(workload.steps)),
        states=tuple(states),
    )


def prepared(workload: Workload, root: Path) -> Place:
    """Make the store of *workload* below *root*."""
    place = Place(root=root)
    place.store.parent.mkdir(parents=True)
    workload.prepare(place)
    return place


def first_state(workload: Workload, place: Place, folder: Path) -> State:
    """Return what is in the store before the first step, seen in a copy."""
    shutil.copytree(place.store.parent, folder)
    with opened(folder / place.store.name, workload.model) as db:
        return state_of(db, range(1, 200))


# --- the ends ---------------------------------------------------------------------------------

End = Callable[[Disk, random.Random], Files]
ENDS: dict[str, End] = {
    "crash": lambda disk, _: disk.after_a_crash(),
    "power loss": lambda disk, _: disk.after_power_loss(),
    "torn power loss": lambda disk, chance: disk.after_torn_power_loss(chance),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The files as one end left them, and how many steps were acknowledged by then."""

    end: str
    boundary: int
    acknowledged: int
    files: Files

    @property
    def half_made(self) -> bool:
        """Whether SQLite had only begun to make the file: it has no log yet, but a journal to undo the first write."""
        return any(name.endswith("-journal") for name in self.files)

    @property
    def key(self) -> bytes:
        """What tells it from other ends, as far as the store is concerned."""
        hashed = hashlib.blake2b(str(self.acknowledged).encode())
        for name, held in sorted(self.files.items()):
            hashed.update(f"{name} {len(held)} ".encode() + held)
        return hashed.digest()


def ends(recording: Recording, *, every: int = 1, torn: int = 1) -> Iterator[Ended]:
    """Yield the files after an end before each change (or *every* so many) and after the last, torn in *torn* ways."""
    disk = Disk(recording.start)
    for boundary, acknowledged in enumerate(recording.acknowledged):
        if boundary % every == 0:
            for name, end in ENDS.items():
                for way in range(torn if name.startswith("torn") else 1):
                    files = end(disk, random.Random(f"{boundary} {way}"))
                    yield Ended(end=name, boundary=boundary, acknowledged=acknowledged, files=files)
        if boundary < len(recording.changes):
            disk.make(recording.changes[boundary])


# --- looking ----------------------------------------------------------------------------------


def look(ended: Ended, recording: Recording, folder: Path) -> list[str]:
    """Open what *ended* left in the usual way; return what is wrong with it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, held in ended.files.items():
        (folder / name).write_bytes(held)
    states = recording.states
    before, after = states[ended.acknowledged], states[min(ended.acknowledged + 1, len(states) - 1)]
    try:
        with opened(folder / "store.db", recording.workload.model) as db:
            problems = [*db.doctor().problems, *differences(state_of(db, recording.ids), before, after)]
            db.add("the store can be written to")
    except Exception as error:  # noqa: BLE001  (whatever it is, the store cannot be used)
        problems = [f"{type(error).__name__}: {error}"]
    where = f"{recording.workload.name}, {ended.end} before change {ended.boundary}"
    return [f"{where}: {problem}" for problem in problems]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endings:
    """How many ends were brought about, of how many kinds, and what was wrong afterwards."""

    changes: int = 0
    ends: int = 0
    looked_at: int = 0
    failures: tuple[str, ...] = ()
    known: tuple[str, ...] = ()


def end_everywhere(recording: Recording, folder: Path, *, every: int = 1, torn: int = 1) -> Endings:
    """Bring about every end of *recording* and look at each that differs from those before."""
    failures: list[str] = []
    known: list[str] = []
    seen: set[bytes] = set()
    count = 0
    for ended in ends(recording, every=every, torn=torn):
        count += 1
        if ended.key not in seen:
            seen.add(ended.key)
            demanded = demands.HALF_MADE or not ended.half_made
            (failures if demanded else known).extend(look(ended, recording, folder))
    return Endings(
        changes=len(recording.changes),
        ends=count,
        looked_at=len(seen),
        failures=tuple(failures),
        known=tuple(known),
    )


def without_syncs(recording: Recording) -> Recording:
    """Return *recording* as it would be if SQLite never waited for the disk; some ends must then lose something."""
    kept = [at for at, change in enumerate(recording.changes) if change.kind != "sync"]
    return replace(
        recording,
        changes=tuple(recording.changes[at] for at in kept),
        acknowledged=(*(recording.acknowledged[at] for at in kept), recording.acknowledged[-1]),
    )


def row(*, most: int | None = None, torn: int = 3, progress: Progress = silent) -> Row:
    """End every workload before each of its changes, or before *most* of them, evenly spread."""
    found: list[Endings] = []
    with tempfile.TemporaryDirectory(dir=SCRATCH) as name:
        for number, workload in enumerate(WORKLOADS):
            progress(number, len(WORKLOADS))
            recording = record(workload, Path(name, str(number)))
            every = 1 if most is None else -(-len(recording.acknowledged) // most)
            found.append(end_everywhere(recording, Path(name, "look"), every=every, torn=torn))
    failures = tuple(line for each in found for line in each.failures)
    known = tuple(line for each in found for line in each.known)
    changes, ended = sum(each.changes for each in found), sum(each.ends for each in found)
    names = ", ".join(workload.name for workload in WORKLOADS)
    return Row(
        title="Crash and power loss at every write",
        done=f"{len(WORKLOADS)} workloads ({names}) make {changes:,} changes to their files; before each the process "
        f"dies, the power goes with all that was not synced, or any of the unsynced sectors are left ({torn} draws): "
        f"{ended:,} ends, {sum(each.looked_at for each in found):,} of them different, each opened, checked by "
        "`doctor`, compared memory by memory and written to",
        lost=f"{len(failures)} acknowledged writes lost, half-written or damaged, or new stores that cannot be opened",
        unproven="The disk is simulated: it forgets or mixes sectors of 512 bytes, but does not lie about a sync, "
        "and keeps what it has synced. Two processes are not ended at the same moment here.",
        failures=failures,
        known=known,
    )
