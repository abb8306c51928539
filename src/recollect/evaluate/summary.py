"""An evaluation as a report: facts, profiles x sets for each measure, and who won which query."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from recollect.evaluate.compare import Comparison, Macro
from recollect.evaluate.measures import mean
from recollect.evaluate.report import Cell, Duel, Report, Table, tabulate
from recollect.evaluate.trial import MAIN, Evaluation, Latency, Pair

TITLE: Final = "Retrieval quality"
MEAN: Final = "mean of the sets"
NAMES: Final[Mapping[str, str]] = {
    "ndcg@10": "nDCG@10",
    "hit@1": "R@1: the first hit is relevant",
    "mrr@10": "MRR@10",
    "recall@5": "Recall@5",
    "recall@10": "Recall@10",
    "recall@100": "Recall@100",
    "recall_any@5": "Recall@5, any: at least one of the relevant",
    "recall_any@10": "Recall@10, any",
    "recall_any@100": "Recall@100, any",
    "recall_all@5": "Recall@5, all: every one of the relevant",
    "recall_all@10": "Recall@10, all",
    "recall_all@100": "Recall@100, all",
}
"""The measures that are told, and what they are called."""
TIMED: Final = "a search for 100 hits without snippets, the vector of the question known"


def report_of(evaluation: Evaluation, facts: Mapping[str, str]) -> Report:
    """Return the report of *evaluation*, *facts* and those of the sets first."""
    known = {f"set {each.name}": _set_fact(evaluation, each.name) for each in evaluation.sets}
    return Report(
        title=TITLE,
        facts={**facts, **known},
        tables=tuple(_tables(evaluation)),
        duels=tuple(
            Duel(
                caption=f"{name}: {pair.new} against {pair.baseline}",
                baseline=str(pair.baseline),
                new=str(pair.new),
                comparison=comparison,
                texts=next(each.texts for each in evaluation.sets if each.name == name),
            )
            for pair in evaluation.pairs
            for name, comparison in pair.macro.sets.items()
        ),
    )


def _set_fact(evaluation: Evaluation, name: str) -> str:
    examined = next(each for each in evaluation.sets if each.name == name)
    dataset = examined.dataset
    return (
        f"{len(examined.judged)} queries scored of {len(dataset.judgements)}, "
        f"{len(dataset.documents)} documents, sha256 {dataset.sha256}"
    )


def _tables(evaluation: Evaluation) -> list[Table]:
    ways = {str(way): [trial for trial in evaluation.trials if trial.way == way] for way in evaluation.ways}
    main = tabulate(NAMES[MAIN], {way: {each.dataset: each.values for each in own} for way, own in ways.items()})
    plain = [
        Table(
            caption=caption,
            rows={way: {each.dataset: Cell(value=each.measures[name]) for each in own} for way, own in ways.items()},
        )
        for name, caption in NAMES.items()
        if name != MAIN
    ]
    tables = [_with_mean(table) for table in (main, *plain)]
    return [*tables, *_compared(evaluation.pairs), *_by_category(evaluation), *_timed(evaluation)]


def _with_mean(table: Table) -> Table:
    """Return *table* with the mean of its sets, each counting alike, when there are several."""
    if len(table.columns) < 2:
        return table
    rows = {
        name: {**row, MEAN: Cell(value=mean(cell.value for cell in row.values()))} for name, row in table.rows.items()
    }
    return replace(table, rows=rows)


def _compared(pairs: tuple[Pair, ...]) -> list[Table]:
    """Return what each pair gained, set by set, with its interval."""
    rows = {
        f"{pair.new} against {pair.baseline}": {
            name: Cell(value=one.difference, interval=one.interval) for name, one in _differences(pair).items()
        }
        for pair in pairs
    }
    caption = f"Gain in {NAMES[MAIN]} with its 95% interval; what is surely not 0 in bold"
    return [Table(caption=caption, rows=rows, good="gains", form="+.3f")] if rows else []


def _differences(pair: Pair) -> Mapping[str, Comparison | Macro]:
    return {**pair.macro.sets, **({MEAN: pair.macro} if len(pair.macro.sets) > 1 else {})}


def _by_category(evaluation: Evaluation) -> list[Table]:
    """Return the main measure for each kind of question, of the sets that tell kinds apart."""
    tables = []
    for examined in evaluation.sets:
        kinds = examined.categories
        rows = {
            str(trial.way): {
                f"{kind} ({len(queries)})": Cell(value=mean(trial.values[query] for query in queries))
                for kind, queries in kinds.items()
            }
            for trial in evaluation.trials
            if trial.dataset == examined.name
        }
        if len(kinds) > 1:
            tables.append(Table(caption=f"{NAMES[MAIN]} on {examined.name} by the kind of question", rows=rows))
    return tables


def _timed(evaluation: Evaluation) -> list[Table]:
    timed = [(trial, trial.latency) for trial in evaluation.trials if trial.latency is not None]

    def table(caption: str, of: Callable[[Latency], float]) -> Table:
        rows: dict[str, dict[str, Cell]] = {}
        for trial, latency in timed:
            rows.setdefault(str(trial.way), {})[trial.dataset] = Cell(value=of(latency))
        return Table(caption=caption, rows=rows, good="low", form=".1f")

    return [
        table(f"Milliseconds, median: {TIMED}", lambda latency: latency.median),
        table("Milliseconds, 95th percentile", lambda latency: latency.p95),
    ]
