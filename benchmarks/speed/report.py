"""The page docs/performance.md, its plots and the ratios that `make bench-check` compares with, from the results."""

import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT
from benchmarks.speed import bars
from benchmarks.speed.material import JITTER, SAMPLE
from benchmarks.speed.results import Result, as_line, earlier
from benchmarks.speed.worker import PYTHON

PAGE = ROOT / "docs" / "performance.md"
PLOTS = ROOT / "docs" / "performance"
RATIOS = ROOT / "docs" / "performance.json"
TEMPLATE = Path(__file__).with_name("page.md")
NONE = "-"
NAMES = {
    "recollect": "**recollect**",
    "recollect_empty": "recollect, empty store",
    "tantivy": "tantivy + usearch",
    "sqlite": "FTS5 + sqlite-vec",
    "bm25s": "bm25s + NumPy",
    "numpy": "NumPy",
}


def write_page(results: Sequence[Result], facts: Mapping[str, Any], by: bars.By = "wall") -> None:
    """Write the page, the ratios, and the plots where the peers' environment can draw them."""
    if PYTHON.exists():
        draw(results)
    PAGE.write_text(page(results, facts, by), encoding="utf-8")
    RATIOS.write_text(ratios(results, facts, by), encoding="utf-8")


def draw(results: Sequence[Result]) -> None:
    """Draw the plots in the environment that has matplotlib, in place of older ones."""
    PLOTS.mkdir(exist_ok=True)
    for old in PLOTS.glob("*.svg"):
        old.unlink()
    with tempfile.TemporaryDirectory() as home:
        source = Path(home, "results.json")
        source.write_text(json.dumps([as_line(each) for each in results]), encoding="utf-8")
        subprocess.run([str(PYTHON), "-m", "benchmarks.speed.plots", str(source), str(PLOTS)], cwd=ROOT, check=True)


def ratios(results: Sequence[Result], facts: Mapping[str, Any], by: bars.By) -> str:
    """Return what later runs are compared with: each bar that was measured, and its noise."""
    found = {
        bar.name: {"found": float(f"{bar.found:.4g}"), "noise": bar.noise, "least": bar.least}
        for bar in bars.bars(results, by)
        if bar.found is not None
    }
    return json.dumps({"machine": _machine(facts), "by": by, "ratios": found}, indent=1) + "\n"


