"""Several rankings into one order, keeping what each of them gave."""

import math
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Final

from msgspec.structs import replace

from recollect.profile import Fuse, Normaliser
from recollect.records import IndexHit
from recollect.search.candidates import Candidates, Given
from recollect.search.parse import query_length
from recollect.search.state import Ranking, State

BELOW_ONE: Final = math.nextafter(1.0, 0.0)
_ID: Final = itemgetter(IndexHit._fields.index("id"))
_SCORE: Final = itemgetter(IndexHit._fields.index("score"))


# --- normalisers ----------------------------------------------------------------------------


def max_norm(scores: Sequence[float]) -> list[float]:
    """Divide by the best score, so that the best is 1."""
    top = max(scores, default=0.0)
    return [score / top for score in scores] if top > 0 else [0.0] * len(scores)


def min_max(scores: Sequence[float]) -> list[float]:
    """Map the worst to 0 and the best to 1; equal scores are all 1."""
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]


def divide(score: float, divisor: float) -> float:
    """Oro: the score divided, at most 1 and at least 0."""
    return min(1.0, max(0.0, score / divisor))


def saturate(score: float) -> float:
    """Engram: |x| / (1 + |x|), always under 1, for infinity too; what is no number counts as 0."""
    size = abs(score)
    if math.isnan(size):
        return 0.0
    return min(BELOW_ONE, size / (1.0 + size)) if math.isfinite(size) else BELOW_ONE


def shifted_saturate(score: float) -> float:
    """Boocode: 0.3 + 0.69 x / (1 + x), in [0, 1) for what matched at all."""
    return 0.3 + 0.69 * saturate(score) if score > 0 else 0.0


def term_count(score: float) -> float:
    """Boocode's LIKE tier: 0.3 and 0.15 for each term that stands in the text, at most 0.85."""
    return min(0.85, 0.3 + 0.15 * score)


NORMALISERS: Final[Mapping[Normaliser, Callable[[Sequence[float], float], list[float]]]] = {
    "plain": lambda scores, _: list(scores),
    "max_norm": lambda scores, _: max_norm(scores),
    "min_max": lambda scores, _: min_max(scores),
    "divide": lambda scores, divisor: [divide(score, divisor) for score in scores],
    "saturate": lambda scores, _: [saturate(score) for score in scores],
    "shifted_saturate": lambda scores, _: [shifted_saturate(score) for score in scores],
    "term_count": lambda scores, _: [term_count(score) for score in scores],
    "tanh": lambda scores, _: [math.tanh(abs(score) / 10.0) for score in scores],
}
"""How scores are mapped, by the names that profiles use; `divide` takes the divisor of the profile."""


def normalise(kind: str, scores: Sequence[float], rules: Fuse) -> list[float]:
    """Return the *scores* of a ranking of this *kind* as *rules* map them; counts of substrings as `term_count`."""
    name = rules.normalise.get(kind, "term_count" if kind == "text" else "plain")
    return NORMALISERS[name](scores, rules.divisor)


# --- fusion ---------------------------------------------------------------------------------


def fuse(state: State, *, rules: Fuse, fallback: bool) -> State:
    """Make one order of the rankings."""
    rankings, query = state.rankings, state.query
    if rules.full_words > 0 and len(rankings) > 1:
        rankings = tuple(by_coverage(each, rules, length=query_length(query)) for each in rankings)
    return replace(state, candidates=combine(rankings, rules, words=len(query.words), fallback=fallback))


def by_coverage(ranking: Ranking, rules: Fuse, *, length: float) -> Ranking:
    """Return *ranking* with less for what holds little of a question of *length* words, if it is one of words.

    The best match on one stray word is no strong match. The best score stays the measure of the others.
    """
    if ranking.kind != "words" or not ranking.hits:
        return ranking

    whole = max(1.0, length / rules.full_words)
    strengths = {
        row: share**2 if (share := coverage * whole) < 1.0 else 1.0
        for row, _, coverage, _ in (*ranking.hits, *ranking.by_id.values())
    }
    return replace(ranking, strengths=strengths)


def combine(rankings: Sequence[Ranking], rules: Fuse, *, words: int, fallback: bool = False) -> Candidates:
    """Return the candidates of *rankings* for a query of so many *words*, best first, ties by id.

    A list that is the only one, or with *fallback* the only one that found anything, keeps its own scores.
    """
    alone = only_list(rankings, fallback=fallback)
    if alone is not None:
        return order_alone(alone, rules)
    return fuse_lists(rankings, rules, weights=list_weights(rankings, rules, words=words))


