"""Who speaks in talk with an assistant, and whose words a question asks for."""

from pathlib import Path

import pytest

import recollect
from kit import NOON
from recollect import Recollection
from recollect.search.speakers import asked_speaker

LONG = "Here are some thoughts about cars. " + "A reliable car should be serviced every year without fail. " * 12


@pytest.mark.parametrize(
    ("question", "who"),
    [
        ("Which car did I buy?", "person"),
        ("what is my favorite color", "person"),
        ("Which venue did you recommend to me?", "assistant"),
        ("I forgot the trail you suggested", "assistant"),
        ("what was your advice about my car", "assistant"),
        ("Can you remind me of our previous chat about my car?", None),
        ("Can you tell me who sold the car?", None),
        ("Which seeds were started first?", None),
    ],
)
def test_a_question_says_whose_words_it_asks_for(question: str, who: str | None) -> None:
    assert asked_speaker(question) == who


@pytest.fixture(params=[("user", "assistant"), ("Ada", "Navi")], ids=["roles", "names"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Recollection:
    person, assistant = request.param
    store = recollect.open(tmp_path / "talk.db", clock=lambda: NOON)
    for number in range(3):
        thread = f"t{number}"
        store.add(f"{person}: I bought car number {number}, a blue one.", thread=thread, turn=1)
        store.add(f"{assistant}: You bought car number {number}. {LONG}{number}", thread=thread, turn=2)
    return store


def speaker_factors(db: Recollection, question: str) -> dict[bool, set[float]]:
    hits = db.search(question, mode="keyword").hits
    found: dict[bool, set[float]] = {True: set(), False: set()}
    for hit in hits:
        found[len(hit.memory.content) > 200].add(round(hit.factors["speaker"], 2))
    return found


def test_the_words_of_who_is_not_asked_for_count_less(db: Recollection) -> None:
    assert speaker_factors(db, "which car did I buy") == {True: {0.67}, False: {1.0}}
    assert speaker_factors(db, "which car did you recommend") == {True: {1.0}, False: {0.67}}
    assert speaker_factors(db, "which car was bought") == {True: {1.0}, False: {1.0}}


def test_a_short_message_of_the_person_is_informative(db: Recollection) -> None:
    hits = db.search("which car did I buy", mode="keyword").hits

    assert {hit.factors["informativeness"] for hit in hits if len(hit.memory.content) < 200} == {1.0}


def test_people_who_talk_to_each_other_count_alike(tmp_path: Path) -> None:
    store = recollect.open(tmp_path / "friends.db", clock=lambda: NOON)
    for number in range(6):
        store.add(f"{'Ada' if number % 2 else 'Ben'}: I bought car number {number}.", thread="t", turn=number)

    assert {hit.factors["speaker"] for hit in store.search("which car did I buy", mode="keyword").hits} == {1.0}
