"""Is there an answer? How likely that is, the outcome, and when there is none, the reason.

Two things speak for a hit: how much of the query's weight it holds in words, and how near it is in meaning. A logistic
model of both, fitted on queries with and without an answer (benchmarks/silence.py), says how likely it is that the hit
speaks of what was asked. Two things speak against it: a name or a number of the query that it does not hold, and that
it holds no value of the kind asked for (search/details.py).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from recollect.profile import Answerability, Calibration, LogisticModel
from recollect.records import Filter
from recollect.replies import Evidence, Reason
from recollect.search.build_query import query_terms
from recollect.search.candidates import Drop
from recollect.search.details import NO_DETAILS, Details, details_of
from recollect.search.exchange import group
from recollect.search.near_names import corrected
from recollect.search.parse import query_length
from recollect.search.state import Ranking, SearchContext, State
from recollect.text.analyser import field_texts, telling_path
from recollect.text.snippet import QueryTerms, held, held_in_line

STEEPEST = 30.0
"""Beyond this the logistic curve is flat, and its exponential would overflow."""


def judge(state: State, *, rules: Answerability) -> State:
    """Say whether an answer is among the first hits, and what speaks for the one most likely to be it.

    A profile without a threshold takes every hit for an answer.
    """
    if not state.kept or rules.threshold <= 0:
        return replace(state, outcome="answered" if state.kept else "none")
    best = _best(state, rules)
    answered = best is not None and best.probability >= rules.threshold
    told = replace(state, outcome="answered" if answered else "weak", evidence=best)
    return _silent(told) if state.gibberish and best is not None and not best.coverage else told


def _silent(state: State) -> State:
    """Return *state* without any hit: what is near to letters that are no words is near by chance."""
    drop = Drop(code="floor", surfaces_if="a word of the query is one that the store or the model knows")
    candidates = state.columns
    drops = {**dict.fromkeys(candidates.ids, drop), **candidates.drops}
    return replace(state, outcome="none", candidates=candidates.dropped(drops))


class _Heard(NamedTuple):
    """How much hits are about the query, in log odds, and what says so: words, and meaning.

    They are one hit, or the turns of one exchange, which hold together what one of them holds.
    """

    rows: tuple[int, ...]
    about: float
    coverage: float | None
    cosine: float | None


def _best(state: State, rules: Answerability) -> Evidence | None:
    """Return what speaks for the likeliest of the first hits, of those that are nearly as much about it as the best."""
    length, table = query_length(state.query), calibration(next(iter(state.generations), ""), rules)
    terms, groups = query_terms(state.tiers), group(state.kept.ids, state.exchanges, most=rules.top_k)
    told = (_hear(rows, state, terms, length, table, rules) for rows in groups)
    heard = [each for each in told if each is not None]
    most = max((each.about for each in heard), default=0.0)
    near = (_evidence(each, state, length, rules) for each in heard if each.about >= most - rules.reach)
    best = max(near, key=lambda each: each.probability, default=None)
    meant = () if best is None else corrected(best.id, state)
    return replace(best, near=meant) if best is not None and meant else best


def _hear(
    rows: tuple[int, ...],
    state: State,
    terms: QueryTerms,
    length: float,
    table: Calibration | None,
    rules: Answerability,
) -> _Heard | None:
    """Return how much the hits *rows* are about the query.

    Nothing can be told of a cosine alone of which no one knows what it means. A hit that has no vector yet, or one of
    an unknown model, is judged by its words: what is missing or means nothing does not speak against it, nor for it.
    """
    coverage: float | None = max(_coverage(row, state.rankings) * _share_off_path(row, state, terms) for row in rows)
    shares = (share for row in rows for share in state.columns.shares(row) if share.ranking == "vector")
    near = [share.native for share in shares if share.native is not None]
    cosine = max(near, default=None) if table is not None and state.mode != "keyword" else None
    if state.mode == "semantic":
        if table is None or cosine is None or state.foreign:
            return None
        model, coverage = table.semantic, None
    else:
        model = rules.words if table is None or cosine is None else table.hybrid
    held, searched = length_adjusted(coverage or 0.0, length=length, rules=rules), state.ranking("vector").total
    about = log_odds(model, coverage=held, cosine=cosine or 0.0, searched=searched)
    return _Heard(rows, about, coverage, cosine)


def _evidence(heard: _Heard, state: State, length: float, rules: Answerability) -> Evidence:
    """Return all that speaks for hits, and against them."""
    taken, details = min((_taken(row, state, rules) for row in heard.rows), key=lambda each: each[0])
    return Evidence(
        id=heard.rows[0],
        probability=logistic(min(rules.ceiling, heard.about) - taken / stretch(length, rules)),
        threshold=rules.threshold,
        coverage=heard.coverage,
        cosine=heard.cosine,
        absent=details.absent,
        lacks=details.lacks,
        searched=state.ranking("vector").total,
    )


def _taken(row: int, state: State, rules: Answerability) -> tuple[float, Details]:
    """Return what the missing details of a hit take from its log odds, and the details; less for a turn."""
    details = details_for(row, state) if rules.absent or rules.lacking else NO_DETAILS
    return penalty(details, rules) * (rules.turn_share if _is_turn(row, state) else 1.0), details


def _is_turn(row: int, state: State) -> bool:
    memory = state.outlines.get(row)
    return memory is not None and memory.thread is not None


def details_for(row: int, state: State) -> Details:
    """Return what of the query a hit does not hold; operators say for themselves what they want."""
    memory = state.memories.get(row)
    if memory is None or state.query.tree is not None:
        return NO_DETAILS
    return details_of(state.query.text, memory, frequencies=state.ranking("words").document_frequencies)


def penalty(details: Details, rules: Answerability) -> float:
    """Return what the missing *details* take from the log odds."""
    return rules.absent * details.absent_share + (rules.lacking if details.lacks else 0.0)


def log_odds(model: LogisticModel, *, coverage: float, cosine: float = 0.0, searched: int = 0) -> float:
    """Return the log odds that a hit is about the query: more words held and a nearer meaning never make them less."""
    among = model.size * math.log(max(1, searched))
    return model.intercept + model.coverage * coverage + model.cosine * cosine + among


def logistic(raised: float) -> float:
    """Return the probability that belongs to log odds, between 0 and 1."""
    return 1.0 / (1.0 + math.exp(-max(-STEEPEST, min(STEEPEST, raised))))


def probability(model: LogisticModel, *, coverage: float, cosine: float = 0.0) -> float:
    """Return how likely an answer is by words and meaning alone."""
    return logistic(log_odds(model, coverage=coverage, cosine=cosine))


def length_adjusted(coverage: float, *, length: float, rules: Answerability) -> float:
    """Return what *coverage* is worth in a query of *length* words.

    No memory repeats all of a long query, so above the pivot less of it is as telling.
    """
    return min(1.0, coverage * stretch(length, rules))


def stretch(length: float, rules: Answerability) -> float:
    """Return how much less is expected of a query of *length* words."""
    return math.pow(max(1.0, length / rules.length_pivot), rules.length_exponent)


def calibration(model: str, rules: Answerability) -> Calibration | None:
    """Return what is known of the cosines of *model*: by its whole fingerprint or the longest beginning of it."""
    names = [name for name in rules.models if f"{model}-".startswith(f"{name}-")]
    return rules.models[max(names, key=len)] if names else None


_OTHER_WORDS = ("expansion", "vector")
"""The kinds of ranking that say nothing of the asker's own words."""


def _coverage(row: int, rankings: Sequence[Ranking]) -> float:
    """Return the most that *row* holds of what was asked, in the asker's own words."""
    asked = (ranking.find(row)[1] for ranking in rankings if ranking.kind not in _OTHER_WORDS)
    return max((hit.coverage for hit in asked if hit is not None), default=0.0)


def _share_off_path(row: int, state: State, terms: QueryTerms) -> float:
    """Return which share of the words that *row* holds stands elsewhere than in its path: no folder is an answer."""
    memory = state.memories.get(row)
    if memory is None or not memory.source:
        return 1.0
    placed = held_in_line(telling_path(memory.source), terms)
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
    if state.evidence is not None and state.outcome == "none":
        return Reason(code="no_match", message="no memory speaks of this", hidden=len(state.candidates))
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
