"""Several rankings into one order, keeping what each of them gave."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from recollect.profile import Fuse, Profile
from recollect.records import IndexHit
from recollect.replies import Mode, Share
from recollect.search.parse import Query
from recollect.search.ranking import Candidate, Ranking

BELOW_ONE: Final = math.nextafter(1.0, 0.0)


def plain(scores: Sequence[float]) -> list[float]:
    """Leave the scores as they are."""
    return list(scores)


def over_top(scores: Sequence[float]) -> list[float]:
    """Divide by the best score, so that the best is 1."""
    top = max(scores, default=0.0)
    return [score / top if top > 0 else 0.0 for score in scores]


def over_25(scores: Sequence[float]) -> list[float]:
    """Oro: a 25th, at most 1 and at least 0."""
    return [min(1.0, max(0.0, score / 25.0)) for score in scores]


def squashed(scores: Sequence[float]) -> list[float]:
    """Engram: |x| / (1 + |x|), always under 1, for infinity too; what is no number counts as 0."""
    return [_squash(score) for score in scores]


def lifted(scores: Sequence[float]) -> list[float]:
    """Boocode: 0.3 + 0.69 x / (1 + x), in [0, 1) for what matched at all."""
    return [0.3 + 0.69 * _squash(score) if score > 0 else 0.0 for score in scores]


def counted(scores: Sequence[float]) -> list[float]:
    """Boocode's LIKE tier: 0.3 and 0.15 for each term that stands in the text, at most 0.85."""
    return [min(0.85, 0.3 + 0.15 * score) for score in scores]


def tanh(scores: Sequence[float]) -> list[float]:
    """Cortex, later: the hyperbolic tangent of a tenth."""
    return [math.tanh(abs(score) / 10.0) for score in scores]


def min_max(scores: Sequence[float]) -> list[float]:
    """Map the worst to 0 and the best to 1; equal scores are all 1."""
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]


NORMALISERS: Final[Mapping[str, Callable[[Sequence[float]], list[float]]]] = {
    "plain": plain,
    "over_top": over_top,
    "over_25": over_25,
    "squashed": squashed,
    "lifted": lifted,
    "counted": counted,
    "tanh": tanh,
    "min_max": min_max,
}


def _squash(score: float) -> float:
    size = abs(score)
    if math.isnan(size):
        return 0.0
    return min(BELOW_ONE, size / (1.0 + size)) if math.isfinite(size) else BELOW_ONE


Shares = dict[int, tuple[Share, ...]]


def fuse(rankings: Sequence[Ranking], rules: Fuse, *, weights: Mapping[str, float]) -> tuple[Candidate, ...]:
    """Return every memory of any ranking, best first, ties by id."""
    method = reciprocal_ranks if rules.method == "rrf" else weighted_sum
    asked = [ranking for ranking in rankings if weights.get(ranking.weighs_as, 0.0) > 0]
    everyone = sorted({entry.id for ranking in asked for entry in ranking.found})
    shares: Shares = dict.fromkeys(everyone, ())
    for ranking in asked:
        for row, share in method(ranking, everyone, rules, weights[ranking.weighs_as] * ranking.weight).items():
            shares[row] += (share,)
    candidates = (Candidate(id=row, shares=given) for row, given in shares.items())
    return tuple(sorted(candidates, key=lambda each: (-each.fused, each.id)))


def combine(
    rankings: Sequence[Ranking], profile: Profile, *, mode: Mode, query: Query, alpha: float | None
) -> tuple[Candidate, ...]:
    """Return the candidates of *rankings* as the profile orders them in this mode."""
    asked = [ranking for ranking in rankings if ranking.found or ranking.by_id] or list(rankings[:1])
    expanded = any(ranking.weighs_as == "expansion" for ranking in rankings)
    if len(rankings) == 1 or (mode != "hybrid" and not expanded):
        return order_alone(rankings[0], profile.fuse)
    answering = [ranking for ranking in asked if ranking.found]
    if profile.retrieve.fall_back and len(answering) == 1:
        return order_alone(answering[0], profile.fuse)
    code = max(ranking.code_share for ranking in rankings)
    return fuse(asked, profile.fuse, weights=weights_for(profile.fuse, words=len(query.words), alpha=alpha, code=code))


def order_alone(ranking: Ranking, rules: Fuse) -> tuple[Candidate, ...]:
    """Return the one list there is, its own scores normalised, best first, ties by id."""
    names = {**rules.normalise, **rules.alone}
    return fuse([ranking], replace(rules, method="sum", normalise=names), weights={ranking.weighs_as: 1.0})


def reciprocal_ranks(ranking: Ranking, everyone: Sequence[int], rules: Fuse, weight: float) -> Mapping[int, Share]:
    """Reciprocal rank fusion (Cormack, Clarke & Büttcher, SIGIR 2009): weight / (k + rank) and the rank's bonus."""
    given = {}
    for rank, entry in enumerate(ranking.found, start=1):
        bonus = rules.bonus[rank - 1] if rank <= len(rules.bonus) else 0.0
        points = weight / (rules.k + rank) + bonus
        given[entry.id] = Share(ranking=ranking.name, rank=rank, points=points, native=entry.score)
    last = len(ranking.found) + 1
    for row in everyone:
        if row not in given and (rules.missing == "last" or row in ranking.by_id):
            points = weight / (rules.k + last) if rules.missing == "last" else 0.0
            given[row] = Share(ranking=ranking.name, rank=None, points=points, native=_also(ranking, row))
    return given


def weighted_sum(ranking: Ranking, everyone: Sequence[int], rules: Fuse, weight: float) -> Mapping[int, Share]:
    """The ranking's normalised scores times its weight; a memory it does not know gets nothing of it."""
    entries: list[tuple[int | None, IndexHit]] = list(enumerate(ranking.found, start=1))
    ranked = {entry.id for entry in ranking.found}
    entries += [(None, ranking.by_id[row]) for row in everyone if row in ranking.by_id and row not in ranked]
    normalise = NORMALISERS[rules.normalise.get(ranking.weighs_as, "plain")]
    scores = normalise([entry.score for _, entry in entries])
    return {
        entry.id: Share(ranking=ranking.name, rank=rank, points=weight * score, native=entry.score)
        for (rank, entry), score in zip(entries, scores, strict=True)
    }


def _also(ranking: Ranking, row: int) -> float | None:
    return ranking.by_id[row].score if row in ranking.by_id else None


def weights_for(rules: Fuse, *, words: int, alpha: float | None, code: float = 0.0) -> Mapping[str, float]:
    """Return what each ranking counts for a question of so many *words* where this share of all is *code*."""
    if alpha is not None:
        return {**rules.weights, "words": 1.0 - alpha, "text": 1.0 - alpha, "vector": alpha}
    chosen = {
        name: weight * (1 - code) + rules.for_code.get(name, weight) * code for name, weight in rules.weights.items()
    }
    chosen = {"text": chosen.get("words", 0.0), **chosen}
    for most, of_words, of_vector in rules.adaptive:
        chosen |= {"words": of_words, "text": of_words, "vector": of_vector}
        if words <= most:
            break
    return chosen
