"""Sections add, load and model: writing to a large store, many readers at once, and searches that embed."""

import statistics
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from benchmarks.speed.material import QUESTIONS, folder_of
from benchmarks.speed.progress import say
from benchmarks.speed.results import Result, Samples
from benchmarks.speed.worker import Worker, index_of

ROUNDS = 8
WIDE = (1, 2, 4, 8)
SECONDS = 1.0
WARMING = 1.5


def add(text: str, size: int) -> list[Result]:
    """Add to the large store and to an empty one in turns; what was added must be found at once."""
    material = folder_of(text, size)
    rows = ("add", "add and find")
    with Worker("recollect", material) as large, Worker("recollect_empty", material) as empty:
        taken = {(worker.engine, row): Samples() for worker in (large, empty) for row in rows}
        for turn in range(ROUNDS + 1):
            say(f"{text} {size:,}: adding, round {turn}/{ROUNDS}")
            for worker in (large, empty) if turn % 2 else (empty, large):
                for row in rows:
                    answer = worker.ask(row=row, numbers=list(range(turn * 8, turn * 8 + 8)), budget=2.0)
                    if turn:  # the first round warms up
                        taken[worker.engine, row].take(answer)
    return [
        Result(section="add", row=row, engine=engine, text=text, size=size, **samples.figures())
        for (engine, row), samples in taken.items()
    ]


def model(text: str, size: int) -> list[Result]:
    """Embed a question, and search with one that has to be embedded, in turns; the model has all its threads."""
    rows, material = ("embedding", "embedded hybrid"), folder_of(text, size)
    index_of("recollect", material)  # of which the store with a model is a copy
    with Worker("recollect_model", material, threads=True) as worker:
        taken = {row: Samples() for row in rows}
        for row in rows:
            worker.ask(row=row, numbers=list(range(QUESTIONS - 8, QUESTIONS)), budget=2.0)
        for turn in range(ROUNDS):
            say(f"{text} {size:,}: with the model, round {turn + 1}/{ROUNDS}")
            for row in rows if turn % 2 else reversed(rows):
                taken[row].take(worker.ask(row=row, numbers=list(range(turn * 25, turn * 25 + 25)), budget=2.0))
        memory = worker.ask(held=True)["VmRSS"]
    return [
        Result(
            section="model", row=row, engine="recollect", text=text, size=size, memory_mb=memory, **samples.figures()
        )
        for row, samples in taken.items()
    ]


def load(text: str, size: int) -> list[Result]:
    """Ask hybrid questions from 1 to 8 threads of one process, and from 1 to 8 processes, twice in turns."""
    material = folder_of(text, size)
    answered: dict[tuple[str, int], list[float]] = {}
    for turn in range(2):
        for width in WIDE:
            for kind, ask in KINDS.items():
                say(f"{text} {size:,}: {width} {kind}, round {turn + 1}/2")
                answered.setdefault((kind, width), []).append(ask(material, width))
    return [
        Result(
            section="load",
            row=kind,
            engine="recollect",
            text=text,
            size=size,
            per_second=statistics.median(found),
            rounds=tuple(found),
            **{kind: width},
        )
        for (kind, width), found in answered.items()
    ]


def _threads(material: Path, width: int) -> float:
    with Worker("recollect", material) as worker:
        _warm(worker)
        return _rate(worker.ask(**_hybrid(width)))


def _processes(material: Path, width: int) -> float:
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker("recollect", material)) for _ in range(width)]
        for worker in workers:
            _warm(worker)
        for worker in workers:
            worker.send(**_hybrid(1))
        return sum(_rate(worker.read()) for worker in workers)


def _warm(worker: Worker) -> None:
    """Let a process load what it needs: one reader would pay for all of it, and eight share it."""
    worker.ask(**{**_hybrid(1), "seconds": WARMING})


def _hybrid(threads: int) -> dict[str, object]:
    return {"row": "hybrid", "threads": threads, "seconds": SECONDS, "numbers": list(range(QUESTIONS))}


def _rate(answer: dict[str, float]) -> float:
    if answer["errors"]:
        raise RuntimeError(f"under load: {answer['errors']}")
    return answer["answers"] / answer["seconds"]


KINDS: dict[str, Callable[[Path, int], float]] = {"threads": _threads, "processes": _processes}
