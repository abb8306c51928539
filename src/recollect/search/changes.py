"""Changed facts: of statements about the same thing the newest stands first, unless the question asks for the past.

What supersedes what is decided when a memory is written, if it is certain. This is for the rest: a newer memory that
announces a change, about the same thing as the best hit, stands just above it, and says which one it follows. So does
one of the present above a best hit that calls itself past.
"""

from collections.abc import Mapping
from dataclasses import replace

from recollect.profile import Changes
from recollect.records import Memory
from recollect.replies import Share
from recollect.search.state import Candidate, State
from recollect.text.changes import announces_change, asks_before, calls_itself_past, may_ask_past
from recollect.text.tokenizer import read_words, significant
from recollect.vectors import WIDTH, matrix


def order_changes(state: State, *, rules: Changes) -> State:
    """Put what follows the best hit above it, or what was before it where the question asks for that."""
    kept = [each for each in state.candidates if state.memories[each.id].thread is None]
    if rules.min_score <= 0 or not kept or state.query.tree is not None:
        return state
    best, question = kept[0], state.query.text
    before = asks_before(question)
    if may_ask_past(question) and not before:
        return state
    others = [each for each in kept[1 : rules.top_k] if each.score >= rules.min_score * best.score]
    linked = [each for each in others if _follows(best.id, each.id, state, rules, back=before)]
    if not linked and not before and calls_itself_past(state.memories[best.id].content):
        linked = [each for each in others if _is_present(each.id, state) and _alike(best.id, each.id, state, rules)][:1]
    if not linked:
        return state
    chosen = max(linked, key=lambda each: (state.memories[each.id].when, each.id)) if not before else linked[0]
    return _raised(state, chosen, best)


def _raised(state: State, chosen: Candidate, best: Candidate) -> State:
    """Return *state* with *chosen* just above *best*, and the link between them told."""
    factor = chosen.score / chosen.fused if chosen.fused > 0 else 1.0
    points = (best.score * (1.0 + STEP)) / factor - chosen.fused if factor > 0 else 0.0
    share = Share(ranking="change", rank=None, points=max(0.0, points))
    lifted = replace(chosen, shares=(*chosen.shares, share))
    candidates = (lifted if each.id == chosen.id else each for each in state.candidates)
    ordered = tuple(sorted(candidates, key=lambda each: (-each.score, each.id)))
    newer, older = sorted((chosen.id, best.id), key=lambda row: (state.memories[row].when, row), reverse=True)
    return replace(state, candidates=ordered, older={**state.older, newer: older})


STEP = 0.01
"""By how much what follows stands above what it follows."""


def _follows(row: int, other: int, state: State, rules: Changes, *, back: bool) -> bool:
    """Return whether *other* announces a change of what *row* says; *back* asks the other way round."""
    old, new = (state.memories[other], state.memories[row]) if back else (state.memories[row], state.memories[other])
    return new.when > old.when and announces_change(new.content) and _alike(row, other, state, rules)


def _is_present(row: int, state: State) -> bool:
    return not calls_itself_past(state.memories[row].content)


def _alike(row: int, other: int, state: State, rules: Changes) -> bool:
    """Return whether two memories are about the same thing: near in meaning, or nearly so with words in common."""
    shared = len(_stems(state.memories[row]) & _stems(state.memories[other]))
    near = _cosine(row, other, state.vectors)
    if near is None:
        return shared > rules.shared_words
    return near >= rules.min_similarity or (shared >= rules.shared_words and near >= rules.min_similarity_shared)


def _stems(memory: Memory) -> frozenset[str]:
    return frozenset(stem for word in significant(read_words(memory.content)) for stem in word.stems)


def _cosine(row: int, other: int, vectors: Mapping[int, bytes]) -> float | None:
    if row not in vectors or other not in vectors:
        return None
    block = matrix([vectors[row]], dimensions=len(vectors[row]) // WIDTH)
    return block.products(vectors[other], range(1))[0]
