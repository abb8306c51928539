"""Writer processes: some are killed at a random moment, some crowd on one file; nothing acknowledged may be lost."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import demands
from row import Progress, Row, silent
from writer import note_of, text_of

import recollect
from recollect import InputError, Memory, Recollection

WRITER = Path(__file__).parent / "writer.py"
ROUNDS_OF_ONE_STORE = 12
PATIENCE = 300.0
"""How many seconds a writer may keep others waiting before it counts as hanging."""


@dataclass(slots=True, kw_only=True)
class Ledger:
    """What writers said they did: the last state of each key that is sure, and the one they were about to reach."""

    sure: dict[str, str] = field(default_factory=dict)
    begun: dict[str, str] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    verbs: Counter[str] = field(default_factory=Counter)
    alarms: list[str] = field(default_factory=list)

    def read(self, lines: Iterable[str]) -> None:
        """Take in *lines*; one without its end was never finished."""
        for line in lines:
            match line.split() if line.endswith("\n") else ():
                case ("begin", "note", name, version):
                    self.begun[name] = version
                case ("done", "note", name, version):
                    self.sure[name] = self.begun.pop(name, version)
                case ("begin", state, key):
                    self.begun[key] = state
                case ("done", state, key, row):
                    self.sure[key] = state
                    self.begun.pop(key, None)
                    self.rows[key] = int(row)
                case ("verb", verb):
                    self.verbs[verb] += 1
                case ("alarm", *words):
                    self.alarms.append(" ".join(words))

    def allowed(self, key: str) -> set[str | None]:
        """Return the states that *key* may be in."""
        return {self.sure.get(key), *([self.begun[key]] if key in self.begun else [])}

    def settle(self, found: dict[str, str]) -> None:
        """Take what was *found* as sure: it was there once, so it must stay."""
        for key in self.begun:
            if key in found:
                self.sure[key] = found[key]
        self.begun.clear()


# --- what the store holds -----------------------------------------------------------------------


def complaints(path: Path, ledger: Ledger) -> Iterator[str]:
    """Compare the store at *path* with *ledger*; then take what is there as sure."""
    with recollect.open(path, model="none") as db:
        yield from db.doctor().problems
        memories = [memory for memory, _ in db.export()]
        rows = {memory.id for memory in memories}
        memories += _forgotten(db, [row for row in ledger.rows.values() if row not in rows])
    texts = Counter(memory.content for memory in memories if memory.deleted_at is None)
    yield from (f"twice: {text}" for text, count in texts.items() if count > 1)
    found = _states(memories) | _versions(texts, ledger)
    for key in sorted(ledger.sure.keys() | ledger.begun.keys()):
        if found.get(key) not in ledger.allowed(key):
            yield f"{key} is {found.get(key)}, not {ledger.allowed(key)}"
    wrong = (memory for memory in memories if memory.external_id and memory.content != text_of(memory.external_id))
    yield from (f"{memory.external_id} says {memory.content!r}" for memory in wrong)
    ledger.settle(found)


def _forgotten(db: Recollection, rows: Iterable[int]) -> Iterator[Memory]:
    for row in rows:
        with suppress(InputError):  # it is gone; the comparison will tell
            yield db.show(row).memory


def _states(memories: Iterable[Memory]) -> dict[str, str]:
    return {memory.external_id: _state(memory) for memory in memories if memory.external_id}


def _state(memory: Memory) -> str:
    if memory.deleted_at is not None:
        return "forgotten"
    return "live" if memory.superseded_by is None else "superseded"


def _versions(texts: Counter[str], ledger: Ledger) -> dict[str, str]:
    """Return the one version of each note that is there, whole, or what is there instead."""
    found = {}
    for name in (key for key in ledger.sure.keys() | ledger.begun.keys() if "f" in key):
        wanted = sorted(version for version in ledger.allowed(name) if version)
        parts = {version: sum(texts[text] for text in note_of(name, int(version))) for version in wanted}
        there = {version: count for version, count in parts.items() if count}
        if there:
            whole = len(there) == 1 and set(there.values()) == {len(note_of(name, 1))}
            found[name] = next(iter(there)) if whole else f"in parts {there}"
    return found


# --- processes ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A writer, and the file that it writes its lines to."""

    process: "subprocess.Popen[str]"
    told: Path

    def lines(self) -> list[str]:
        return self.told.read_text(encoding="utf-8").splitlines(keepends=True)

    def wait_for(self, count: int) -> None:
        """Wait until it has told so many lines, or ended, or does not get on."""
        until = time.monotonic() + PATIENCE
        while len(self.lines()) < count and self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)

    def end(self, seconds: float = 0) -> str:
        """Wait for its end, which is due in so many *seconds*; return what it complained of."""
        try:
            said = self.process.communicate(timeout=seconds + PATIENCE)[1].strip()
        except subprocess.TimeoutExpired:
            self.process.kill()
            said = f"hung: {self.process.communicate()[1].strip()}"
        return said or (f"ended with {self.process.returncode}" if self.process.returncode else "")


