"""The page docs/scale.md, made from the results, which are kept beside it in docs/scale.json."""

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT, verdict
from benchmarks.scale_simulation import sizing
from benchmarks.speed.report import _grid as grid
from benchmarks.speed.report import _machine as machine
from benchmarks.speed.report import _ms as ms
from benchmarks.speed.results import Result, as_line
from benchmarks.speed.worker import PYTHON

PAGE, DATA = ROOT / "docs" / "scale.md", ROOT / "docs" / "scale.json"
PLOTS = ROOT / "docs" / "scale"
TEMPLATE = Path(__file__).with_name("page.md")
BAR_RECALL, BAR_WORDS, BAR_VECTORS = 0.99, 30.0, 10.0
NAMES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


def write_page(results: Sequence[Result], facts: Mapping[str, Any]) -> None:
    """Write the page, the results beside it, and the picture where the peers' environment can draw it."""
    lines = [as_line(each) for each in results]
    DATA.write_text(json.dumps({"machine": machine(facts), "results": lines}, indent=1) + "\n", encoding="utf-8")
    if PYTHON.exists() and of(results, "latency") and of(results, "sizes"):
        PLOTS.mkdir(exist_ok=True)
        subprocess.run([str(PYTHON), "-m", "benchmarks.scale_simulation", str(DATA), str(PLOTS)], cwd=ROOT, check=True)
    text = TEMPLATE.read_text(encoding="utf-8")
    parts = {
        "bars": grid(["what", "found", "bar", ""], bars(results)),
        "parity": grid(["set", "documents", "", "asked", "found", ""], _parity(results)),
        "latency": _latency(results),
        "stages": _stages(results),
        "clients": grid(["", "calls", "a second", "ms: median / 95% / 99%"], _times(results, "clients")),
        "exact": grid(["after it", "found", ""], _values(results, "clients")),
        "projects": grid(["", "asked", "", "ms: median / 95% / 99%"], _times(results, "projects")),
        "adding": grid(["", "", ""], _values(results, "writing")),
        "writing": grid(["", "writes", "a second", "ms: median / 95% / 99%"], _times(results, "writing")),
        "sizes": grid(["", "", ""], _values(results, "sizes")),
        "sizing": grid(["memories", "tables, GB", "graph, GB", "segments, GB", "shards", "machines"], sizing(lines)),
        "machine": machine(facts),
        **_single(results),
    }
    for name, value in parts.items():
        text = text.replace("{" + name + "}", value)
    PAGE.write_text(text, encoding="utf-8")


def of(results: Iterable[Result], section: str) -> list[Result]:
    """Return the results of one *section*."""
    return [each for each in results if each.section == section]


def bars(results: Sequence[Result]) -> list[list[str]]:
    """Return what has to hold: what it is, what was found, the bar, and whether it was reached."""
    rows = []
    parity = of(results, "parity")
    for row, what in (
        ("words", "words"),
        ("hybrid", "hybrid, all vectors compared"),
        ("hybrid by graph", "hybrid by graph"),
    ):
        chosen = [each for each in parity if each.row == row]
        asked, differ = sum(each.samples for each in chosen), sum(each.value or 0.0 for each in chosen)
        told = f"{differ:.0f} of {asked:,} differ"
        rows.append([f"the first ten as SQLite's, {what}", told, "none differs", _held(bool(chosen), differ == 0)])
    rows += [_recall(f"recall@10 by a graph, {each.text}", each) for each in parity if each.recall is not None]
    for each in of(results, "recall"):
        rows.append(_recall(f"recall@10 at {each.size:,}, {each.row}", each))
        if "filter" in each.row:
            told = f"{each.value:.0f} of {each.samples}"
            rows.append(["answers with ten hits, 1% filter", told, "all", verdict(held=each.value == each.samples)])
    rows += [
        [f"32 clients: {each.row}", f"{each.value:.0f}", "0", verdict(held=each.value == 0)]
        for each in of(results, "clients")
        if each.value is not None
    ]
    for each in of(results, "latency"):
        bar = {"words": BAR_WORDS, "vectors, 10": BAR_VECTORS}.get(each.row)
        if bar is not None and each.engine == "postgres" and each.p50 is not None:
            told = f"{ms(each.p50)} ms, {ms(each.cpu_p50 or 0.0)} of computing"
            rows.append(
                [f"{each.row}, median at {each.size:,}", told, f"at most {bar:g} ms", verdict(held=each.p50 <= bar)]
            )
    return [[f"**{cell}**" if cell == "MISS" else cell for cell in row] for row in rows]


