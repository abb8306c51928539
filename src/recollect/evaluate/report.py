"""What an evaluation is told as: text for a terminal, a JSON value for programs, a report with every table."""

import os
import platform
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from typing import Any, Final

from msgspec.structs import asdict, replace

from recollect.evaluate.compare import Comparison, MacroComparison, bootstrap
from recollect.evaluate.evaluate import MAIN, EvalSet, Evaluation, Run, SystemComparison
from recollect.evaluate.markup import Cell, Report, Section, Table
from recollect.evaluate.measures import mean

TITLE: Final = "Retrieval quality"
MEAN: Final = "mean of the sets"
NAMES: Final[Mapping[str, str]] = {
    "ndcg@10": "nDCG@10",
    "hit@1": "R@1: the first hit is relevant",
    "mrr@10": "MRR@10",
    **{f"recall@{k}": f"Recall@{k}" for k in (5, 10, 100)},
    **{f"recall_any@{k}": f"Recall@{k}, any: at least one of the relevant" for k in (5, 10, 100)},
    **{f"recall_all@{k}": f"Recall@{k}, all: every one of the relevant" for k in (5, 10, 100)},
}
"""The measures that are told, and what they are called."""
COLUMNS: Final[Mapping[str, str]] = {
    "nDCG@10": "ndcg@10",
    "R@1": "hit@1",
    "MRR@10": "mrr@10",
    "recall@5": "recall@5",
    "@10": "recall@10",
    "@100": "recall@100",
}
"""What the terminal shows; everything else is in the JSON and in the reports."""
BY_CATEGORY: Final = (MAIN, "hit@1")
"""The measures that are told for each category of queries."""
TIMED: Final = "a search for 100 hits without snippets, the vector of the question known"
_CPU: Final = Path("/proc/cpuinfo")
_SHORT: Final = 12
_UNTIMED: Final = f"{'-':>9}" * 2


# --- where it was measured ------------------------------------------------------------------


