"""What a statement is to an earlier one: a change, a denial, or merely near."""

import pytest

from recollect.text.changes import is_exception, is_report, is_uncertain, states_change
from recollect.text.claims import relation


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The clinic opens at 8.", "The clinic now opens at 9."),
        ("The default region is eu-west-1.", "Default region changed to eu-north-1."),
        ("The deadline is 3 June.", "The deadline was extended to 17 June."),
        ("The subscription costs 9 euros a month.", "The subscription went up to 12 euros a month."),
        ("Max retries is 3.", "Max retries raised to 5."),
        ("Tests run on Python 3.10.", "Tests run on Python 3.12 from now on."),
        ("The car is in the garage.", "The car is back from the garage."),
        ("I drink coffee black.", "I no longer drink coffee."),
        ("The build uses webpack.", "We replaced webpack with Vite in the build."),
        ("The bakery is closed on Sundays.", "The bakery is open on Sundays again."),
        ("Vidya lives in Coventry.", "Vidya moved to Leicester in August."),
        ("Backups are kept for 14 days.", "We keep backups for 35 days instead of 14."),
        ("The guest password is mangotree.", "Changed the guest password to neemtree."),
        ("Production runs on wren-1 in Helsinki.", "Production has moved to wren-2 in Stockholm."),
        ("Feature flag `new_cart` is off.", "Turned `new_cart` on for all users."),
        ("Die Miete beträgt 680 Euro.", "Ab Oktober beträgt die Miete 715 Euro."),
    ],
)
def test_a_stated_change_of_the_same_attribute_is_an_update(old: str, new: str) -> None:
    assert relation(new, old) == "updates"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Vidya lives in Coventry.", "Vidya's sister moved to Leicester."),
        ("Vidya likes green tea.", "Vidya moved to Leicester in August."),
        ("Ebba is a master's student in our group.", "Ebba's student card is now blue."),
        ("TTL of the api record is 60 s.", "TTL of the www record was lowered to 30 s."),
        ("INC-2426 is owned by Oksana.", "INC-2426 is now closed."),
        ("The gym costs 129 reais a month.", "The gym now opens at 6."),
        ("The ferry leaves at 18:30.", "The ferry ticket went up to 12 euros."),
        ("Rent is due on the 7th.", "The rent was raised to 900."),
        ("The library closes at 20:00.", "The library no longer lends DVDs."),
        ("Anna leads the mobile team.", "The mobile team now has six people."),
        ("Meeting room A has 8 chairs.", "Meeting room B now has 12 chairs."),
        ("Chapter two has 41 pages.", "Chapter three was cut to 20 pages."),
        ("Dr Rao is our dentist.", "Dr Rao is now on holiday."),
        ("Sprint 14 ends on Friday.", "Sprint 15 now ends on Thursday."),
        ("The outage on May 3 is resolved.", "The outage on May 4 is now resolved."),
        ("Use pnpm in the web folder.", "The web folder was renamed to frontend."),
        ("We sell flutes in E for 650.", "At the fair we sold 31 flutes."),
        ("The bakery on Hill Road closes at 6.", "The bakery on Mill Road now closes at 7."),
        ("The staging cluster has 3 nodes.", "The staging cluster was moved to Frankfurt."),
        ("Redis listens on 6379.", "Redis was upgraded to 7.4."),
        ("Python 3.11 is used in the worker.", "Python 3.12 is now used in the API."),
        ("Luca's exam is on 3 June.", "Luca's sister's exam was moved to 5 June."),
        ("The monthly report goes to Eva.", "The weekly report now goes to Tom."),
        ("Aaji's cardiologist is Dr Batliwala.", "Dr Batliwala raised Aaji's telmisartan from 40 to 80."),
        ("Kafka has 3 brokers in staging.", "Kafka was upgraded to 3.7 in production."),
    ],
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
    [
        ("The endpoint is thread-safe.", "The endpoint is not thread-safe, it writes to a global buffer."),
        ("The deposit has been returned in full.", "The deposit was never returned in full."),
        ("The importer never retries uploads.", "The importer retries uploads five times."),
        ("The shop was founded in 1974.", "The ledger shows that the shop was founded in 1971."),
        ("The landlord allowed pets in the flat.", "The landlord forbids pets in the flat."),
    ],
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
