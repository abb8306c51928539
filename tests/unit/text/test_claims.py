"""What a statement is to an earlier one: a change, a denial, or merely near."""

from pathlib import Path

import pytest

from kit import read_table
from recollect.text.changes import is_exception, is_report, is_uncertain, states_change
from recollect.text.claims import relation

ROWS = read_table(Path(__file__).with_name("claims.tsv"))


@pytest.mark.parametrize(
    ("old", "new"),
    ROWS["updates"],
)
def test_a_stated_change_of_the_same_attribute_is_an_update(old: str, new: str) -> None:
    assert relation(new, old) == "updates"


@pytest.mark.parametrize(
    ("old", "new"),
    ROWS["something else"],
)
def test_a_change_of_something_else_is_no_update(old: str, new: str) -> None:
    assert relation(new, old) in ("related", None)


@pytest.mark.parametrize(
    "new",
    [
        "This week only the shop opens at 11.",
        "The shop opens at 11 until Friday.",
        "For now the shop opens at 11.",
        "The shop should perhaps be moved to open at 11.",
        "Anna proposes that the shop now opens at 11.",
        "Does the shop now open at 11?",
        "Tomorrow the shop opens at 11.",
    ],
)
def test_an_exception_a_wish_or_a_question_changes_nothing(new: str) -> None:
    assert relation(new, "The shop opens at 10.") in ("related", None)


def test_of_several_things_said_together_none_is_replaced_for_one_of_them() -> None:
    ports = "Local ports: API on 8087, dashboard on 5199, mail catcher on 1085."
    rules = "The API listens on 8087. The dashboard needs a login."

    assert relation("The local API moved to port 7087.", ports) == "related"
    assert relation("The API now listens on 7087.", rules) == "related"


@pytest.mark.parametrize(
    ("old", "new"),
    ROWS["conflicts"],
)
def test_a_denial_and_another_source_are_conflicts(old: str, new: str) -> None:
    assert relation(new, old) == "conflicts"


def test_what_is_denied_in_both_is_no_conflict() -> None:
    assert relation("On Mondays leave the garlic out of the dal.", "No garlic in the dal on Mondays.") == "related"


def test_a_cosine_links_what_shares_no_words_and_parts_what_shares_some() -> None:
    old, new = "Ask me before adding a dependency.", "New packages need my approval first."

    assert relation(new, old) is None
    assert relation(new, old, cosine=0.65) == "related"
    assert relation("The clinic now opens at 9.", "The clinic opens at 8.", cosine=0.1) is None


def test_long_texts_are_not_read() -> None:
    long = "The clinic now opens at 9. " * 20

    assert relation(long, "The clinic opens at 8.", cosine=0.9) is None


def test_a_cue_of_change_is_told_from_what_takes_it_back() -> None:
    assert states_change("The clinic now opens at 9.")
    assert not states_change("For now the clinic opens at 9.")
    assert is_exception("Only this week")
    assert is_uncertain("maybe later")
    assert is_report("According to the manual")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Bob's favorite color is blue.", "Bob's favorite color is red."),
        ("My favourite editor is vim", "My favourite editor is helix"),
        ("The office is in Bern.", "The office is in Zurich."),
        ("We meet in room Alpha.", "We now meet in room Beta."),
    ],
)
def test_another_value_of_what_has_only_one_is_a_change(old: str, new: str) -> None:
    assert relation(new, old) == "updates"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The cat is black.", "The cat is asleep."),
        ("Ann's sister lives in Oslo.", "Ann's brother lives in Bergen."),
        ("Paul is in Rome.", "Mary is in Paris."),
        ("The office is in Bern.", "The office is in Zurich today only."),
        ("My favorite color is blue.", "Maybe my favorite color is red."),
        ("The key is under the mat.", "The key is made of brass."),
    ],
)
def test_another_property_or_another_subject_is_not_a_change(old: str, new: str) -> None:
    assert relation(new, old) != "updates"