def _held(measured: bool, held: bool) -> str:  # noqa: FBT001
    return verdict(held=held) if measured else "not measured"


def _recall(name: str, each: Result) -> list[str]:
    found = each.recall or 0.0
    return [name, f"{found:.4f}", f"at least {BAR_RECALL}", verdict(held=found >= BAR_RECALL)]


def _parity(results: Sequence[Result]) -> Iterable[list[str]]:
    for each in of(results, "parity"):
        told = f"{each.value or 0:.0f} {each.note}" + (f", recall@10 {each.recall:.4f}" if each.recall else "")
        yield [each.text, f"{each.size:,}", each.row, f"{each.samples:,}", told, ""]


def _latency(results: Sequence[Result]) -> str:
    found = {(each.engine, each.row): each for each in of(results, "latency")}
    rows = dict.fromkeys(row for _, row in found)
    return grid(
        ["", *(f"{name}, ms: median / 95% / 99% (computing)" for name in NAMES.values())],
        ([row, *(_quantiles(found.get((engine, row))) for engine in NAMES)] for row in rows),
    )


def _quantiles(each: Result | None) -> str:
    if each is None or each.p50 is None:
        return "-"
    told = " / ".join(ms(value) for value in (each.p50, each.p95, each.p99) if value is not None)
    return told + (f" ({ms(each.cpu_p50)})" if each.cpu_p50 is not None else "")


def _stages(results: Sequence[Result]) -> str:
    found = {each.row: each for each in of(results, "stages")}
    rows = dict.fromkeys(row.partition(": ")[0] for row in found)
    whats = ("statements", "ms in statements", "ms outside")

    def cells(row: str) -> Iterable[str]:
        for what in whats:
            each = found.get(f"{row}: {what}")
            yield "-" if each is None else f"{each.value:.0f}" if what == "statements" else ms(each.value or 0.0)

    return grid(["", *whats], ([row, *cells(row)] for row in rows))


def _times(results: Sequence[Result], section: str) -> Iterable[list[str]]:
    for each in of(results, section):
        if each.p50 is not None:
            rate = f"{each.per_second:,.0f}" if each.per_second else ""
            yield [each.row, f"{each.samples:,}", rate, _quantiles(each)]


def _values(results: Sequence[Result], section: str) -> Iterable[list[str]]:
    for each in of(results, section):
        if each.value is not None:
            yield [each.row, f"{each.value:,.0f}", each.note]


def _single(results: Sequence[Result]) -> dict[str, str]:
    """Return the figures that stand in sentences."""
    words = next((each for each in of(results, "latency") if (each.engine, each.row) == ("postgres", "words")), None)
    return {
        "size": f"{words.size if words else 0:,}",
        "words": ms(words.p50 or 0.0) if words else "?",
        **_writers({each.row: each for each in of(results, "writing") if each.per_second and each.p95}),
    }


def _writers(found: Mapping[str, Result]) -> dict[str, str]:
    """Return how writers compare with one writer, and one writer with a bare INSERT."""

    def rate(row: str) -> float:
        return found[row].per_second if row in found else float("nan")

    one, many = "1 writers of one project", "32 writers of one project"
    waits = found[many].p95 / found[one].p50 if one in found and many in found else float("nan")
    return {
        "to_bare": f"{rate(one) / rate('a bare INSERT of the same text, 1 writer'):.2f}",
        "apart": f"{rate('8 writers of as many projects') / rate(one):.2f}",
        "shared": f"{rate('8 writers of one project') / rate(one):.2f}",
        "waits": f"{waits:.0f}",
    }
