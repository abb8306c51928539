"""One line of JSON for each thing measured, whatever it is; what is not known of it is left out.

A *group* is what was measured in turns within one run: ratios are only taken within a group. A group that is measured
again replaces the older one; what was measured with other code of recollect is not read at all.
"""

import json
import os
import platform
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from benchmarks.speed.material import HOME
from benchmarks.speed.worker import source_mark

FILE = HOME / "results.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one tool took for one thing: times in milliseconds, sizes in megabytes."""

    section: str
    """Which part of the benchmark measured it."""
    row: str
    """What was done: words, vectors, hybrid ..."""
    engine: str
    text: str = ""
    """Which texts: zipf, debian, sets."""
    size: int = 0
    """How many texts."""
    samples: int = 0
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    cpu_p50: float | None = None
    rounds: tuple[float, ...] = ()
    """The median of each round: how far they are apart is the noise of this run."""
    recall: float | None = None
    """The share of the true nearest 100 among the 100 found."""
    per_second: float | None = None
    cpu_per_second: float | None = None
    """How many a second of computing."""
    memory_mb: float | None = None
    anonymous_mb: float | None = None
    """What of the memory is the process's own, not pages of files that processes share."""
    peak_mb: float | None = None
    disk_mb: float | None = None
    value: float | None = None
    """What is neither of these, in the unit that the row names."""
    threads: int = 1
    processes: int = 1
    version: str = ""
    note: str = ""
    failed: str = ""

    @property
    def group(self) -> tuple[str, str, int]:
        """What it may be compared with."""
        return self.section, self.text, self.size


PLAIN = {each.name: None if each.default is MISSING else each.default for each in fields(Result)}
"""What each field is where nothing is known of it."""


@dataclass
class Samples:
    """Milliseconds of one row of one tool, round by round."""

    wall: list[list[float]] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def take(self, answer: Mapping[str, Any]) -> None:
        """Take a round."""
        self.wall.append(answer["wall"])
        self.cpu += answer["cpu"]

    def figures(self) -> dict[str, Any]:
        """Return the fields of a Result that they give."""
        ordered = sorted(value for each in self.wall for value in each)
        if not ordered:
            return {}
        return {
            "samples": len(ordered),
            "p50": quantile(ordered, 0.5),
            "p95": quantile(ordered, 0.95),
            "p99": quantile(ordered, 0.99),
            "cpu_p50": statistics.median(self.cpu),
            "rounds": tuple(round(statistics.median(each), 4) for each in self.wall if each),
        }


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the value below which *share* of the *ordered* ones lie."""
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 4)


def machine() -> dict[str, Any]:
    """Return what the figures depend on beside the code."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text(encoding="utf-8").splitlines() if known.is_file() else []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return {
        "cpu": next(names, platform.processor() or platform.machine()),
        "cores": os.cpu_count(),
        "memory_gb": round(_memory(), 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "threads": "1 (OMP, OPENBLAS, MKL, RAYON, TOKIO, LANCE)",
    }


def _memory() -> float:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (ValueError, OSError, AttributeError):
        return 0.0


def write(results: Iterable[Result], *, path: Path = FILE) -> None:
    """Add *results*, measured in one run, to the file."""
    shared = {"source": source_mark(), "at": round(time.time(), 3), "load": round(os.getloadavg()[0], 1), **machine()}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as out:
        for each in results:
            out.write(json.dumps({**as_line(each), "run": shared}) + "\n")


def as_line(result: Result) -> dict[str, Any]:
    """Return what is known of *result*."""
    return {name: _short(value) for name, value in asdict(result).items() if value != PLAIN[name]}


def _short(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value


def read(*, path: Path = FILE, of_any_code: bool = False) -> list[Result]:
    """Return what was measured with the code as it is, or *of_any_code*; of each group the newest run alone."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found: dict[tuple[str, str, int], tuple[object, list[Result]]] = {}
    for line in lines:
        known = json.loads(line)
        run = known.pop("run")
        if run["source"] == source_mark() or of_any_code:
            result = from_line(known)
            written, group = found.get(result.group, (None, []))
            found[result.group] = run, [*(group if written == run else ()), result]
    return [each for _, group in found.values() for each in group]


def earlier(path: Path = FILE) -> list[tuple[str, str, int]]:
    """Return the groups whose newest run was of other code: with those of this code they make no ratio."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    newest = {
        from_line({name: each[name] for name in each if name != "run"}).group: each["run"]["source"]
        for each in map(json.loads, lines)
    }
    return [group for group, source in newest.items() if source != source_mark()]


def from_line(known: Mapping[str, Any]) -> Result:
    """Return what `as_line` wrote."""
    return Result(**{**known, "rounds": tuple(known.get("rounds", ()))})


def last_run(path: Path = FILE) -> dict[str, Any]:
    """Return the facts of the newest line."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    facts: dict[str, Any] = json.loads(lines[-1])["run"] if lines else {}
    return facts
