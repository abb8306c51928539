"""Dialogue: a reply ranks above the question it answers.

A question in a conversation shares words with the current query; its answer often shares none ("I will."). So the
score of the asking turn also goes to the next turn, unless that one asks back, and more of it if both questions ask
alike (who, where, how many). "Not me" does not answer a question for a person, a place or a number: then the turn after
it gets the score too.
"""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from recollect.profile import Dialogue
from recollect.search.state import Outlined, State
from recollect.text.analyser import asks
from recollect.text.questions import declines, question_words

Turn = tuple[str, str, int]
"""A project, a conversation in it, and the position in that."""
REPLY = "reply"
"""The name of its share."""
STEP = 0.05
"""How much more the turn after a declining one gets."""


def lift_replies(state: State, *, rules: Dialogue) -> State:
    """Raise each reply to the score of the turn that asks, before the factors."""
    if state.query.tree is not None or not state.exchanges:
        return state
    candidates = state.candidates
    found = dict(zip(candidates.ids, candidates.fused, strict=True))
    wanted: dict[int, float] = {}
    for row, score in _replies(found, state, question_words(state.query.text), rules):
        wanted[row] = max(score, wanted.get(row, 0.0))
    missing = {row: score - found[row] for row, score in wanted.items()}
    lifted = candidates.lifted(REPLY, {row: points for row, points in missing.items() if points > 0})
    return replace(state, candidates=lifted.by_fused())


def _replies(
    found: Mapping[int, float], state: State, asked: frozenset[str], rules: Dialogue
) -> Iterator[tuple[int, float]]:
    """Yield each reply among *found* with the score it takes over from the question."""
    for row, *replies in dict.fromkeys(state.exchanges.values()):
        alike = rules.same_question if asked & question_words(state.outlines[row].content) else 1.0
        for place, reply in enumerate(replies):
            yield reply, rules.reply_weight * alike * (1.0 + STEP * place) * found[row]


def exchanges_among(memories: Mapping[int, Outlined]) -> dict[int, tuple[int, ...]]:
    """Return the exchanges among *memories*; a question after another question starts its own exchange."""
    turns = turns_of(memories)
    found: dict[int, tuple[int, ...]] = {}
    for turn, row in turns.items():
        if asks(memories[row].content):
            rows = (row, *answers_to(turn, turns, memories))
            found |= dict.fromkeys(rows, rows) if len(rows) > 1 else {}
    return found


def turns_of(memories: Mapping[int, Outlined]) -> dict[Turn, int]:
    """Return the conversation turns among *memories*, by position."""
    return {turn: row for row, memory in memories.items() if (turn := turn_of(memory)) is not None}


def turn_of(memory: Outlined) -> Turn | None:
    """Return the position of *memory* in a conversation, if it is a turn of one."""
    if memory.thread is None or memory.turn is None:
        return None
    return memory.project, memory.thread, memory.turn


def answers_to(turn: Turn, turns: Mapping[Turn, int], memories: Mapping[int, Outlined]) -> Iterator[int]:
    """Yield the reply to the question at *turn*, and the next turn if the reply only declines; never a question."""
    project, thread, number = turn
    wanted = question_words(memories[turns[turn]].content)
    for further in (1, 2):
        row = turns.get((project, thread, number + further))
        if row is None or asks(memories[row].content):
            return
        yield row
        if not wanted or not declines(memories[row].content):
            return
