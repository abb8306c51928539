"""How good a ranking is, query by query, and on the mean.

A document counts as relevant when its gain is above 0. A document named twice counts where it stands first.
In the formulas `rel` are the relevant documents of a query and `top` the first k of its ranking.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from recollect.errors import QueryError

Gains = Mapping[str, int]
Measure = Callable[[Sequence[str], Gains], float]
Scores = Mapping[str, Mapping[str, float]]
"""Measure -> query -> value."""


def ndcg(ranking: Sequence[str], gains: Gains, *, k: int) -> float:
    """Return DCG(top) / DCG(ideal), DCG = sum of gain_i / log2(i + 1) (Järvelin & Kekäläinen, 2002; linear gains)."""
    ideal = sorted((gain for gain in gains.values() if gain > 0), reverse=True)[:k]
    found = [max(gains.get(document, 0), 0) for document in _top(ranking, k)]
    return _dcg(found) / _dcg(ideal) if ideal else 0.0


def recall(ranking: Sequence[str], gains: Gains, *, k: int) -> float:
    """Return |rel in top| / |rel|."""
    relevant = _relevant(gains)
    return _found(ranking, gains, k) / len(relevant) if relevant else 0.0


def recall_any(ranking: Sequence[str], gains: Gains, *, k: int) -> float:
    """Return 1 if top holds at least one of rel, else 0 (also called success or hit rate)."""
    return float(_found(ranking, gains, k) > 0)


def recall_all(ranking: Sequence[str], gains: Gains, *, k: int) -> float:
    """Return 1 if top holds all of rel, else 0."""
    relevant = _relevant(gains)
    return float(bool(relevant) and _found(ranking, gains, k) == len(relevant))


def reciprocal_rank(ranking: Sequence[str], gains: Gains, *, k: int) -> float:
    """Return 1 / rank of the first of rel in top, 0 if there is none; its mean is MRR."""
    relevant = _relevant(gains)
    ranks = (rank for rank, document in enumerate(_top(ranking, k), start=1) if document in relevant)
    return next((1 / rank for rank in ranks), 0.0)


def precision(ranking: Sequence[str], gains: Gains, *, k: int) -> float:
    """Return |rel in top| / k, however short the ranking."""
    return _found(ranking, gains, k) / k


FAMILIES: Final[Mapping[str, Callable[..., float]]] = MappingProxyType(
    {
        "ndcg": ndcg,
        "recall": recall,
        "recall_any": recall_any,
        "recall_all": recall_all,
        "mrr": reciprocal_rank,
        "hit": recall_any,
        "precision": precision,
    }
)


def measure(name: str) -> Measure:
    """Return the measure called *name*, such as "ndcg@10"."""
    found = re.fullmatch(r"([a-z_]+)@([1-9][0-9]{0,5})", name)
    if not found or found[1] not in FAMILIES:
        raise QueryError(f"unknown measure {name!r}", hint=f"write one of {', '.join(FAMILIES)} and a depth: ndcg@10")
    return partial(FAMILIES[found[1]], k=int(found[2]))


_RECALLS: Final = tuple(f"{family}@{k}" for family in ("recall", "recall_any", "recall_all") for k in (5, 10, 100))
_NAMES: Final = ("ndcg@10", *_RECALLS, "mrr@10", "hit@1", "precision@10")
MEASURES: Final[Mapping[str, Measure]] = MappingProxyType({name: measure(name) for name in _NAMES})
"""The measures of a report, in its order."""


def score(
    rankings: Mapping[str, Sequence[str]],
    judgements: Mapping[str, Gains],
    *,
    measures: Mapping[str, Measure] = MEASURES,
) -> Scores:
    """Return each measure of each judged query; a query without a ranking scores 0, so nothing is won by silence."""
    return {
        name: {query: rate(rankings.get(query, ()), gains) for query, gains in judgements.items()}
        for name, rate in measures.items()
    }


def means(scores: Scores) -> dict[str, float]:
    """Return the mean of each measure over its queries."""
    return {name: mean(by_query.values()) for name, by_query in scores.items()}


def mean(values: Iterable[float]) -> float:
    """Return the mean of *values*, the same in any order; of none it is 0."""
    known = list(values)
    return math.fsum(known) / len(known) if known else 0.0


def collapse(ranking: Sequence[str], sessions: Mapping[str, str]) -> tuple[str, ...]:
    """Return *ranking* with each document replaced by its session, a session standing where its first document did."""
    return tuple(dict.fromkeys(sessions.get(document, document) for document in ranking))


def collapse_gains(gains: Gains, sessions: Mapping[str, str]) -> dict[str, int]:
    """Return the gain of each session: that of its best document."""
    best: dict[str, int] = {}
    for document, gain in gains.items():
        session = sessions.get(document, document)
        best[session] = max(gain, best.get(session, gain))
    return best


def _top(ranking: Sequence[str], k: int) -> list[str]:
    return list(dict.fromkeys(ranking))[:k]


def _relevant(gains: Gains) -> set[str]:
    return {document for document, gain in gains.items() if gain > 0}


def _found(ranking: Sequence[str], gains: Gains, k: int) -> int:
    return len(_relevant(gains).intersection(_top(ranking, k)))


def _dcg(gains: Sequence[int]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
