"""An evaluation for a terminal and for programs: the table people see at the end, and the JSON."""

from collections.abc import Mapping
from typing import Any, Final

from recollect.evaluate.compare import Comparison, Interval, Macro
from recollect.evaluate.datasets import Dataset
from recollect.evaluate.measures import mean
from recollect.evaluate.trial import MAIN, Evaluation, Examined, Pair, Trial

COLUMNS: Final[Mapping[str, str]] = {
    "nDCG@10": "ndcg@10",
    "R@1": "hit@1",
    "MRR@10": "mrr@10",
    "recall@5": "recall@5",
    "@10": "recall@10",
    "@100": "recall@100",
}
"""What the terminal shows; everything else is in the JSON and in the reports."""
_SHORT: Final = 12
_UNTIMED: Final = f"{'-':>9}" * 2


# --- for a terminal -------------------------------------------------------------------------


def as_text(evaluation: Evaluation, facts: Mapping[str, str]) -> str:
    """Return a table for each set, then what the ways gained over each other."""
    wide = max(len(str(way)) for way in evaluation.ways)
    blocks = [_set_text(evaluation, examined, wide) for examined in evaluation.sets]
    head = f"split {facts['split']}; scored by {facts['scored by']}; model {facts['model']}"
    return "\n\n".join([head, *blocks, *_overview(evaluation, wide), *(_pair_text(pair) for pair in evaluation.pairs)])


def _set_text(evaluation: Evaluation, examined: Examined, wide: int) -> str:
    title = f"{examined.name}: {len(examined.judged)} queries, sha256 {examined.dataset.sha256[:_SHORT]}"
    head = " " * (wide + 2) + "".join(f"{column:>9}" for column in (*COLUMNS, "ms", "p95"))
    rows = [_row(trial, wide) for trial in evaluation.trials if trial.dataset == examined.name]
    return "\n".join([title, head, *rows])


def _row(trial: Trial, wide: int) -> str:
    measured = trial.measures
    cells = "".join(f"{measured[measure]:9.3f}" for measure in COLUMNS.values())
    took = trial.latency
    times = _UNTIMED if took is None else f"{took.median:9.1f}{took.p95:9.1f}"
    noted = f"  ({', '.join(trial.degraded)})" if trial.degraded else ""
    return f"  {trial.way!s:<{wide}}{cells}{times}{noted}"


def _overview(evaluation: Evaluation, wide: int) -> list[str]:
    """Return every way on every set by the main measure, when there are several sets."""
    names = [examined.name for examined in evaluation.sets]
    if len(names) < 2:
        return []
    found = {(trial.way, trial.dataset): trial.measures[MAIN] for trial in evaluation.trials}
    widths = {name: max(len(name), 5) + 2 for name in (*names, "mean")}
    lines = [f"{'nDCG@10':<{wide + 2}}" + "".join(f"{name:>{width}}" for name, width in widths.items())]
    for way in evaluation.ways:
        values = {name: found[way, name] for name in names}
        values["mean"] = mean(values.values())
        cells = "".join(f"{values[name]:{width}.3f}" for name, width in widths.items())
        lines.append(f"  {way!s:<{wide}}{cells}")
    return ["\n".join(lines)]


def _pair_text(pair: Pair) -> str:
    sets: Mapping[str, Comparison | Macro] = pair.macro.sets
    told = {**sets, "all, each alike": pair.macro} if len(sets) > 1 else sets
    wide = max(map(len, told))
    lines = [f"  {name:<{wide}}  {_gain(one)}" for name, one in told.items()]
    return "\n".join([f"{pair.new} against {pair.baseline}, nDCG@10:", *lines])


def _gain(one: Comparison | Macro) -> str:
    low, high = one.interval.low, one.interval.high
    said = "better" if low > 0 else "worse" if high < 0 else "no clear difference"
    return f"{one.difference:+.3f} [{low:+.3f}, {high:+.3f}] p = {one.p_value:.4f}  {said}"


# --- for programs ---------------------------------------------------------------------------


def as_value(evaluation: Evaluation, *, split: str, facts: Mapping[str, str]) -> dict[str, Any]:
    """Return the evaluation as a JSON value; where one run was asked for, it also stands at the top."""
    kinds = {examined.name: examined.categories for examined in evaluation.sets}
    runs = [_run(trial, split, kinds[trial.dataset]) for trial in evaluation.trials]
    return {
        **(runs[0] if len(runs) == 1 else {}),
        "runs": runs,
        "comparisons": [_pair(pair) for pair in evaluation.pairs],
        "datasets": [_dataset(examined.dataset, scored=len(examined.judged)) for examined in evaluation.sets],
        "facts": dict(facts),
    }


def _run(trial: Trial, split: str, kinds: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    recognised, unanswerable = trial.silences
    return {
        "dataset": trial.dataset,
        "profile": trial.way.profile,
        "mode": trial.way.mode,
        "split": split,
        "queries": len(trial.values),
        "measures": trial.measures,
        "latency_ms": trial.latency and {"median": trial.latency.median, "p95": trial.latency.p95},
        "outcomes": dict(trial.outcomes),
        "unanswerable": {"asked": unanswerable, "recognised": recognised},
        "categories": {
            kind: {"queries": len(queries), MAIN: mean(trial.values[query] for query in queries)}
            for kind, queries in kinds.items()
        },
        "degraded": list(trial.degraded),
    }


def _dataset(dataset: Dataset, *, scored: int) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "sha256": dataset.sha256,
        "documents": len(dataset.documents),
        "queries": scored,
        "queries_in_all": len(dataset.judgements),
    }


def _pair(pair: Pair) -> dict[str, Any]:
    return {
        "baseline": {"profile": pair.baseline.profile, "mode": pair.baseline.mode},
        "new": {"profile": pair.new.profile, "mode": pair.new.mode},
        "measure": MAIN,
        **_difference(pair.macro),
        "datasets": {
            name: {**_difference(one), "wins": one.wins, "ties": one.ties, "losses": one.losses}
            for name, one in pair.macro.sets.items()
        },
    }


def _difference(one: Comparison | Macro) -> dict[str, Any]:
    return {"difference": one.difference, "interval": _ends(one.interval), "p_value": one.p_value}


def _ends(interval: Interval) -> list[float]:
    return [interval.low, interval.high]