def machine() -> Mapping[str, str]:
    """Return the processor, cores, memory, system, Python and SQLite that are in use."""
    return {
        "cpu": _cpu(),
        "cores": str(os.cpu_count() or "unknown"),
        "memory": _memory(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "sqlite": _installed("apsw"),
        "recollect": _installed("recollect"),
    }


def _cpu() -> str:
    try:
        named = re.search(r"^model name\s*:\s*(.+)$", _CPU.read_text(encoding="utf-8"), re.MULTILINE)
    except (OSError, UnicodeDecodeError):
        named = None
    return named[1] if named else platform.processor() or platform.machine() or "unknown"


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return "unknown"
    return f"{size / 2**30:.1f} GiB"


def _installed(package: str) -> str:
    """Return the version of *package*; that of apsw begins with the version of its SQLite."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


# --- a report -------------------------------------------------------------------------------


def report_of(evaluation: Evaluation, facts: Mapping[str, str]) -> Report:
    """Return the report of *evaluation*, *facts* and those of the sets first."""
    return Report(
        title=TITLE,
        facts={**facts, **{f"set {each.name}": _set_fact(each) for each in evaluation.sets}},
        tables=(*_measured(evaluation), *_gained(evaluation), *_by_category(evaluation), *_timed(evaluation)),
        sections=tuple(_sections(evaluation)),
    )


def _set_fact(each: EvalSet) -> str:
    dataset = each.dataset
    return (
        f"{len(each.judged)} queries scored of {len(dataset.judgements)}, "
        f"{len(dataset.documents)} documents, sha256 {dataset.sha256}"
    )


def _sections(evaluation: Evaluation) -> Iterator[Section]:
    texts = {each.name: {query.id: query.text for query in each.queries} for each in evaluation.sets}
    for pair in evaluation.comparisons:
        for name, comparison in pair.macro.sets.items():
            yield Section(
                caption=f"{name}: {pair.new} against {pair.baseline}",
                baseline=str(pair.baseline),
                new=str(pair.new),
                comparison=comparison,
                texts=texts[name],
            )


def _measured(evaluation: Evaluation) -> Iterator[Table]:
    """Yield a table for each measure, systems by sets; the main measure with its 95% intervals."""
    for name, caption in NAMES.items():
        yield _with_mean(Table(caption=caption, rows=_rows(evaluation, partial(_measured_cell, name=name))))


def _measured_cell(run: Run, *, name: str) -> Cell:
    interval = bootstrap([[*run.values.values()]]) if name == MAIN else None
    return Cell(value=run.measures[name], interval=interval)


def _rows(evaluation: Evaluation, cell: Callable[[Run], Cell]) -> dict[str, dict[str, Cell]]:
    """Return the cell of every run, systems by sets."""
    rows: dict[str, dict[str, Cell]] = {str(system): {} for system in evaluation.systems}
    for run in evaluation.runs:
        rows[str(run.system)][run.dataset] = cell(run)
    return rows


def _with_mean(table: Table) -> Table:
    """Return *table* with the mean of its sets, each counting alike, when there are several."""
    if len(table.columns) < 2:
        return table
    rows = {
        name: {**row, MEAN: Cell(value=mean(cell.value for cell in row.values()))} for name, row in table.rows.items()
    }
    return replace(table, rows=rows)


def _gained(evaluation: Evaluation) -> Iterator[Table]:
    """Yield what each comparison gained, set by set, with its interval."""
    rows = {
        f"{pair.new} against {pair.baseline}": {
            name: Cell(value=one.difference, interval=one.interval) for name, one in _differences(pair, MEAN).items()
        }
        for pair in evaluation.comparisons
    }
    if rows:
        caption = f"Gain in {NAMES[MAIN]} with its 95% interval; what is surely not 0 in bold"
        yield Table(caption=caption, rows=rows, good="gains", form="+.3f")


def _differences(pair: SystemComparison, over_all: str) -> Mapping[str, Comparison | MacroComparison]:
    """Return the comparison on each set, and that over all of them when there are several."""
    return {**pair.macro.sets, **({over_all: pair.macro} if len(pair.macro.sets) > 1 else {})}


def _by_category(evaluation: Evaluation) -> Iterator[Table]:
    """Yield the measures for each category of queries, of the sets that have several."""
    several = [each for each in evaluation.sets if len(each.categories) > 1]
    for each, name in product(several, BY_CATEGORY):
        rows = {
            str(run.system): {
                f"{category} ({len(queries)})": Cell(value=_mean_of(run, name, queries))
                for category, queries in each.categories.items()
            }
            for run in evaluation.runs
            if run.dataset == each.name
        }
        yield Table(caption=f"{NAMES[name]}, on {each.name} by the kind of question", rows=rows)


def _mean_of(run: Run, name: str, queries: Sequence[str]) -> float:
    """Return the mean of the measure *name* over some of the queries."""
    return mean(run.scores[name][query] for query in queries)


def _timed(evaluation: Evaluation) -> Iterator[Table]:
    """Yield how long searches took, of the systems that were searched here."""
    timed = replace(evaluation, runs=tuple(run for run in evaluation.runs if run.latency is not None))
    captions = {"median": f"Milliseconds, median: {TIMED}", "p95": "Milliseconds, 95th percentile"}
    for name, caption in captions.items():
        rows = _rows(timed, partial(_timed_cell, name=name))
        yield Table(caption=caption, rows=rows, good="low", form=".1f")


def _timed_cell(run: Run, *, name: str) -> Cell:
    return Cell(value=getattr(run.latency, name))


# --- for a terminal -------------------------------------------------------------------------


def as_text(evaluation: Evaluation, facts: Mapping[str, str]) -> str:
    """Return a table for each set, then what the systems gained over each other."""
    wide = max(len(str(system)) for system in evaluation.systems)
    head = f"split {facts['split']}; scored by {facts['scored by']}; model {facts['model']}"
    blocks = [_set_text(evaluation, each, wide) for each in evaluation.sets]
    return "\n\n".join([head, *blocks, *_overview(evaluation, wide), *map(_gains_text, evaluation.comparisons)])


def _set_text(evaluation: Evaluation, each: EvalSet, wide: int) -> str:
    title = f"{each.name}: {len(each.judged)} queries, sha256 {each.dataset.sha256[:_SHORT]}"
    head = " " * (wide + 2) + "".join(f"{column:>9}" for column in (*COLUMNS, "ms", "p95"))
    rows = [_row(run, wide) for run in evaluation.runs if run.dataset == each.name]
    return "\n".join([title, head, *rows, *_categories_text(evaluation, each)])


def _categories_text(evaluation: Evaluation, each: EvalSet) -> Iterator[str]:
    """Yield a line for each category of queries with the measures of every system, when there are several."""
    categories = {f"{category} ({len(queries)})": queries for category, queries in each.categories.items()}
    if len(categories) < 2:
        return
    runs = [run for run in evaluation.runs if run.dataset == each.name]
    wide, widths = max(map(len, categories)), [max(len(str(run.system)), 11) + 2 for run in runs]
    head = "".join(f"{run.system!s:>{width}}" for run, width in zip(runs, widths, strict=True))
    yield f"  {'nDCG@10 / R@1':<{wide}}{head}"
    for category, queries in categories.items():
        told = (" / ".join(f"{_mean_of(run, name, queries):.3f}" for name in BY_CATEGORY) for run in runs)
        cells = "".join(f"{cell:>{width}}" for cell, width in zip(told, widths, strict=True))
        yield f"  {category:<{wide}}{cells}"


def _row(run: Run, wide: int) -> str:
    measured, took = run.measures, run.latency
    cells = "".join(f"{measured[measure]:9.3f}" for measure in COLUMNS.values())
    times = _UNTIMED if took is None else f"{took.median:9.1f}{took.p95:9.1f}"
    noted = f"  ({', '.join(run.degraded)})" if run.degraded else ""
    return f"  {run.system!s:<{wide}}{cells}{times}{noted}"


def _overview(evaluation: Evaluation, wide: int) -> Iterator[str]:
    """Yield every system on every set by the main measure, when there are several sets."""
    names = [each.name for each in evaluation.sets]
    if len(names) < 2:
        return
    widths = {name: max(len(name), 5) + 2 for name in (*names, "mean")}
    lines = [f"{'nDCG@10':<{wide + 2}}" + "".join(f"{name:>{width}}" for name, width in widths.items())]
    for system in evaluation.systems:
        values = {run.dataset: run.measures[MAIN] for run in evaluation.runs if run.system == system}
        values["mean"] = mean(values.values())
        lines.append(f"  {system!s:<{wide}}" + "".join(f"{values[name]:{width}.3f}" for name, width in widths.items()))
    yield "\n".join(lines)


def _gains_text(pair: SystemComparison) -> str:
    told = _differences(pair, "all, each alike")
    wide = max(map(len, told))
    lines = [f"  {name:<{wide}}  {_gain(one)}" for name, one in told.items()]
    return "\n".join([f"{pair.new} against {pair.baseline}, nDCG@10:", *lines])


def _gain(one: Comparison | MacroComparison) -> str:
    low, high = one.interval.low, one.interval.high
    said = "better" if low > 0 else "worse" if high < 0 else "no clear difference"
    return f"{one.difference:+.3f} [{low:+.3f}, {high:+.3f}] p = {one.p_value:.4f}  {said}"


# --- for programs ---------------------------------------------------------------------------


def as_value(evaluation: Evaluation, *, split: str, facts: Mapping[str, str]) -> dict[str, Any]:
    """Return the evaluation as a JSON value; where one run was asked for, it also stands at the top."""
    categories = {each.name: each.categories for each in evaluation.sets}
    runs = [_run_value(run, split, categories[run.dataset]) for run in evaluation.runs]
    return {
        **(runs[0] if len(runs) == 1 else {}),
        "runs": runs,
        "comparisons": [_comparison_value(pair) for pair in evaluation.comparisons],
        "datasets": [_set_value(each) for each in evaluation.sets],
        "facts": dict(facts),
    }


def _run_value(run: Run, split: str, categories: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    return {
        "dataset": run.dataset,
        "profile": run.system.profile,
        "mode": run.system.mode,
        "split": split,
        "queries": len(run.values),
        "measures": run.measures,
        "latency_ms": run.latency and asdict(run.latency),
        "outcomes": dict(run.outcomes),
        "unanswerable": {"asked": run.unanswerable, "recognised": run.recognised},
        "categories": {
            category: {"queries": len(queries), **{name: _mean_of(run, name, queries) for name in BY_CATEGORY}}
            for category, queries in categories.items()
        },
        "degraded": list(run.degraded),
    }


def _set_value(each: EvalSet) -> dict[str, Any]:
    return {
        "name": each.name,
        "sha256": each.dataset.sha256,
        "documents": len(each.dataset.documents),
        "queries": len(each.judged),
        "queries_in_all": len(each.dataset.judgements),
    }


def _comparison_value(pair: SystemComparison) -> dict[str, Any]:
    return {
        "baseline": asdict(pair.baseline),
        "new": asdict(pair.new),
        "measure": MAIN,
        **_difference_value(pair.macro),
        "datasets": {
            name: {**_difference_value(one), "wins": one.wins, "ties": one.ties, "losses": one.losses}
            for name, one in pair.macro.sets.items()
        },
    }


def _difference_value(one: Comparison | MacroComparison) -> dict[str, Any]:
    interval = [one.interval.low, one.interval.high]
    return {"difference": one.difference, "interval": interval, "p_value": one.p_value}
