"""Is there an answer? Its probability, the outcome, and the reason if there is none.

Two things speak for a hit: the share of the query's weight that its words cover, and its similarity in meaning. A
logistic model of both, fitted on queries with and without an answer (benchmarks/silence.py), gives the probability that
the hit is about the query. Two things speak against it: names and numbers of the query that it does not contain, and a
missing value of the kind asked for (search/details.py).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from recollect.profile import Answerability, VectorModel, WordModel
from recollect.records import EXTERNAL, Filter
from recollect.replies import Evidence, Reason
from recollect.search.build_query import query_terms
from recollect.search.candidates import Drop
from recollect.search.details import NO_DETAILS, Details, details_of
from recollect.search.exchange import group
from recollect.search.near_names import corrected
from recollect.search.parse import query_length
from recollect.search.spelling import unknown_words
from recollect.search.state import Ranking, SearchContext, State
from recollect.text.analyser import field_texts, telling_path
from recollect.text.snippet import QueryTerms, held, held_in_line
from recollect.vectors import RAW

MAX_LOG_ODDS = 30.0
"""Beyond this the logistic curve is flat, and its exponential would overflow."""


def judge(state: State, *, rules: Answerability) -> State:
    """Decide whether the first hits answer the query, with the evidence of the most probable one."""
    if not state.kept:
        return state
    best = _best(state, rules)
    answered = best is not None and best.probability >= rules.threshold
    judged = replace(state, outcome="answered" if answered else "weak", evidence=best)
    return _drop_all(judged) if state.gibberish and best is not None and not best.coverage else judged


def _drop_all(state: State) -> State:
    """Return *state* without any hit: whatever is near a random string is near by chance."""
    drop = Drop(code="floor", surfaces_if="a word of the query is one that the store or the model knows")
    candidates = state.candidates
    drops = {**dict.fromkeys(candidates.ids, drop), **candidates.drops}
    return replace(state, outcome="none", candidates=candidates.dropped(drops))


class _HitEvidence(NamedTuple):
    """How much a hit is about the query, in log odds, and why: words and meaning.

    The turns of one exchange are judged as one hit.
    """

    rows: tuple[int, ...]
    about: float
    coverage: float | None
    cosine: float | None


def _best(state: State, rules: Answerability) -> Evidence | None:
    """Return the evidence of the most probable of the first hits, among those nearly as much about it as the best."""
    length = query_length(state.query)
    terms, groups = query_terms(state.tiers), group(state.kept.ids, state.exchanges, most=rules.top_k)
    scored = (_score_hit(rows, state, terms, length, rules) for rows in groups)
    judged = [each for each in scored if each is not None]
    most = max((each.about for each in judged), default=0.0)
    near = (_evidence(each, state, length, rules) for each in judged if each.about >= most - rules.max_gap)
    best = max(near, key=lambda each: each.probability, default=None)
    meant = () if best is None else corrected(best.id, state)
    return replace(best, near=meant) if best is not None and meant else best


def _score_hit(
    rows: tuple[int, ...], state: State, terms: QueryTerms, length: float, rules: Answerability
) -> _HitEvidence | None:
    """Return how much the hits *rows* are about the query.

    A hit without a vector of a model that is known here and tells something is judged by its words alone.
    """
    coverage: float | None = max(_coverage(row, state.rankings) * _share_off_path(row, state, terms) for row in rows)
    shares = (share for row in rows for share in state.candidates.shares(row) if share.ranking == "vector")
    near = [share.native for share in shares if share.native is not None]
    generation, scale = next(iter(state.generations.items()), (EXTERNAL, RAW))
    known = scale.tells and not generation.startswith(EXTERNAL)
    cosine = max(near, default=None) if known else None
    model: WordModel | VectorModel
    if state.mode == "semantic":
        if cosine is None or state.foreign:
            return None
        model, coverage = rules.semantic, None
    else:
        model = rules.words if cosine is None else rules.hybrid
    covered, searched = length_adjusted(coverage or 0.0, length=length, rules=rules), state.ranking("vector").total
    about = log_odds(model, coverage=covered, cosine=cosine or 0.0, searched=searched)
    return _HitEvidence(rows, about, coverage, cosine)


def _evidence(hit: _HitEvidence, state: State, length: float, rules: Answerability) -> Evidence:
    """Return everything that speaks for a hit and against it."""
    penalty, details = min((_penalty(row, state, rules) for row in hit.rows), key=lambda each: each[0])
    return Evidence(
        id=hit.rows[0],
        probability=logistic(min(rules.ceiling, hit.about) - penalty / stretch(length, rules)),
        threshold=rules.threshold,
        coverage=hit.coverage,
        cosine=hit.cosine,
        absent=details.absent,
        lacks=details.lacks,
        searched=state.ranking("vector").total,
    )


def _penalty(row: int, state: State, rules: Answerability) -> tuple[float, Details]:
    """Return the log-odds penalty for the missing details of a hit, and the details; less for a turn."""
    details = _with_unheld(details_for(row, state), state)
    return details_penalty(details, rules) * (rules.turn_share if _is_turn(row, state) else 1.0), details


MAX_KEYWORDS = 3
"""A query of at most this many words, none of them a stop word, is a list of keywords and not a sentence."""


def _with_unheld(details: Details, state: State) -> Details:
    """Return *details* with the keywords that no memory contains: in "zebra budget" the first word counts like a name.

    The last keyword often only says what is asked of the others ("boiler warranty details"). If no memory contains any
    of them, the query may be a paraphrase, which only its meaning can judge.
    """
    words = state.query.words
    if state.query.tree is not None or len(words) > MAX_KEYWORDS or any(word.stop for word in words):
        return details
    ranking = state.ranking("words")
    unheld = [word.text for word in unknown_words(state.query, ranking.document_frequencies)]
    absent = [word for word in unheld if word != words[-1].text and not ranking.near.get(word)]
    if not absent or len(unheld) == len(words):
        return details
    named = max(details.named, len(words))
    return replace(details, named=named, absent=tuple(dict.fromkeys((*details.absent, *absent))))


def _is_turn(row: int, state: State) -> bool:
    memory = state.outlines.get(row)
    return memory is not None and memory.thread is not None


def details_for(row: int, state: State) -> Details:
    """Return the details of a plain query that a hit does not contain."""
    memory = state.memories.get(row)
    if memory is None or state.query.tree is not None:
        return NO_DETAILS
    return details_of(state.query.text, memory, frequencies=state.ranking("words").document_frequencies)


def details_penalty(details: Details, rules: Answerability) -> float:
    """Return the log-odds penalty for the missing *details*."""
    return rules.absent * details.absent_share + (rules.lacking if details.lacks else 0.0)


def log_odds(model: WordModel | VectorModel, *, coverage: float, cosine: float = 0.0, searched: int = 0) -> float:
    """Return the log odds that a hit is about the query; higher coverage or cosine never lowers them."""
    by_words = model.intercept + model.coverage * coverage
    if isinstance(model, WordModel):
        return by_words
    return by_words + model.cosine * cosine + model.size * math.log(max(1, searched))


def logistic(raised: float) -> float:
    """Return the probability of log odds, between 0 and 1."""
    return 1.0 / (1.0 + math.exp(-max(-MAX_LOG_ODDS, min(MAX_LOG_ODDS, raised))))


def length_adjusted(coverage: float, *, length: float, rules: Answerability) -> float:
    """Return *coverage* adjusted for a query of *length* words.

    No memory repeats all of a long query, so above the pivot less of it is as informative.
    """
    return min(1.0, coverage * stretch(length, rules))


def stretch(length: float, rules: Answerability) -> float:
    """Return how much less coverage a query of *length* words needs."""
    return math.pow(max(1.0, length / rules.length_pivot), rules.length_exponent)


_OTHER_WORDS = ("expansion", "vector")
"""The kinds of ranking that say nothing about the query's own words."""


def _coverage(row: int, rankings: Sequence[Ranking]) -> float:
    """Return the largest share of the query's own words that *row* contains."""
    asked = (ranking.find(row)[1] for ranking in rankings if ranking.kind not in _OTHER_WORDS)
    return max((hit.coverage for hit in asked if hit is not None), default=0.0)


def _share_off_path(row: int, state: State, terms: QueryTerms) -> float:
    """Return the share of matched words that *row* contains outside its path: a folder name is not an answer."""
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
    """Explain an empty answer: a blank query, a floor, a filter, or no matching word."""
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