def page(results: Sequence[Result], facts: Mapping[str, Any], by: bars.By) -> str:
    """Return the text of the page; a bar is held against what was measured with one code."""
    older = earlier()
    present = [each for each in results if each.group not in older]
    parts = {
        "by": "by the clock" if by == "wall" else "of computing",
        "bars": _grid(["what", "found", "bar", "", "times"], _bold(bars.rows(present, by))),
        "summary": _summary(present, by, older),
        "headline": _headline(results, by),
        "latency": "\n\n".join(filter(None, (_latency(results, section) for section in ("words", "hybrid")))),
        "vectors": _latency(results, "vectors"),
        "recall": _recall(results),
        "load": _load(results),
        "index": _index(results),
        "writing": _writing(results),
        "start": _start(results),
        "answers": _answers(results),
        "sample": f"{SAMPLE:,}",
        "jitter": f"{JITTER:g}",
        "bandwidth": _bandwidth(results),
        "used": _used(results),
        "machine": _machine(facts),
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, value in parts.items():
        text = text.replace("{" + name + "}", value or "Not measured yet.")
    return re.sub(r"!\[[^]]*\]\(performance/([^)]*)\)\n\n", _if_drawn, text)


def _if_drawn(plot: re.Match[str]) -> str:
    """Return the picture where there is one."""
    return plot[0] if (PLOTS / plot[1]).exists() else ""


def _headline(results: Sequence[Result], by: bars.By) -> str:
    rows = bars.headline_rows(results, by)
    return _grid(["ms", "recollect", "NumPy", "NornicDB, its machine", "recollect : NumPy"], rows) if rows else ""


def _bold(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    return [[f"**{cell}**" if cell == "MISS" else cell for cell in row] for row in rows]


def _summary(results: Sequence[Result], by: bars.By, older: Sequence[tuple[str, str, int]]) -> str:
    verdicts = [bar.verdict for bar in bars.bars(results, by)]
    held, missed = verdicts.count("PASS"), verdicts.count("MISS")
    told = f"{held} of {held + missed} measured bars hold; {verdicts.count('not measured')} were not measured."
    names = (f"{section} {text} {size:,}" if size else section for section, text, size in older)
    return f"{told} Tables below are of an earlier state of the code for {', '.join(names)}." if older else told


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (list(head), ["---"] * len(head), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _name(engine: str) -> str:
    return NAMES.get(engine, engine)


def _table(results: Sequence[Result], cell: Callable[[Result], str]) -> str:
    """Return rows by tool and what it did, columns by text and size."""
    columns = sorted({(each.text, each.size) for each in results}, key=lambda key: (key[0] != "zipf", *key))
    lines = dict.fromkeys((each.engine, each.row) for each in results)
    ordered = sorted(lines, key=lambda key: (key[0] != "recollect", key[0]))
    by_place = {(each.engine, each.row, each.text, each.size): each for each in results}
    rows = (
        [
            f"{_name(engine)}, {row}",
            *(cell(found) if (found := by_place.get((engine, row, *column))) else NONE for column in columns),
        ]
        for engine, row in ordered
    )
    return _grid(["", *(f"{text} {size:,}" for text, size in columns)], rows)


def _latency(results: Sequence[Result], section: str) -> str:
    chosen = [each for each in results if each.section == section and each.p50 is not None]
    return _table(chosen, _quantiles) if chosen else ""


def _quantiles(result: Result) -> str:
    values = [value for value in (result.p50, result.p95, result.p99) if value is not None]
    computed = f" ({_ms(result.cpu_p50)})" if result.cpu_p50 is not None else ""
    return " / ".join(map(_ms, values)) + computed


def _ms(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def _recall(results: Sequence[Result]) -> str:
    chosen = [each for each in results if each.recall is not None and each.text == "zipf"]
    return _table(chosen, lambda each: f"{each.recall:.4f} in {_ms(each.p50 or 0.0)} ms") if chosen else ""


def _load(results: Sequence[Result]) -> str:
    chosen = [each for each in results if each.section == "load" and each.per_second]
    if not chosen:
        return ""
    widths = sorted({max(each.threads, each.processes) for each in chosen})
    kinds = dict.fromkeys((each.row, each.size) for each in chosen)

    def cell(kind: str, size: int, width: int) -> str:
        places = (each for each in chosen if (each.row, each.size) == (kind, size))
        found = next((each for each in places if getattr(each, kind) == width), None)
        return f"{found.per_second:,.0f}" if found and found.per_second else NONE

    rows = ([f"{kind}, {size:,}", *(cell(kind, size, width) for width in widths)] for kind, size in kinds)
    return _grid(["", *map(str, widths)], rows)


def _index(results: Sequence[Result]) -> str:
    chosen = [each for each in results if each.section == "index" and not each.failed and each.engine != "numpy"]
    fresh = {(each.engine, each.text, each.size): each for each in results if each.section == "memory"}
    failed = [each for each in results if each.section == "index" and each.failed]
    if not chosen:
        return ""
    head = [
        "",
        "texts",
        "a second",
        "a second of computing",
        "memory, hybrid, MB",
        "after all, MB",
        "peak while indexing, MB",
        "disk, MB",
    ]
    ordered = sorted(chosen, key=lambda each: (each.text != "zipf", each.text, each.size, each.engine != "recollect"))
    rows = (
        [
            _name(each.engine),
            f"{each.text} {each.size:,}",
            f"{each.per_second or 0:,.0f}",
            f"{each.cpu_per_second or 0:,.0f}",
            _held(fresh.get((each.engine, each.text, each.size))),
            _held(each),
            f"{each.peak_mb or 0:,.0f}",
            f"{each.disk_mb or 0:,.0f}",
        ]
        for each in ordered
    )
    lost = "".join(f"\n- Did not run: {each.text} {each.size:,}, {each.failed}" for each in failed)
    return _grid(head, rows) + (f"\n{lost}" if lost else "")


def _held(result: Result | None) -> str:
    return NONE if result is None else f"{result.memory_mb or 0:,.0f} ({result.anonymous_mb or 0:,.0f})"


def _writing(results: Sequence[Result]) -> str:
    imports = [
        [
            f"import of {each.value or 0:,.0f} ({each.row})",
            "bare apsw, one table and one FTS5" if each.engine == "apsw" else _name(each.engine),
            f"{(each.p50 or 0) / 1000:.2f} s ({(each.cpu_p50 or 0) / 1000:.2f} s)",
            f"{each.cpu_per_second or 0:,.0f}",
            f"{each.peak_mb or 0:,.0f}",
        ]
        for each in results
        if each.section == "import"
    ]
    folders = [
        [
            f"folder of {each.size:,} files",
            each.row.removeprefix("python, "),
            f"{(each.p50 or 0) / 1000:.2f} s ({(each.cpu_p50 or 0) / 1000:.2f} s)",
            "",
            f"{each.memory_mb or 0:,.0f}",
        ]
        for each in results
        if each.section == "folder"
    ]
    adds = [
        [f"{each.row}, {each.size:,}", _name(each.engine), f"{_quantiles(each)} ms", "", ""]
        for each in results
        if each.section == "add"
    ]
    head = ["", "", "took (computing)", "a second of computing", "peak, MB"]
    return _grid(head, [*imports, *folders, *adds]) if imports or folders or adds else ""


def _start(results: Sequence[Result]) -> str:
    chosen = [each for each in results if each.section == "start" and each.p50]
    bare = {each.size: each.p50 or 1.0 for each in chosen if each.row.startswith("python")}
    rows = [
        [
            each.row,
            f"{each.size:,}",
            _ms(each.p50 or 0.0),
            _ms(each.cpu_p50 or 0.0),
            f"{(each.p50 or 0.0) / bare[each.size]:.1f}",
            f"{each.memory_mb or 0:,.0f}",
        ]
        for each in chosen
    ]
    return _grid(["", "store", "ms", "of computing", "times `python -c pass`", "MB"], rows) if rows else ""


def _answers(results: Sequence[Result]) -> str:
    chosen = [each for each in results if each.section == "answers"]
    rows = [
        [each.row, f"{each.samples:,}" if each.samples else "", f"{each.value or 0:.0f}", each.note] for each in chosen
    ]
    told = (
        "Whole answers, scores to the last bit, with the index of a SQLite"
        " store and with the tests' store in memory, which ranks in plain Python: questions of the dev halves in all"
        " profiles, by words and in the default profile hybrid.\n\n"
    )
    return told + _grid(["", "asked", "different", ""], rows) if rows else ""


def _bandwidth(results: Sequence[Result]) -> str:
    return next((f"{each.value:.1f}" for each in results if each.section == "bandwidth" and each.value), "?")


def _used(results: Sequence[Result]) -> str:
    chosen = {each.engine: each for each in results if each.section == "index" and not each.failed}
    rows = ([_name(name), each.version, each.note] for name, each in chosen.items())
    return _grid(["", "version", "how"], rows) if chosen else ""


def _machine(facts: Mapping[str, Any]) -> str:
    if not facts:
        return "unknown"
    return (
        f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gb']:g} GB, {facts['system'].split()[0]},"
        f" Python {facts['python']}; load when measured {facts['load']:g}"
    )
