"""Dialogue: the turn that answers stands before the turn that asks.

A question of a conversation shares its words with the question that is asked now, its answer often shares none
("I will."). So what the asking turn has found goes to the turn after it, unless that one asks back.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from recollect.profile import Dialogue
from recollect.records import Memory
from recollect.replies import Share
from recollect.search.state import Candidate, State
from recollect.text.analyser import asks

Turn = tuple[str, str, int]
"""A project, a conversation in it, and the place in that."""


def lift_replies(state: State, *, rules: Dialogue) -> State:
    """Give each turn that follows an asking one at least the score of that one, before the factors."""
    if rules.reply_weight <= 0 or state.query.tree is not None:
        return state
    found = {each.id: each.fused for each in state.candidates}
    wanted = dict(_replies(found, state.memories, rules.reply_weight))
    lifted = (_raised(each, wanted.get(each.id, 0.0)) for each in state.candidates)
    return replace(state, candidates=tuple(sorted(lifted, key=lambda each: (-each.fused, each.id))))


def _replies(found: Mapping[int, float], memories: Mapping[int, Memory], weight: float) -> Iterator[tuple[int, float]]:
    """Yield each reply among *found*, and what the turn before it gives."""
    turns = {turn: row for row, memory in memories.items() if (turn := _turn(memory)) is not None}
    for (project, thread, number), row in turns.items():
        reply = turns.get((project, thread, number + 1))
        if reply is None or row not in found or reply not in found:
            continue
        if asks(memories[row].content) and not asks(memories[reply].content):
            yield reply, weight * found[row]


def _turn(memory: Memory) -> Turn | None:
    if memory.thread is None or memory.turn is None:
        return None
    return memory.project, memory.thread, memory.turn


def _raised(candidate: Candidate, score: float) -> Candidate:
    missing = score - candidate.fused
    if missing <= 0:
        return candidate
    return replace(candidate, shares=(*candidate.shares, Share(ranking="reply", rank=None, points=missing)))