def only_list(rankings: Sequence[Ranking], *, fallback: bool) -> Ranking | None:
    """Return the one list whose own scores are the scores, if nothing was fused."""
    answering = [ranking for ranking in rankings if ranking.hits] if fallback else rankings
    return answering[0] if len(answering) == 1 else rankings[0] if len(rankings) == 1 else None


def order_alone(ranking: Ranking, rules: Fuse) -> Candidates:
    """Return the one list there is, its own scores normalised, best first, ties by id."""
    names = {**rules.normalise, **rules.normalise_single}
    return fuse_lists([ranking], replace(rules, method="sum", normalise=names), weights=[1.0])


def fuse_lists(rankings: Sequence[Ranking], rules: Fuse, *, weights: Sequence[float]) -> Candidates:
    """Return every memory of any ranking that weighs, best first, ties by id."""
    method = reciprocal_ranks if rules.method == "rrf" else weighted_sum
    pairs = zip(rankings, weights, strict=True)
    asked = [(ranking, weight) for ranking, weight in pairs if weight > 0 and (ranking.hits or ranking.by_id)]
    everyone = sorted({row for ranking, _ in asked for row in map(_ID, ranking.hits)})
    given = [method(ranking, everyone, rules, weight) for ranking, weight in asked]
    return Candidates.fuse(everyone, given).by_fused()


def reciprocal_ranks(ranking: Ranking, everyone: Sequence[int], rules: Fuse, weight: float) -> Given:
    """Reciprocal rank fusion (Cormack, Clarke & Büttcher, SIGIR 2009): weight / (k + rank) and the rank's bonus."""
    ranks, natives = _known(ranking, everyone)
    points: dict[int, float] = {}
    for row, rank in ranks.items():
        bonus = rules.rank_bonus[rank - 1] if rank <= len(rules.rank_bonus) else 0.0
        points[row] = weight / (rules.k + rank) + bonus
    last = weight / (rules.k + (len(ranking.hits) + 1)) if rules.missing == "last" else 0.0
    others = everyone if rules.missing == "last" else natives
    points |= {row: last for row in others if row not in ranks}
    return Given(ranking.name, points, ranks, natives)


def weighted_sum(ranking: Ranking, everyone: Sequence[int], rules: Fuse, weight: float) -> Given:
    """The ranking's normalised scores times its weight; a memory it does not know gets nothing of it."""
    ranks, natives = _known(ranking, everyone)
    strengths = ranking.strengths
    scores = zip(natives, normalise(ranking.kind, list(natives.values()), rules), strict=True)
    if strengths:
        points = {row: weight * score * strengths.get(row, 1.0) for row, score in scores}
    else:
        points = {row: weight * score for row, score in scores}
    return Given(ranking.name, points, ranks, natives)


def _known(ranking: Ranking, everyone: Sequence[int]) -> tuple[dict[int, int], dict[int, float]]:
    """Return the ranks that *ranking* gives, and the scores it knows of *everyone*, those with a rank first."""
    hits, by_id = ranking.hits, ranking.by_id
    rows = list(map(_ID, hits))
    ranks = dict(zip(rows, range(1, len(rows) + 1), strict=True))
    natives = dict(zip(rows, map(_SCORE, hits), strict=True))
    if by_id:
        others = by_id.keys() - ranks.keys()
        natives |= {row: by_id[row].score for row in everyone if row in others}
    return ranks, natives


# --- weights --------------------------------------------------------------------------------


def list_weights(rankings: Sequence[Ranking], rules: Fuse, *, words: int) -> list[float]:
    """Return what each of *rankings* counts: by its place where the profile says so, else by its kind."""
    if rules.list_weights:
        last = len(rules.list_weights) - 1
        return [rules.list_weights[min(place, last)] for place in range(len(rankings))]
    code = max((ranking.code_share for ranking in rankings), default=0.0)
    by_kind = kind_weights(rules, words=words, code=code)
    return [by_kind.get(ranking.kind, 0.0) * ranking.weight for ranking in rankings]


def kind_weights(rules: Fuse, *, words: int, code: float = 0.0) -> Mapping[str, float]:
    """Return what each kind of ranking counts for a query of so many *words* where this share of all is *code*."""
    chosen = {
        name: weight * (1 - code) + rules.code_weights.get(name, weight) * code
        for name, weight in rules.weights.items()
    }
    chosen |= rules.short_weights if words <= rules.short_query else {}
    chosen |= rules.long_weights if words >= rules.long_query else {}
    return {**chosen, "text": chosen.get("words", 0.0)}
