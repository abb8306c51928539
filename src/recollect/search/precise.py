"""Precise search: the probability that each hit answers, and the cut below which it is not shown.

The first hits share the probability by their scores relative to the best one; a hit without the names or the kind of
value that the query asks for gets less. The curve was fitted on judged queries (docs/quality.md). One hit far ahead
leaves the others next to nothing; if many are alike, only the first is shown. A hit with a near form of a word
(mongodb for mongod) is not shown if another hit contains the word itself.
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from recollect.lazy import regex
from recollect.profile import Precise
from recollect.search.answerability import details_for, logistic
from recollect.search.candidates import Candidate, Drop
from recollect.search.near_names import near_only, without_correction
from recollect.search.state import Outlined, State
from recollect.text.tokenizer import QueryWord, analyse_text, read_words, significant

_CLAUSE: Final = regex(r"[?;\n]+|,?\s+(?:and|und|et|y|e|sowie)\s+|&", re.IGNORECASE)
MIN_WORDS: Final = 2
"""A clause needs this many significant words: "salt and pepper" has none."""


def keep_answers(state: State, *, rules: Precise) -> State:
    """Drop improbable answers; the first hit stays, and the one that answers a clause of its own."""
    kept = state.kept
    if not kept or state.query.tree is not None:
        return state
    chances = hit_chances(state, rules)
    likely = {each.id for each in kept if chances.get(each.id, 0.0) >= rules.cut}
    near = near_only([each.id for each in kept if each.id in chances], state)
    first = next((each.id for each in kept if each.id not in near), kept[0].id)
    shown = {first, *(likely - near), *_by_clause(state, [each for each in kept if each.id in chances], rules)}
    drops = {row: _cut(chances.get(row, 0.0), rules) for row in kept.ids if row not in shown}
    return replace(state, candidates=state.candidates.dropped(drops), chances=chances)


def _cut(chance: float, rules: Precise) -> Drop:
    told = f"the search is not precise; it answers with probability {chance:.2g}, and {rules.cut:.2g} is the cut"
    return Drop(code="imprecise", surfaces_if=told)


def hit_chances(state: State, rules: Precise) -> dict[int, float]:
    """Return the probability that each of the first hits answers, independent of the limit."""
    pool = state.in_reach[: rules.top_k]
    best = max((each.score for each in pool), default=0.0)
    unmeant = without_correction([each.id for each in pool], state)
    weights = {
        each.id: math.exp(_standing(each, best, state, rules) - rules.details * (each.id in unmeant)) for each in pool
    }
    whole = math.fsum(weights.values())
    return {row: logistic(rules.intercept + rules.slope * math.log(weight / whole)) for row, weight in weights.items()}


def _standing(candidate: Candidate, best: float, state: State, rules: Precise) -> float:
    """Return the exponent of a hit's share: its distance to the best one, at most 0."""
    behind = 1.0 - candidate.score / best if best > 0 else 0.0
    details = details_for(candidate.id, state)
    return -rules.steepness * behind - rules.details * min(1.0, details.absent_share + bool(details.lacks))


# --- several questions in one ---------------------------------------------------------------


def _by_clause(state: State, candidates: Sequence[Candidate], rules: Precise) -> Iterator[int]:
    """Yield, for each clause of a query of several, the hit that contains most of it; the better one on ties."""
    clauses = clauses_of(state.query.text)
    if len(clauses) < 2:
        return
    stems = {each.id: _stems(state.outlines[each.id]) for each in candidates}
    for clause in clauses:
        held = {row: _held(clause, has) for row, has in stems.items()}
        row = max(held, key=lambda each: held[each], default=None)
        if row is not None and held[row] >= rules.clause:
            yield row


def clauses_of(text: str) -> tuple[tuple[QueryWord, ...], ...]:
    """Return the significant words of each clause of *text*."""
    read = (read_words(part) for part in _CLAUSE.split(text))
    told = (tuple(word for word in words if not word.stop) for words in read)
    clauses = tuple(words for words in told if len(words) >= MIN_WORDS)
    return clauses if len(clauses) > 1 else (significant(read_words(text)),)


def _held(clause: Sequence[QueryWord], stems: frozenset[str]) -> float:
    return sum(any(stem in stems for stem in word.stems) for word in clause) / len(clause)


def _stems(memory: Outlined) -> frozenset[str]:
    return frozenset(analyse_text(f"{memory.title}\n{memory.content}").stems)
