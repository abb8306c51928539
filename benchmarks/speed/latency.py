"""Sections words, vectors and hybrid: everyone in turns over the same questions, on one core with one thread."""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.speed.material import QUESTIONS, folder_of
from benchmarks.speed.progress import say
from benchmarks.speed.results import Result, Samples
from benchmarks.speed.worker import ToolFailed, Worker

ROUNDS = 8
BUDGET = 1.0
"""So many seconds a tool may take for its questions of a round."""
SMALL = 10_000
SETTLED = 6
"""So many questions are asked before the first one counts."""
ROWS = {
    "words": ("words", "question", "keyword"),
    "vectors": ("vectors",),
    "hybrid": ("hybrid",),
}
"""The rows of each section; rows that begin so belong to it as well."""


def measure(sections: Sequence[str], text: str, size: int, engines: Sequence[str]) -> list[Result]:
    """Return what everyone took in these *sections*, what they hold, and what their indexes took."""
    material = folder_of(text, size)
    with ExitStack() as stack:
        workers, failed = _started(engines, material, stack)
        taken = {
            (worker.engine, row): (worker, Samples())
            for worker in workers
            for row in worker.facts["rows"]
            if _section(row) in sections and _is_asked(row, text, size)
        }
        gone = _warm(taken)
        failed += gone.items()
        workers = [worker for worker in workers if worker.engine not in gone]
        taken = {key: each for key, each in taken.items() if key[0] not in gone}
        _ask_all(taken, f"{text} {size:,}")
        truth = _truth(workers) if "vectors" in sections else {}
        found = [
            _result(worker, row, samples, truth, text=text, size=size) for (_, row), (worker, samples) in taken.items()
        ]
        found += [_held(worker, text=text, size=size) for worker in workers]
        found += _memory(workers, material, text=text, size=size) if "hybrid" in sections else []
    return [
        *found,
        *(Result(section="index", row="index", engine=name, text=text, size=size, failed=why) for name, why in failed),
    ]


def _section(row: str) -> str:
    return next((name for name, rows in ROWS.items() if row.split(",", maxsplit=1)[0] in rows), "")


def _is_asked(row: str, text: str, size: int) -> bool:
    """Tell whether *row* is measured here: what single stages cost is told at one size only."""
    return not row.startswith("keyword,") or (text == "zipf" and size <= SMALL)


def _started(engines: Sequence[str], material: Path, stack: ExitStack) -> tuple[list[Worker], list[tuple[str, str]]]:
    """Return the tools that could be started, and why others could not."""
    workers, failed = [], []
    core = [max(os.sched_getaffinity(0))] if hasattr(os, "sched_getaffinity") else []
    for name in engines:
        say(f"{material.name}: {name} builds its index or opens it")
        try:
            workers.append(stack.enter_context(Worker(name, material, cores=core)))
        except ToolFailed as reason:
            failed.append((name, str(reason)))
    return workers, failed


Taken = Mapping[tuple[str, str], tuple[Worker, Samples]]


def _warm(taken: Taken) -> dict[str, str]:
    """Ask everyone a few questions; return which peers could not answer, and why."""
    gone: dict[str, str] = {}
    for (name, row), (worker, _) in taken.items():
        try:
            if name not in gone:
                worker.ask(row=row, numbers=list(range(QUESTIONS - SETTLED, QUESTIONS)), budget=BUDGET)
        except ToolFailed as reason:
            if name == "recollect":
                raise
            gone[name] = str(reason)
    return gone


def _ask_all(taken: Taken, where: str) -> None:
    """Ask round by round; everyone gets the same block of questions, each round begun by another one."""
    everyone = list(taken.items())
    each = (QUESTIONS - SETTLED) // ROUNDS
    for turn in range(ROUNDS):
        first = turn * len(everyone) // ROUNDS
        for (name, row), (worker, samples) in (*everyone[first:], *everyone[:first]):
            say(f"{where}: round {turn + 1}/{ROUNDS}, {name} {row}")
            numbers = list(range(turn * each, (turn + 1) * each))
            samples.take(worker.ask(row=row, numbers=numbers, budget=BUDGET))


def _truth(workers: Sequence[Worker]) -> dict[int, set[int]]:
    """Return the true nearest 100 of some questions, as NumPy finds them in float32."""
    exact = next((worker for worker in workers if worker.engine == "numpy"), None)
    return {} if exact is None else {at: set(ids) for at, ids in enumerate(_ids(exact, "vectors"))}


def _ids(worker: Worker, row: str) -> list[list[int]]:
    found = worker.ask(row=row, numbers=list(range(50)), budget=5 * BUDGET, ids=True)
    ids: list[list[int]] = found["ids"]
    return ids


def _recall(worker: Worker, row: str, truth: Mapping[int, set[int]]) -> float | None:
    if not truth or not row.startswith("vectors"):
        return None
    shares = [
        len(truth[at].intersection(ids)) / len(truth[at]) for at, ids in enumerate(_ids(worker, row)) if at in truth
    ]
    return sum(shares) / len(shares)


def _result(
    worker: Worker, row: str, samples: Samples, truth: Mapping[int, set[int]], *, text: str, size: int
) -> Result:
    known: dict[str, Any] = {**samples.figures(), "recall": _recall(worker, row, truth)}
    version, note = worker.facts["version"], worker.facts["note"]
    return Result(
        section=_section(row), row=row, engine=worker.engine, text=text, size=size, version=version, note=note, **known
    )


def _held(worker: Worker, *, text: str, size: int) -> Result:
    """Return what the tool holds after its questions and what its index took."""
    memory, built = worker.ask(held=True), worker.built
    count = built.get("documents", size)
    return Result(
        section="index",
        row="index",
        engine=worker.engine,
        text=text,
        size=size,
        per_second=count / max(built["seconds"], 1e-9),
        cpu_per_second=count / max(built["cpu"], 1e-9),
        memory_mb=memory["VmRSS"],
        anonymous_mb=memory["RssAnon"],
        peak_mb=built["peak_mb"],
        disk_mb=built["disk_mb"],
        version=worker.facts["version"],
        note=worker.facts["note"],
    )


def _memory(workers: Sequence[Worker], material: Path, *, text: str, size: int) -> list[Result]:
    """Return what a new process of each tool holds that has answered nothing but hybrid questions."""
    found = []
    for name in [worker.engine for worker in workers if "hybrid" in worker.facts["rows"]]:
        say(f"{text} {size:,}: memory of {name}")
        with Worker(name, material) as worker:
            worker.ask(row="hybrid", numbers=list(range(30)), budget=5 * BUDGET)
            held, before = worker.ask(held=True), worker.facts["before"]
        found.append(
            Result(
                section="memory",
                row="hybrid",
                engine=name,
                text=text,
                size=size,
                memory_mb=held["VmRSS"],
                anonymous_mb=held["RssAnon"],
                peak_mb=held["VmHWM"],
                value=before["VmRSS"],
                version=worker.facts["version"],
            )
        )
    return found
