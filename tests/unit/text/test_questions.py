"""What kind of value a question asks for, whether a text holds one, and what the question names."""

import pytest

from recollect.text.questions import holds_value, names_given, same_month, values_asked


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("phone of the caretaker", "a phone number"),
        ("Marta's phone?", "a phone number"),
        ("e-mail address of the notary", "an e-mail address"),
        ("link to the wiki", "a web address"),
        ("how much is the rent", "an amount"),
        ("cuánto costó la bici", "an amount"),
        ("tracking number of the parcel", "a number or code"),
        ("how many chairs do we need", "a number"),
        ("wie alt ist die Katze", "a number"),
        ("when does the ferry leave", "a date or time"),
        ("who repairs the roof", "a name"),
        ("Marta's address", "a street address"),
    ],
)
def test_a_cue_tells_the_kind_of_value(question: str, kind: str) -> None:
    assert [each.name for each in values_asked(question)] == [kind]


@pytest.mark.parametrize(
    "question",
    ["why is the phone broken", "friends who like tea", "calm when tired", "where are the price lists", "the roof"],
)
def test_a_word_in_passing_is_no_cue(question: str) -> None:
    assert values_asked(question) == ()


def test_a_question_of_two_kinds_asks_for_both() -> None:
    kinds = [each.name for each in values_asked("how much is the ferry and when does it leave")]

    assert kinds == ["an amount", "a date or time"]


@pytest.mark.parametrize(
    ("question", "text", "held"),
    [
        ("phone of Marta", "Marta, plumber, 0171 555 0199.", True),
        ("phone of Marta", "Marta moved on 12 May 2026.", False),
        ("how much is the rent", "Rent 38 000, due on the 7th.", True),
        ("how much is the rent", "The rent is due on 7 May at 10:30.", False),
        ("how many boats", "We have three boats.", True),
        ("how many boats in 2025", "The boats of 2025 are sold.", False),
        ("when does the course start", "It starts on Tuesday.", True),
        ("when does the course start", "Bring a pencil.", False),
        ("who repairs the roof", "ask Jonas", True),
        ("who repairs the roof", "it leaks", False),
        ("Marta's address", "Marta lives in Hill Road 27.", True),
        ("Marta's address", "Marta comes on 20 April.", False),
        ("flight number to Oslo", "Booked SK 1472 to Oslo.", True),
        ("link to the wiki", "See https://wiki.example/start", True),
    ],
)
def test_a_value_is_told_from_dates_and_from_what_the_question_gives(question: str, text: str, held: bool) -> None:  # noqa: FBT001
    (kind,) = values_asked(question)

    assert holds_value(kind, text, question=question) is held


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("what did Orla lose in session 6", ("Orla", "6")),
        ("PW-E-103 cause", ("PW-E-103",)),
        ("what was the rent in May 2026", ("May",)),
        ("what happened on May 4, 2026", ("May",)),
        ("where is the 90th birthday", ("90",)),
        ("show the first 50 rows", ()),
        ("wie heißt Abschattung auf Englisch", ()),
        ("Fern Care", ()),
        ("the French teacher", ()),
        ("is TV on", ()),
    ],
)
def test_names_are_words_with_a_digit_or_with_a_telling_capital(question: str, names: tuple[str, ...]) -> None:
    assert names_given(question) == names


def test_a_month_may_be_cut_short() -> None:
    assert same_month("Aug", "august")
    assert not same_month("May", "mayor")
