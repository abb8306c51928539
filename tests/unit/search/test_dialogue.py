"""The turn that answers stands before the turn that asks."""

import pytest

from kit import NOON, candidates_of
from recollect.profile import Dialogue
from recollect.records import Memory
from recollect.replies import Request, Share
from recollect.search.candidates import Candidate
from recollect.search.dialogue import exchanges_among, lift_replies
from recollect.search.parse import parse
from recollect.search.state import State
from recollect.text.analyser import asks

RULES = Dialogue(reply_weight=0.95)
ASKED = Memory(id=1, content="Who renews the staging certificate?", thread="ops", turn=4)
REPLY = Memory(id=2, content="I will.", thread="ops", turn=5)


def found(*memories: Memory, query: str = "who renews the certificate") -> State:
    """The *memories* as candidates, each with half of the score of the one before it."""
    candidates = tuple(
        Candidate(id=memory.id, shares=(Share(ranking="words", rank=at, points=0.5**at),))
        for at, memory in enumerate(memories)
    )
    return State(
        request=Request(text=query),
        query=parse(query, now=NOON),
        scope=Request(text=query).scope,
        now=NOON,
        candidates=candidates_of(candidates),
        outlines={memory.id: memory for memory in memories},
        exchanges=exchanges_among({memory.id: memory for memory in memories}),
    )


def scores(state: State, rules: Dialogue = RULES) -> dict[int, float]:
    return {each.id: each.fused for each in lift_replies(state, rules=rules).candidates}


def test_a_reply_gets_what_its_question_found() -> None:
    assert scores(found(ASKED, REPLY)) == {1: 1.0, 2: 0.95}


def test_a_better_reply_keeps_its_own_score() -> None:
    assert scores(found(REPLY, ASKED)) == {2: 1.0, 1: 0.5}


@pytest.mark.parametrize(
    "other",
    [
        Memory(id=2, content="Why do you ask?", thread="ops", turn=5),
        Memory(id=2, content="I will.", thread="ops", turn=6),
        Memory(id=2, content="I will.", thread="games", turn=5),
        Memory(id=2, content="I will.", thread="ops", turn=5, project="shop"),
        Memory(id=2, content="I will."),
    ],
    ids=["asks back", "comes later", "another conversation", "another project", "no turn"],
)
def test_nobody_else_is_lifted(other: Memory) -> None:
    assert scores(found(ASKED, other)) == {1: 1.0, 2: 0.5}


def test_a_reply_to_a_question_that_asks_alike_gets_more() -> None:
    rules = Dialogue(reply_weight=0.5, same_question=1.5)

    alike = scores(found(ASKED, REPLY, query="who renews it"), rules)
    unlike = scores(found(ASKED, REPLY, query="when is it renewed"), rules)

    assert (alike[2], unlike[2]) == (0.75, 0.5)


@pytest.mark.parametrize("said", ["Not me this time.", "Nara: No idea.", "Sorry, I can't.", "Keine Ahnung."])
def test_a_reply_that_declines_hands_the_question_on(said: str) -> None:
    declined = Memory(id=2, content=said, thread="ops", turn=5)
    answer = Memory(id=3, content="Then I do it.", thread="ops", turn=6)

    got = scores(found(ASKED, declined, answer))

    assert got[3] > got[2] == 0.95


def test_no_is_an_answer_to_a_question_for_yes_or_no() -> None:
    asked = Memory(id=1, content="Do we renew the certificate?", thread="ops", turn=4)
    said = Memory(id=2, content="No.", thread="ops", turn=5)
    later = Memory(id=3, content="Lunch is here.", thread="ops", turn=6)

    assert scores(found(asked, said, later)) == {1: 1.0, 2: 0.95, 3: 0.25}


def test_a_statement_lifts_nobody() -> None:
    said = Memory(id=1, content="The staging certificate runs out in May.", thread="ops", turn=4)

    assert scores(found(said, REPLY)) == {1: 1.0, 2: 0.5}


def test_operators_are_answered_as_they_stand() -> None:
    assert scores(found(ASKED, REPLY, query="certificate AND staging")) == {1: 1.0, 2: 0.5}


@pytest.mark.parametrize(
    ("text", "does"), [("Who?", True), ('"Who?"', True), ("\u8c01\uff1f", True), ("Who? Me.", False), ("", False)]
)
def test_a_text_asks_that_ends_in_a_question(text: str, does: bool) -> None:  # noqa: FBT001
    assert asks(text) is does
