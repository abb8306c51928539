"""The disk refuses the n-th change that a workload makes, for every n: an I/O error, half a write, no room left."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import apsw
from boundaries import Recording, prepared, record
from faulty_files import Change, HalfWritten, watched
from row import SCRATCH, Progress, Row, silent
from workloads import NOON, WORKLOADS, Place, Step, Workload, contents, differences, opened, state_of

import recollect
from recollect import Recollection, StoreError

CHOSEN = ("add", "import", "purge", "migration from the oldest format")
"""The workloads whose every change is refused once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One way to refuse a change: once, or from then on."""

    name: str
    refuse: Callable[[Change], None]
    once: bool = True


def fail(_: Change) -> None:
    raise apsw.IOError("the disk does not answer")


def write_half(change: Change) -> None:
    if change.kind != "write":
        fail(change)
    raise HalfWritten


def have_no_room(change: Change) -> None:
    if change.kind == "write":
        raise apsw.FullError("no room is left")


FAULTS = (
    Fault(name="I/O error", refuse=fail),
    Fault(name="short write", refuse=write_half),
    Fault(name="full disk", refuse=have_no_room, once=False),
)


@dataclass(slots=True, kw_only=True)
class Gate:
    """Count the changes and refuse the n-th."""

    fault: Fault
    at: int
    count: int = 0

    def __call__(self, change: Change) -> None:
        self.count += 1
        if self.count == self.at or (self.count > self.at and not self.fault.once):
            self.fault.refuse(change)

    @property
    def reached(self) -> bool:
        return self.count >= self.at


@dataclass(slots=True, kw_only=True)
class Attempt:
    """What became of the steps of a workload."""

    acknowledged: int = 0
    errors: list[Exception] = field(default_factory=list)


def attempt(workload: Workload, place: Place, gate: Gate) -> Attempt:
    """Do the steps while *gate* refuses a change; what fails is tried once more, in the same process."""
    done = Attempt()
    with watched(gate):
        for _ in range(2):
            try:
                with _closed_in_peace(recollect.open(place.store, model=workload.model, clock=lambda: NOON)) as db:
                    while done.acknowledged < len(workload.steps):
                        _do_next(workload.steps[done.acknowledged], db, place, done)
            except Exception as error:  # noqa: BLE001  (which errors are allowed is judged later)
                done.errors.append(error)
            else:
                break
    return done


@contextmanager
def _closed_in_peace(db: Recollection) -> Iterator[Recollection]:
    """Close *db* in the end. SQLite keeps to itself what goes wrong then; only the driver of a VFS in Python tells."""
    try:
        yield db
    finally:
        with suppress(apsw.Error):
            db.close()


def _do_next(step: Step, db: Recollection, place: Place, done: Attempt) -> None:
    """Do *step*; the first error of all is passed over, so that the step is tried again with the same connection."""
    try:
        step(db, place)
    except StoreError as error:
        if done.errors:
            raise
        done.errors.append(error)
    else:
        done.acknowledged += 1


def judge(recording: Recording, place: Place, done: Attempt) -> Iterator[str]:
    """Say what is wrong with the errors, with the store as they left it, and with it once the steps are done again."""
    yield from (f"not one line of ours: {error!r}" for error in done.errors if not _is_ours(error))
    states, steps = recording.states, recording.workload.steps
    now, then = states[done.acknowledged], states[min(done.acknowledged + 1, len(states) - 1)]
    try:
        with opened(place.store, recording.workload.model) as db:
            found = state_of(db, recording.ids)
            yield from db.doctor().problems
            yield from () if contents(found) == contents(now) else differences(found, now, then)
            for step in steps[done.acknowledged :]:
                step(db, place)
            yield from db.doctor().problems
            if contents(state_of(db, recording.ids)) != contents(states[-1]):
                yield "the steps were done again and the store does not hold what it should"
    except Exception as error:  # noqa: BLE001  (whatever it is, the store cannot be used)
        yield f"afterwards {type(error).__name__}: {error}"


def _is_ours(error: Exception) -> bool:
    return isinstance(error, StoreError) and bool(error.hint) and len(str(error).splitlines()) == 1


@dataclass(slots=True, kw_only=True)
class Refusals:
    """How many changes were refused, how many of the refusals were told, and what was wrong afterwards."""

    refused: int = 0
    told: int = 0
    failures: list[str] = field(default_factory=list)


def refuse_each(recording: Recording, fault: Fault, root: Path, *, every: int = 1) -> Refusals:
    """Refuse the first change, the second, and so on (or *every* so many) until there is none left to refuse.

    It happens below *root*, where the recording was made: memories know the files they came from.
    """
    found = Refusals()
    for at in count(1, every):
        shutil.rmtree(root)
        place, gate = prepared(recording.workload, root), Gate(fault=fault, at=at)
        done = attempt(recording.workload, place, gate)
        if not gate.reached:
            return found
        found.refused += 1
        found.told += bool(done.errors)
        where = f"{recording.workload.name}, {fault.name} at change {at}"
        if fault.once and len(done.errors) > 1:
            found.failures.append(f"{where}: one refusal, but trying again failed too: {done.errors[1]}")
        found.failures += [f"{where}: {problem}" for problem in judge(recording, place, done)]
    return found


def row(*, most: int | None = None, progress: Progress = silent) -> Row:
    """Refuse every change of the chosen workloads, or *most* of each, in every way."""
    chosen = [workload for workload in WORKLOADS if workload.name in CHOSEN]
    found: list[Refusals] = []
    with tempfile.TemporaryDirectory(dir=SCRATCH) as name:
        for workload in chosen:
            recording = record(workload, Path(name, workload.name))
            every = 1 if most is None else -(-len(recording.changes) // most)
            for fault in FAULTS:
                progress(len(found), len(chosen) * len(FAULTS))
                found.append(refuse_each(recording, fault, Path(name, workload.name), every=every))
    failures = tuple(line for each in found for line in each.failures)
    refused, told = sum(each.refused for each in found), sum(each.told for each in found)
    return Row(
        title="The disk fails",
        done=f"Each change of {', '.join(CHOSEN)} is refused once in each of three ways (I/O error, half a write and "
        f"then an error, no room from then on): {refused:,} refusals, {told:,} of them told as an error and the rest "
        "of no consequence, the step tried again, the store opened afterwards",
        lost=f"{len(failures)} acknowledged writes lost, stores damaged, errors that are not one line of ours",
        unproven="Reads do not fail here, memory does not run out, and a disk that says it wrote what it did not is "
        "not simulated.",
        failures=failures,
    )