def start(path: Path, name: str, mix: str, seconds: float) -> Started:
    """Start a writer; it knows nothing of the settings of whoever runs this."""
    surroundings = {key: value for key, value in os.environ.items() if not key.startswith("RECOLLECT_")}
    told = path.parent / f"{name}.told"
    with told.open("wb") as out:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, str(WRITER), str(path), str(path.parent), name, mix, str(seconds)],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            env={**surroundings, "RECOLLECT_CONFIG": ""},
        )
    return Started(process=process, told=told)


def kill_some(path: Path, name: str, chance: random.Random, ledger: Ledger) -> Iterator[str]:
    """Start one or two writers and kill them at a random moment."""
    writers = [start(path, f"{name}w{number}", "writing", 600) for number in range(chance.randint(1, 2))]
    for writer in writers:
        writer.wait_for(chance.randint(1, 60))
    time.sleep(chance.random() * 0.1)
    for writer in writers:
        writer.process.kill()
    for writer in writers:
        said = writer.end()
        ledger.read(writer.lines())
        if said != f"ended with {-signal.SIGKILL}":
            yield said


def killed(*, rounds: int, seed: int = 7, progress: Progress = silent) -> Row:
    """Kill writers in so many *rounds*."""
    chance, failures, verbs, sure = random.Random(seed), [], Counter[str](), 0
    with tempfile.TemporaryDirectory() as name:
        for number in range(rounds):
            progress(number, rounds)
            if number % ROUNDS_OF_ONE_STORE == 0:
                ledger, path = Ledger(), Path(name, str(number), "store.db")
                path.parent.mkdir()
            found = [*kill_some(path, f"r{number}", chance, ledger), *complaints(path, ledger)]
            failures += [f"round {number}: {problem}" for problem in found]
            if number % ROUNDS_OF_ONE_STORE == ROUNDS_OF_ONE_STORE - 1 or number == rounds - 1:
                verbs, sure = verbs + ledger.verbs, sure + len(ledger.sure)
    return Row(
        title="SIGKILL at random",
        done=f"{rounds} rounds in which one or two writers (add, forget, restore, supersede, import, pin, embed, "
        f"reindex) are killed at a random moment; {verbs.total():,} verbs done, {sure:,} memories and notes followed",
        lost=f"{len(failures)} lost, doubled, half-written or damaged",
        unproven="Random moments miss what is rare; the row above goes through all of them, for one process.",
        failures=tuple(failures),
    )


def crowded(*, seconds: float, processes: int = 8, progress: Progress = silent) -> Row:
    """Let several writers do all verbs to one file at the same time."""
    ledger = Ledger()
    progress(0, 1)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "store.db")
        started = [start(path, f"w{number}", "mixed", seconds) for number in range(processes)]
        complained = [writer.end(seconds) for writer in started]
        failures = [said.splitlines()[-1] for said in complained if said]
        for writer in started:
            ledger.read(writer.lines())
        failures += complaints(path, ledger)
    alarms = tuple(f"`doctor` beside writers: {alarm}" for alarm in ledger.alarms)
    return Row(
        title=f"{processes} processes on one file",
        done=f"{processes} processes for {seconds:.0f} s, {len(ledger.verbs)} verbs, {ledger.verbs.total():,} done "
        f"({', '.join(f'{verb} {count}' for verb, count in sorted(ledger.verbs.items()))})",
        lost=f"{len(failures)} errors, losses or duplicates; {len(ledger.alarms)} false alarms of "
        f"{ledger.verbs['doctor']} `doctor`s beside the writers",
        unproven="One machine and a local disk; a file on a network share is not promised.",
        failures=(*failures, *(alarms if demands.NO_FALSE_ALARM else ())),
        known=() if demands.NO_FALSE_ALARM else alarms,
    )
