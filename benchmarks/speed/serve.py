"""One tool in a process of its own: builds its index, or answers blocks of questions and tells what each took.

usage: python -m benchmarks.speed.serve build|ask ENGINE MATERIAL HOME
`ask` reads lines of JSON: {"row", "numbers", "budget", "ids"} asks questions one after another and tells milliseconds
by the clock and of computing; {"row", "threads", "seconds"} asks as many as go; {"held"} tells its memory.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

Search = Callable[[int], Any]


def built(engine: Any, material: Path, home: Path) -> dict[str, Any]:
    """Build the index and return what it took; what a tool tells itself comes first."""
    started, computed = time.perf_counter(), _computed()
    told = engine.build(material, home) or {}
    return {
        "version": engine.VERSION,
        "note": engine.NOTE,
        "seconds": time.perf_counter() - started,
        "cpu": _computed() - computed,
        "peak_mb": held()["VmHWM"],
        "disk_mb": _size(home),
        **told,
    }


def _computed() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _size(home: Path) -> float:
    return sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) / 2**20


def held() -> dict[str, float]:
    """Return the megabytes of memory this process holds: all, the most, its own, and mapped from files."""
    names = ("VmRSS", "VmHWM", "RssAnon", "RssFile")
    status = Path("/proc/self/status")
    if not status.exists():
        return dict.fromkeys(names, 0.0)
    lines = (line.partition(":") for line in status.read_text(encoding="ascii").splitlines())
    return {name: int(rest.split()[0]) / 1024 for name, _, rest in lines if name in names}


def block(search: Search, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Ask the numbers in turn until the time is up, at least three of them."""
    wall, computed, ids = [], [], []
    prepare = getattr(search, "prepare", None)
    if prepare is not None:
        for number in asked["numbers"]:
            prepare(number)
    deadline = time.perf_counter() + asked["budget"]
    for number in asked["numbers"]:
        spent, started = time.process_time(), time.perf_counter()
        found = search(number)
        ended = time.perf_counter()
        computed.append((time.process_time() - spent) * 1000)
        wall.append((ended - started) * 1000)
        if asked.get("ids"):
            ids.append(found)
        if ended > deadline and len(wall) >= 3:
            break
    return {"wall": wall, "cpu": computed, "ids": ids}


def load(search: Search, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Ask from several threads for so many seconds; return how many answers came."""
    threads, seconds, numbers = asked["threads"], asked["seconds"], asked["numbers"]
    counts, errors = [0] * threads, []
    start = threading.Barrier(threads + 1)

    def ask(own: int) -> None:
        try:
            search(numbers[own % len(numbers)])
            start.wait()
            deadline, at = time.perf_counter() + seconds, own * 7
            while time.perf_counter() < deadline:
                search(numbers[at % len(numbers)])
                counts[own], at = counts[own] + 1, at + 1
        except Exception as error:  # noqa: BLE001 - told to the other end
            errors.append(repr(error))
            start.abort()

    started = [threading.Thread(target=ask, args=(own,)) for own in range(threads)]
    for each in started:
        each.start()
    try:
        start.wait()
    except threading.BrokenBarrierError:
        errors.append("a thread ended early")
    began = time.perf_counter()
    for each in started:
        each.join()
    return {"answers": sum(counts), "seconds": time.perf_counter() - began, "errors": errors[:1]}


def serve(engine: Any, material: Path, home: Path, answers: TextIO) -> None:
    """Answer until the input ends."""
    before, started = held(), time.perf_counter()
    rows = engine.searches(material, home)
    tell(
        answers,
        {
            "version": engine.VERSION,
            "note": engine.NOTE,
            "rows": list(rows),
            "before": before,
            "open_ms": (time.perf_counter() - started) * 1000,
        },
    )
    for line in sys.stdin:
        asked = json.loads(line)
        if "held" in asked:
            tell(answers, held())
        elif "threads" in asked:
            tell(answers, load(rows[asked["row"]], asked))
        else:
            tell(answers, block(rows[asked["row"]], asked))


def tell(answers: TextIO, value: object) -> None:
    """Write *value* on a line."""
    print(json.dumps(value, default=int), file=answers, flush=True)


def main(verb: str, name: str, material: str, home: str) -> None:
    """Build or serve; what a library prints does not mix with the answers."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    engine = import_module(f"benchmarks.speed.engines.{name}")
    if verb == "build":
        Path(home).mkdir(parents=True, exist_ok=True)
        tell(answers, built(engine, Path(material), Path(home)))
    else:
        serve(engine, Path(material), Path(home), answers)
    answers.flush()
    os._exit(0)  # a library's threads must not keep the process


if __name__ == "__main__":
    main(*sys.argv[1:])
