"""Of memories about one thing the present one stands above what calls itself past."""

from datetime import timedelta

from kit import NOON, candidates_of
from recollect.profile import Changes
from recollect.records import ALL_PROJECTS, Memory
from recollect.replies import Request, Share
from recollect.search.candidates import Candidate
from recollect.search.changes import order_changes
from recollect.search.parse import parse
from recollect.search.state import State

RULES = Changes(min_score=0.6)
PAST = "The shop API previously ran on Express."
PRESENT = "The shop API runs on Fastify."


def ordered(question: str, *texts: str, days: int = 0) -> list[int]:
    state = State(
        request=Request(text=question),
        query=parse(question, now=NOON),
        scope=ALL_PROJECTS,
        now=NOON,
        candidates=candidates_of(
            Candidate(id=row, shares=(Share(ranking="words", rank=row, points=1.0 - row / 10),))
            for row in range(1, len(texts) + 1)
        ),
        outlines={
            row: Memory(id=row, content=text, created_at=NOON + row * timedelta(days=days))
            for row, text in enumerate(texts, start=1)
        },
    )
    return [each.id for each in order_changes(state, rules=RULES).candidates]


def test_the_present_stands_above_what_calls_itself_past() -> None:
    assert ordered("which framework for the shop API", PAST, PRESENT) == [2, 1]


def test_not_where_the_question_asks_for_the_past_nor_above_something_else() -> None:
    assert ordered("which framework did the shop API use before", PAST, PRESENT) == [1, 2]
    assert ordered("which framework for the shop API", PAST, "The garden needs rain.") == [1, 2]


def test_what_states_a_change_stands_above_what_it_changes() -> None:
    texts = ("The deploy timeout is 30 seconds.", "The deploy timeout is now 60 seconds.")

    assert ordered("how long is the deploy timeout", *texts, days=1) == [2, 1]


def test_one_word_in_common_makes_no_change_of_another_thing() -> None:
    texts = ("We deploy every Tuesday with Docker.", "The deploy timeout is now 60 seconds.")

    assert ordered("when do we deploy", *texts, days=1) == [1, 2]
