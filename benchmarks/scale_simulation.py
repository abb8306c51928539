"""What a question waits and what the machines cost, by the number of shards: drawn from what one machine measured.

usage: python -m benchmarks.scale_simulation docs/scale.json FOLDER   (where matplotlib is, beside the peers)
Nothing here was measured on many machines. A shard is a server of CORES cores and MEMORY GB with one replica; it fits
while its graph and its indexes are in memory. Questions come at random (Poisson), RATE a second in all. A routed one
asks the shard of its project; a scattered one asks all and waits for the slowest. How long a shard computes is drawn
from a lognormal through the median of computing and the spread of the waits that were measured, times the growth of a
graph with its rows to the power GROWTH. A question waits for a free core of its shard. The network takes NETWORK ms.
"""

import heapq
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

SEED = 7
CORES, MEMORY, RATE, NETWORK = 8, 64.0, 50.0, 1.0
FULL = 0.9
"""From this share on a queue grows without end, and nothing is drawn."""
USED = 0.6
"""How busy machines are when their cost is told."""
SHARE = 0.75
"""How much of the memory of a machine graph and indexes may take."""
GROWTH = 0.25
"""How the time of a walk grows with the rows: the exponent that decision 22 gives for HNSW."""
MEASURED = 100_000
"""How many memories the figures are of."""
ASKED = 1_000
"""How many questions are drawn."""
SHARDS = (1, 2, 4, 8, 16, 32, 64, 128)
SIZES = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
GB = 1e9
Rows = Sequence[Mapping[str, Any]]


def bytes_of(rows: Rows) -> dict[str, float]:
    """Return the bytes of a memory: those of tables and indexes, of the graph, and of a machine's segments."""
    found = {
        row["row"]: row["value"] for row in rows if row["section"] == "sizes" and row.get("note") == "bytes a memory"
    }
    graph = found.get("graph of vectors (HNSW)", 0.0)
    indexes = found.get("indexes, graph apart", 0.0)
    copies = found.get("a machine's copy of the segments", 0.0)
    apart = ("SQLite", "a machine", "graph", "indexes")
    tables = sum(value for name, value in found.items() if not name.startswith(apart))
    return {"tables": tables + indexes, "graph": graph, "indexes": indexes, "segments": copies}


def shards_for(size: int, held: Mapping[str, float]) -> int:
    """Return how many shards it takes until graph and indexes are in memory."""
    return max(1, math.ceil(size * (held["graph"] + held["indexes"]) / GB / (SHARE * MEMORY)))


def sizing(rows: Rows) -> Iterable[list[str]]:
    """Return for each size what the disks hold, and how many shards and machines that is."""
    held = bytes_of(rows)
    for size in SIZES:
        shards = shards_for(size, held)
        taken = [f"{size * held[name] / GB:,.1f}" for name in ("tables", "graph", "segments")]
        yield [f"{size:,}", *taken, str(shards), str(2 * shards)]


def service(rows: Rows) -> tuple[float, float]:
    """Return the median of computing of a hybrid question in ms, and how far the logarithm of a wait spreads."""
    (row,) = [
        each for each in rows if (each["section"], each["row"], each["engine"]) == ("latency", "hybrid", "postgres")
    ]
    return row["cpu_p50"], math.log(row["p95"] / row["p50"]) / 1.645


def waits(size: int, shards: int, rows: Rows, *, scattered: bool) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return how many ms each question waits for its answer."""
    chance = np.random.default_rng((SEED, size, shards, scattered))
    median, spread = service(rows)
    median *= max(1.0, size / shards / MEASURED) ** GROWTH
    rate = RATE if scattered else RATE / shards  # what is routed is alike for each shard: one is looked at
    arrivals = np.cumsum(chance.exponential(1000.0 / rate, ASKED))
    answered = np.zeros(ASKED)
    for _ in range(shards if scattered else 1):
        took = chance.lognormal(math.log(median), spread, ASKED)
        answered = np.maximum(answered, _queued(arrivals, took))
    return answered - arrivals + NETWORK


def busy(size: int, shards: int, rows: Rows, *, scattered: bool) -> float:
    """Return which share of the cores of a shard the questions take."""
    median, spread = service(rows)
    mean = median * math.exp(spread**2 / 2) * max(1.0, size / shards / MEASURED) ** GROWTH
    return RATE / (1 if scattered else shards) * mean / 1000 / CORES


def _queued(arrivals: np.ndarray[Any, Any], took: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return when each is answered by CORES cores that take them in turn."""
    free = [0.0] * CORES
    done = np.empty(len(arrivals))
    for at, (came, needs) in enumerate(zip(arrivals, took, strict=True)):
        done[at] = max(came, heapq.heappop(free)) + needs
        heapq.heappush(free, done[at])
    return done


def hours(size: int, shards: int, rows: Rows, *, scattered: bool) -> float:
    """Return the hours of machines, replicas with them, that a million questions take."""
    took = service(rows)[0] * max(1.0, size / shards / MEASURED) ** GROWTH * (shards if scattered else 1)
    return 2 * 1e6 * took / 1000 / 3600 / (USED * CORES)


def main(source: str, folder: str) -> None:
    """Draw what a question waits and what a million of them cost, by the number of shards."""
    import matplotlib as mpl  # noqa: PLC0415  (the table needs none of it)

    mpl.use("svg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    mpl.rcParams.update({"svg.hashsalt": "recollect", "svg.fonttype": "none", "font.size": 9, "axes.grid": True})
    rows = json.loads(Path(source).read_text(encoding="utf-8"))["results"]
    held = bytes_of(rows)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for size, color in zip(SIZES, ("#2c7fb8", "#7fbc41", "#e08214", "#c0392b"), strict=True):
        fits = [shards for shards in SHARDS if shards >= shards_for(size, held)]
        name = f"{size // 1_000_000:,} million"
        for scattered, style in ((False, "-"), (True, "--")):
            able = [shards for shards in fits if busy(size, shards, rows, scattered=scattered) < FULL]
            line = [float(np.quantile(waits(size, shards, rows, scattered=scattered), 0.95)) for shards in able]
            label = None if scattered else name
            left.plot(able, line, style, marker="o", ms=3, lw=1.2, color=color, label=label)
            cost = [hours(size, shards, rows, scattered=scattered) for shards in fits]
            right.plot(fits, cost, style, marker="o", ms=3, lw=1.2, color=color, label=label)
    left.set(
        xscale="log", yscale="log", xlabel="shards", ylabel="95% of answers within, ms",
        title=f"wait, {RATE:g} a second; - one project, -- all",
    )  # fmt: skip
    right.set(
        xscale="log", yscale="log", xlabel="shards", ylabel="machine hours for a million questions",
        title=f"cost, {USED:.0%} busy; - one project, -- all",
    )  # fmt: skip
    ticks = (100, 150, 200, 300, 500, 1000)
    left.set_yticks(ticks, [str(each) for each in ticks])
    for panel in (left, right):
        panel.set_xticks(SHARDS, [str(each) for each in SHARDS])
        panel.minorticks_off()
        panel.legend(fontsize=7)
    figure.savefig(Path(folder, "shards.svg"), metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:])
