"""The plots of the page; runs where matplotlib is, beside the peers.

usage: python -m benchmarks.speed.plots RESULTS.json FOLDER
"""

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

WIDTH = 384
COLORS = {
    "recollect": "#c0392b",
    "tantivy": "#2c7fb8",
    "sqlite": "#7fbc41",
    "lancedb": "#8e44ad",
    "chromadb": "#e08214",
    "bm25s": "#35978f",
    "numpy": "#555555",
    "txtai": "#b8860b",
}
SHOWN = {"words": ("words",), "vectors": ("vectors",), "hybrid": ("hybrid",)}
Rows = list[Mapping[str, Any]]


def main(source: str, folder: str) -> None:
    """Draw what there are results for."""
    rows: Rows = json.loads(Path(source).read_text(encoding="utf-8"))
    mpl.rcParams.update(
        {
            "svg.hashsalt": "recollect",
            "svg.fonttype": "none",
            "font.size": 9,
            "axes.grid": True,
            "grid.alpha": 0.3,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    )
    for draw in (latency, recall, load):
        figure = draw(rows)
        if figure is not None:
            path = Path(folder, f"{draw.__name__}.svg")
            figure.savefig(path, metadata={"Date": None, "Creator": None})
            # The writer ends lines with blanks, which no other file of the repository has.
            path.write_text("\n".join(line.rstrip() for line in path.read_text("utf-8").splitlines()) + "\n", "utf-8")


def latency(rows: Rows) -> Any:
    """Draw milliseconds by size, one panel a kind of search, and the roof of memory."""
    chosen = [row for row in rows if row["section"] in SHOWN and row.get("text") == "zipf" and "p50" in row]
    if not chosen:
        return None
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.9), layout="constrained")
    for panel, (section, kinds) in zip(panels, SHOWN.items(), strict=True):
        for engine, color in COLORS.items():
            line = sorted(
                (row["size"], row["p50"]) for row in chosen if row["engine"] == engine and row["row"] in kinds
            )
            if line:
                panel.plot(
                    *zip(*line, strict=True),
                    marker="o",
                    ms=3,
                    color=color,
                    label=engine,
                    lw=2 if engine == "recollect" else 1,
                )
        if section == "vectors":
            _roof(panel, rows, sorted({row["size"] for row in chosen}))
        panel.set(title=section, xscale="log", yscale="log", xlabel="memories", ylabel="median, ms")
    handles = {
        label: handle for panel in panels for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), fontsize=7, ncol=5, loc="outside lower center")
    return figure


def _roof(panel: Any, rows: Iterable[Mapping[str, Any]], sizes: list[int]) -> None:
    """Draw how long it takes to read all vectors once, as float32 and as four bits."""
    speed = next((row["value"] for row in rows if row["section"] == "bandwidth"), None)
    if speed is None:
        return
    for bits, style in ((32, ":"), (4, "-.")):
        times = [size * WIDTH * bits / 8 / (speed * 1e6) for size in sizes]
        panel.plot(sizes, times, style, color="black", lw=1, label=f"memory, {bits} bits")


def recall(rows: Rows) -> Any:
    """Draw the recall by vectors against milliseconds, one panel a size."""
    chosen = [row for row in rows if row["section"] == "vectors" and row.get("text") == "zipf" and "recall" in row]
    sizes = sorted({row["size"] for row in chosen})
    if not sizes:
        return None
    figure, panels = plt.subplots(
        1, len(sizes), figsize=(3.6 * len(sizes) + 0.6, 3.2), squeeze=False, layout="constrained"
    )
    for panel, size in zip(panels[0], sizes, strict=True):
        for engine, color in COLORS.items():
            line = sorted(
                (row["p50"], row["recall"]) for row in chosen if row["size"] == size and row["engine"] == engine
            )
            if line:
                panel.plot(*zip(*line, strict=True), marker="o", ms=4, lw=1, color=color, label=engine)
        panel.set(title=f"{size:,}", xscale="log", xlabel="median, ms", ylabel="recall@100")
        panel.legend(fontsize=6)
    return figure


def load(rows: Rows) -> Any:
    """Draw answers a second by threads and by processes."""
    chosen = [row for row in rows if row["section"] == "load" and "per_second" in row]
    sizes = sorted({row["size"] for row in chosen})
    if not sizes:
        return None
    figure, panel = plt.subplots(figsize=(5, 3.2), layout="constrained")
    for kind, style in (("threads", "--"), ("processes", "-")):
        for size, color in zip(sizes, ("#c0392b", "#2c7fb8", "#7fbc41", "#8e44ad"), strict=False):
            line = sorted(
                (row.get(kind, 1), row["per_second"]) for row in chosen if (row["row"], row["size"]) == (kind, size)
            )
            if line:
                panel.plot(*zip(*line, strict=True), style, marker="o", ms=3, color=color, label=f"{kind}, {size:,}")
    panel.set(
        xscale="log",
        xticks=[1, 2, 4, 8],
        xticklabels=["1", "2", "4", "8"],
        xlabel="readers at once",
        ylabel="answers a second",
    )
    panel.set_ylim(bottom=0)
    panel.legend(fontsize=7)
    return figure


if __name__ == "__main__":
    main(*sys.argv[1:])
