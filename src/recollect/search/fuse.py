"""Merge several rankings into one order, and keep the share of each."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Final

from msgspec.structs import replace

from recollect.profile import Fuse, Normalizer, ReciprocalRanks, WeightedSum
from recollect.records import IndexHit
from recollect.search.candidates import Candidates, Given
from recollect.search.parse import query_length
from recollect.search.state import Ranking, State

BELOW_ONE: Final = math.nextafter(1.0, 0.0)
_ID: Final = itemgetter(IndexHit._fields.index("id"))
_SCORE: Final = itemgetter(IndexHit._fields.index("score"))


# --- normalizers ----------------------------------------------------------------------------


def max_norm(scores: Sequence[float]) -> list[float]:
    """Divide by the best score, so that the best is 1."""
    top = max(scores, default=0.0)
    return [score / top for score in scores] if top > 0 else [0.0] * len(scores)


def divide(score: float, divisor: float) -> float:
    """Oro: the score divided, at most 1 and at least 0."""
    return min(1.0, max(0.0, score / divisor))


def saturate(score: float) -> float:
    """Engram: |x| / (1 + |x|), always under 1, for infinity too; NaN counts as 0."""
    size = abs(score)
    if math.isnan(size):
        return 0.0
    return min(BELOW_ONE, size / (1.0 + size)) if math.isfinite(size) else BELOW_ONE


def shifted_saturate(score: float) -> float:
    """Boocode: 0.3 + 0.69 x / (1 + x), in [0, 1) for any match."""
    return 0.3 + 0.69 * saturate(score) if score > 0 else 0.0


def term_count(score: float) -> float:
    """Boocode's LIKE tier: 0.3 and 0.15 for each term that occurs in the text, at most 0.85."""
    return min(0.85, 0.3 + 0.15 * score)


NORMALIZERS: Final[Mapping[Normalizer, Callable[[Sequence[float], float], list[float]]]] = {
    "plain": lambda scores, _: list(scores),
    "max_norm": lambda scores, _: max_norm(scores),
    "divide": lambda scores, divisor: [divide(score, divisor) for score in scores],
    "saturate": lambda scores, _: [saturate(score) for score in scores],
    "shifted_saturate": lambda scores, _: [shifted_saturate(score) for score in scores],
    "term_count": lambda scores, _: [term_count(score) for score in scores],
}
"""How scores are mapped, by the names that profiles use; `divide` takes the divisor of the profile."""


def normalize(kind: str, scores: Sequence[float], rules: Fuse) -> list[float]:
    """Return the *scores* of a ranking of this *kind* as *rules* map them; substring counts by `term_count`."""
    name = rules.normalize.get(kind, "term_count" if kind == "text" else "plain")
    return NORMALIZERS[name](scores, rules.divisor)


# --- fusion ---------------------------------------------------------------------------------


def fuse(state: State, *, rules: Fuse) -> State:
    """Merge the rankings into one order."""
    rankings, query = state.rankings, state.query
    alone = only_ranking(rankings, rules)
    if alone is not None:
        return replace(state, candidates=order_alone(alone, rules), answering_alone=alone.kind)
    if isinstance(rules, ReciprocalRanks):
        return replace(state, candidates=reciprocal_rank_fusion(rankings, rules, words=len(query.words)))
    if rules.full_words > 0:
        rankings = tuple(by_coverage(each, rules, length=query_length(query)) for each in rankings)
    return replace(state, candidates=weighted_sum(rankings, rules))


def only_ranking(rankings: Sequence[Ranking], rules: Fuse) -> Ranking | None:
    """Return the ranking that keeps its own scores: the only one, or with a fallback the only one with hits."""
    fallback = isinstance(rules, ReciprocalRanks) and rules.fallback
    answering = [ranking for ranking in rankings if ranking.hits] if fallback else rankings
    return answering[0] if len(answering) == 1 else rankings[0] if len(rankings) == 1 else None


def order_alone(ranking: Ranking, rules: Fuse) -> Candidates:
    """Return the candidates of a single ranking by its own scores, normalized; best first, ties by id."""
    if isinstance(rules, WeightedSum):
        rules = replace(rules, normalize={**rules.normalize, **rules.normalize_single})
    return _merged([ranking], [1.0], partial(_normalized, rules=rules))


def reciprocal_rank_fusion(rankings: Sequence[Ranking], rules: ReciprocalRanks, *, words: int) -> Candidates:
    """Reciprocal rank fusion (Cormack, Clarke & Büttcher, SIGIR 2009) for a query of so many *words*."""
    return _merged(rankings, list_weights(rankings, rules, words=words), partial(_reciprocal, rules=rules))


