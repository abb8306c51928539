"""Is there an answer? The outcome, and when there is none, the reason."""

from collections.abc import Sequence

from recollect.profile import Judge
from recollect.records import Scope, Where
from recollect.replies import Mode, Outcome, Reason
from recollect.search.ranking import Candidate, Ranking
from recollect.stores.contract import Store


def judge(best: Candidate, rankings: Sequence[Ranking], *, mode: Mode, bars: Judge) -> Outcome:
    """Return whether the *best* candidate is an answer or only the best there is.

    A memory that has no vector yet is judged by its words alone: what is missing does not speak against it.
    """
    known = any(share.ranking == "vector" and share.native is not None for share in best.shares)
    heard: Mode = "keyword" if mode == "hybrid" and not known else mode
    return "answered" if evidence(best, rankings, mode=heard) >= getattr(bars, heard) else "weak"


def evidence(best: Candidate, rankings: Sequence[Ranking], *, mode: Mode) -> float:
    """Return how much speaks for *best*, between 0 and 1: words held, nearness of meaning, or the mean of both."""
    asked = (ranking for ranking in rankings if ranking.weighs_as != "expansion")
    coverage = max((_coverage(ranking, best.id) for ranking in asked), default=0.0)
    cosine = max((share.native or 0.0 for share in best.shares if share.ranking == "vector"), default=0.0)
    return {"keyword": coverage, "semantic": cosine, "hybrid": (coverage + cosine) / 2}[mode]


def _coverage(ranking: Ranking, row: int) -> float:
    entry = ranking.also.get(row) or next((each for each in ranking.found if each.id == row), None)
    return entry.coverage if entry else 0.0


def explain_nothing(*, store: Store, scope: Scope, unfiltered: int, dropped: Sequence[Candidate]) -> Reason:
    """Return why nothing is shown: the store is empty, a floor was missed, a filter hid it, or no word matches."""
    if dropped:
        best = dropped[0].score
        message = f"{len(dropped)} found, all under the floor of the profile; the best scored {best:.4g}"
        return Reason(code="below_threshold", message=message, best_score=best, hidden=len(dropped))
    if store.browse(scope=scope, where=Where(include_superseded=True), limit=1).total == 0:
        return Reason(code="empty_store", message="there are no memories here yet")
    if unfiltered:
        message = f"{unfiltered} would match without the filters"
        return Reason(code="filtered_out", message=message, hidden=unfiltered)
    return Reason(code="no_match", message="no memory holds any of these words")
