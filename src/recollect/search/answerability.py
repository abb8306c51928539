"""Is there an answer? How likely that is, the outcome, and when there is none, the reason.

Two things speak for a hit: how much of the query's weight it holds in words, and how near it is in
meaning. A logistic model of both, fitted on queries with and without an answer
(benchmarks/silence.py), gives the chance that there is one. What else was tried adds nothing to the two.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from recollect.profile import Answerability, Calibration, LogisticModel
from recollect.records import Filter
from recollect.replies import Evidence, Reason
from recollect.search.build_query import query_terms
from recollect.search.parse import query_length
from recollect.search.state import Candidate, Ranking, SearchContext, State
from recollect.text.analyser import field_texts, telling_path
from recollect.text.snippet import held

STEEPEST = 30.0
"""Beyond this the logistic curve is flat, and its exponential would overflow."""


def judge(state: State, *, rules: Answerability) -> State:
    """Say whether an answer is among the first hits, and what speaks for the one most likely to be it.

    A profile without a threshold takes every hit for an answer.
    """
    if not state.kept or rules.threshold <= 0:
        return replace(state, outcome="answered" if state.kept else "none")
    length, table = query_length(state.query), calibration(state.generation, rules)
    told = (_evidence(each, state, length, table, rules) for each in state.kept[: rules.top_k])
    best = max((each for each in told if each is not None), key=lambda each: each.probability, default=None)
    answered = best is not None and best.probability >= rules.threshold
    return replace(state, outcome="answered" if answered else "weak", evidence=best)


def _evidence(
    hit: Candidate, state: State, length: float, table: Calibration | None, rules: Answerability
) -> Evidence | None:
    """Return what speaks for *hit*; nothing can be told of a cosine alone of which no one knows what it means.

    A hit that has no vector yet, or one of an unknown model, is judged by its words: what is missing or means
    nothing does not speak against it, nor for it.
    """
    coverage: float | None = _coverage(hit.id, state.rankings) * _share_off_path(hit.id, state)
    near = [share.native for share in hit.shares if share.ranking == "vector" and share.native is not None]
    cosine = max(near, default=None) if table is not None and state.mode != "keyword" else None
    if state.mode == "semantic":
        if table is None or cosine is None:
            return None
        model, coverage = table.semantic, None
    else:
        model = rules.words if table is None or cosine is None else table.hybrid
    held = length_adjusted(coverage or 0.0, length=length, rules=rules)
    likely = probability(model, coverage=held, cosine=cosine or 0.0)
    return Evidence(id=hit.id, probability=likely, threshold=rules.threshold, coverage=coverage, cosine=cosine)


def probability(model: LogisticModel, *, coverage: float, cosine: float = 0.0) -> float:
    """Return how likely an answer is, between 0 and 1: more words held and a nearer meaning never make it less."""
    raised = model.intercept + model.coverage * coverage + model.cosine * cosine
    return 1.0 / (1.0 + math.exp(-max(-STEEPEST, min(STEEPEST, raised))))


def length_adjusted(coverage: float, *, length: float, rules: Answerability) -> float:
    """Return what *coverage* is worth in a query of *length* words.

    No memory repeats all of a long query, so above the pivot less of it is as telling.
    """
    return min(1.0, coverage * math.pow(max(1.0, length / rules.length_pivot), rules.length_exponent))


def calibration(model: str, rules: Answerability) -> Calibration | None:
    """Return what is known of the cosines of *model*: by its whole fingerprint or the longest beginning of it."""
    names = [name for name in rules.models if f"{model}-".startswith(f"{name}-")]
    return rules.models[max(names, key=len)] if names else None


def _coverage(row: int, rankings: Sequence[Ranking]) -> float:
    """Return the most that *row* holds of what was asked, in the asker's own words."""
    asked = (ranking.find(row)[1] for ranking in rankings if ranking.kind != "expansion")
    return max((hit.coverage for hit in asked if hit is not None), default=0.0)


def _share_off_path(row: int, state: State) -> float:
    """Return which share of the words that *row* holds stands elsewhere than in its path: no folder is an answer."""
    memory = state.memories.get(row)
    if memory is None or not memory.source:
        return 1.0
    terms = query_terms(state.tiers)
    placed = held(telling_path(memory.source), terms)
    if not placed:
        return 1.0
    texts = (text for field, text in field_texts(memory) if field != "path")
    told = held("\n".join((memory.content, *texts)), terms)
    return len(told) / len(told | placed)


# --- no answer ------------------------------------------------------------------------------


def explain_nothing(state: State, context: SearchContext) -> State:
    """Say why nothing is shown: nothing was asked, a floor was missed, a filter hid it, or no word matches."""
    return state if state.hits else replace(state, reason=_reason(state, context))


def _reason(state: State, context: SearchContext) -> Reason:
    if not state.browsing and state.query.asks_nothing and state.request.embedding is None:
        return Reason(code="blank_query", message="there is nothing to look for in this query")
    if state.candidates:
        count, best = len(state.candidates), state.candidates[0].score
        message = f"{count} found, all under the floor of the profile; the best scored {best:.4g}"
        return Reason(code="below_threshold", message=message, best_score=best, hidden=count)
    everything = Filter(include_superseded=True)
    held = context.ask.browse(scope=state.scope, where=everything, limit=1).total
    if held == 0:
        return Reason(code="empty_store", message="there are no memories here yet")
    matching = (
        context.ask.match_words(tier, scope=state.scope, where=everything, limit=1).total for tier in state.tiers
    )
    hidden = held if state.browsing else next(filter(None, matching), 0)
    if hidden:
        return Reason(code="filtered_out", message=f"{hidden} would match without the filters", hidden=hidden)
    return Reason(code="no_match", message="no memory holds any of these words")