def weighted_sum(rankings: Sequence[Ranking], rules: WeightedSum) -> Candidates:
    """Sum of the normalized scores, each times the weight of its ranking."""
    by_kind = sum_weights(rules, code=max((ranking.code_share for ranking in rankings), default=0.0))
    return _merged(rankings, _weights_by_kind(rankings, by_kind), partial(_normalized, rules=rules))


def by_coverage(ranking: Ranking, rules: WeightedSum, *, length: float) -> Ranking:
    """Return a word ranking with less strength for hits that contain little of a query of *length* words.

    The best match on one stray word is not a strong match. Scores are still normalized by the best one.
    """
    if ranking.kind != "words" or not ranking.hits:
        return ranking

    whole = max(1.0, length / rules.full_words)
    strengths = {
        row: share**2 if (share := coverage * whole) < 1.0 else 1.0
        for row, _, coverage, _ in (*ranking.hits, *ranking.by_id.values())
    }
    return replace(ranking, strengths=strengths)


def _merged(
    rankings: Sequence[Ranking], weights: Sequence[float], method: Callable[[Ranking, Sequence[int], float], Given]
) -> Candidates:
    """Return every memory of a ranking with a weight, best first, ties by id."""
    pairs = zip(rankings, weights, strict=True)
    asked = [(ranking, weight) for ranking, weight in pairs if weight > 0 and (ranking.hits or ranking.by_id)]
    everyone = sorted({row for ranking, _ in asked for row in map(_ID, ranking.hits)})
    return Candidates.fuse(everyone, [method(ranking, everyone, weight) for ranking, weight in asked]).by_fused()


def _reciprocal(ranking: Ranking, everyone: Sequence[int], weight: float, *, rules: ReciprocalRanks) -> Given:
    """Return weight / (k + rank) plus the bonus of the rank."""
    ranks, natives = _known(ranking, everyone)
    points: dict[int, float] = dict.fromkeys(natives, 0.0)
    for row, rank in ranks.items():
        bonus = rules.rank_bonus[rank - 1] if rank <= len(rules.rank_bonus) else 0.0
        points[row] = weight / (rules.k + rank) + bonus
    return Given(ranking.name, points, ranks, natives)


def _normalized(ranking: Ranking, everyone: Sequence[int], weight: float, *, rules: Fuse) -> Given:
    """Return the normalized scores times the weight; a memory that the ranking does not know gets nothing."""
    ranks, natives = _known(ranking, everyone)
    scores = zip(natives, normalize(ranking.kind, list(natives.values()), rules), strict=True)
    points = {row: weight * score * ranking.strengths.get(row, 1.0) for row, score in scores}
    return Given(ranking.name, points, ranks, natives)


def _known(ranking: Ranking, everyone: Sequence[int]) -> tuple[dict[int, int], dict[int, float]]:
    """Return the ranks in *ranking*, and the scores it knows of *everyone*, ranked memories first."""
    hits, by_id = ranking.hits, ranking.by_id
    rows = list(map(_ID, hits))
    ranks = dict(zip(rows, range(1, len(rows) + 1), strict=True))
    natives = dict(zip(rows, map(_SCORE, hits), strict=True))
    if by_id:
        others = by_id.keys() - ranks.keys()
        natives |= {row: by_id[row].score for row in everyone if row in others}
    return ranks, natives


# --- weights --------------------------------------------------------------------------------


def list_weights(rankings: Sequence[Ranking], rules: ReciprocalRanks, *, words: int) -> list[float]:
    """Return the weight of each ranking: by position if the profile says so, otherwise by kind and query length."""
    if rules.list_weights:
        last = len(rules.list_weights) - 1
        return [rules.list_weights[min(place, last)] for place in range(len(rankings))]
    short = rules.short_weights if words <= rules.short_query else {}
    long = rules.long_weights if words >= rules.long_query else {}
    return _weights_by_kind(rankings, {**rules.weights, **short, **long})


def sum_weights(rules: WeightedSum, *, code: float) -> Mapping[str, float]:
    """Return the weight of each kind of ranking if this share of everything searched is *code*."""
    return {
        name: weight * (1 - code) + rules.code_weights.get(name, weight) * code
        for name, weight in rules.weights.items()
    }


def _weights_by_kind(rankings: Sequence[Ranking], weights: Mapping[str, float]) -> list[float]:
    by_kind = {**weights, "text": weights.get("words", 0.0)}
    return [by_kind.get(ranking.kind, 0.0) * ranking.weight for ranking in rankings]
