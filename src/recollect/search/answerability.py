"""Is there an answer? How sure that is, the outcome, and when there is none, the reason.

Two things speak for a hit: how much of the question's weight it holds in words, and how near it is in
meaning. A logistic line through both, fitted on questions with and without an answer
(benchmarks/silence.py), gives the chance that there is one. What else was tried adds nothing to the two.
"""

import math
from collections.abc import Sequence

from recollect.profile import Calibration, Judge, Line
from recollect.records import Filter, Scope
from recollect.replies import Evidence, Mode, Outcome, Reason
from recollect.search.parse import Query
from recollect.search.ranking import Candidate, Ranking
from recollect.stores.contract import Store
from recollect.text.tokenizer import significant

STEEPEST = 30.0
"""Beyond this the logistic curve is flat, and its exponential would overflow."""
CHARACTERS = 2
"""How many characters of a script without spaces make a word, about."""


def judge(
    hits: Sequence[Candidate], rankings: Sequence[Ranking], *, query: Query, mode: Mode, model: str, rules: Judge
) -> tuple[Outcome, Evidence | None]:
    """Return whether an answer is among the first of *hits*, and what speaks for the one most likely to be it.

    *model* is the fingerprint of whose cosines they are. A profile without a bar takes every hit for an answer.
    """
    if rules.bar <= 0:
        return "answered", None
    length, table = length_of(query), calibration(model, rules)
    told = (_told(each, rankings, length=length, mode=mode, table=table, rules=rules) for each in hits[: rules.among])
    known = [each for each in told if each is not None]
    if not known:
        return "weak", None
    best = max(known, key=lambda each: each.sure)
    return "answered" if best.sure >= rules.bar else "weak", best


def _told(
    hit: Candidate,
    rankings: Sequence[Ranking],
    *,
    length: float,
    mode: Mode,
    table: Calibration | None,
    rules: Judge,
) -> Evidence | None:
    """Return what speaks for *hit*; nothing can be told of a cosine alone of which no one knows what it means.

    A hit that has no vector yet, or one of an unknown model, is judged by its words: what is missing or means
    nothing does not speak against it, nor for it.
    """
    near = [share.native for share in hit.shares if share.ranking == "vector" and share.native is not None]
    cosine = max(near, default=None)
    if mode == "semantic":
        if table is None or cosine is None:
            return None
        sure = chance(table.semantic, coverage=0.0, cosine=cosine)
        return Evidence(id=hit.id, sure=sure, bar=rules.bar, cosine=cosine)
    coverage = _coverage(hit.id, rankings)
    held = lifted(coverage, length=length, rules=rules)
    if mode == "keyword" or table is None or cosine is None:
        return Evidence(id=hit.id, sure=chance(rules.words, coverage=held), bar=rules.bar, coverage=coverage)
    sure = chance(table.hybrid, coverage=held, cosine=cosine)
    return Evidence(id=hit.id, sure=sure, bar=rules.bar, coverage=coverage, cosine=cosine)


def chance(line: Line, *, coverage: float, cosine: float = 0.0) -> float:
    """Return how likely an answer is, between 0 and 1: more words held and a nearer meaning never make it less."""
    raised = line.offset + line.words * coverage + line.meaning * cosine
    return 1.0 / (1.0 + math.exp(-max(-STEEPEST, min(STEEPEST, raised))))


def lifted(coverage: float, *, length: float, rules: Judge) -> float:
    """Return what *coverage* is worth in a question of *length* words.

    No memory repeats all of a long question, so above the usual length less of it is as telling.
    """
    return min(1.0, coverage * math.pow(max(1.0, length / rules.usual), rules.lift))


def length_of(query: Query) -> float:
    """Return how many different words *query* asks for; scripts without spaces are counted by characters."""
    words = significant(query.words)
    spaced = {stem for word in words if not word.cjk for stem in word.stems}
    return len(spaced) + sum(len(word.text) for word in words if word.cjk) / CHARACTERS


def calibration(model: str, rules: Judge) -> Calibration | None:
    """Return what is known of the cosines of *model*: by its whole fingerprint or the longest beginning of it."""
    names = [name for name in rules.models if f"{model}-".startswith(f"{name}-")]
    return rules.models[max(names, key=len)] if names else None


def _coverage(row: int, rankings: Sequence[Ranking]) -> float:
    """Return the most that *row* holds of what was asked, in the asker's own words."""
    asked = [ranking for ranking in rankings if ranking.weighs_as != "expansion"]
    entries = (ranking.by_id.get(row) or next((e for e in ranking.found if e.id == row), None) for ranking in asked)
    return max((entry.coverage for entry in entries if entry is not None), default=0.0)


def explain_nothing(*, store: Store, scope: Scope, unfiltered: int, dropped: Sequence[Candidate]) -> Reason:
    """Return why nothing is shown: the store is empty, a floor was missed, a filter hid it, or no word matches."""
    if dropped:
        best = dropped[0].score
        message = f"{len(dropped)} found, all under the floor of the profile; the best scored {best:.4g}"
        return Reason(code="below_threshold", message=message, best_score=best, hidden=len(dropped))
    if store.browse(scope=scope, where=Filter(include_superseded=True), limit=1).total == 0:
        return Reason(code="empty_store", message="there are no memories here yet")
    if unfiltered:
        message = f"{unfiltered} would match without the filters"
        return Reason(code="filtered_out", message=message, hidden=unfiltered)
    return Reason(code="no_match", message="no memory holds any of these words")
