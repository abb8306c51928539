"""What of a question a memory does not hold."""

from datetime import UTC, datetime

from msgspec.structs import replace

from recollect.records import Context, Memory
from recollect.search.details import Details, details_of

PLUMBER = Memory(content="Marta Lind repairs the boiler, cash only.", title="Plumber", tags=("Kaunas",))


def told(question: str, memory: Memory = PLUMBER, **frequencies: int) -> Details:
    return details_of(question, memory, frequencies=frequencies)


def test_a_name_that_stands_nowhere_in_it_is_absent() -> None:
    details = told("which boiler does Jonas repair")

    assert details.absent == ("Jonas",)
    assert details.absent_share == 1.0


def test_names_in_words_title_and_tags_are_held() -> None:
    assert told("does Marta work in Kaunas as a Plumber").absent == ()


def test_every_part_of_an_identifier_must_be_held() -> None:
    memory = Memory(content="PW-E-013 is returned when the key is suspended.")

    assert told("cause of PW-E-013", memory).absent == ()
    assert told("cause of PW-E-103", memory).absent == ("PW-E-103",)


def test_a_mistyped_name_is_held_unless_the_store_knows_the_word_as_it_is_typed() -> None:
    assert told("what does Matra repair").absent == ()
    assert told("what does Matra repair", matra=1).absent == ("Matra",)


def test_the_date_of_a_memory_holds_its_month_and_where_it_looks_back_the_one_before() -> None:
    dated = replace(PLUMBER, observed_at=datetime(2026, 8, 3, tzinfo=UTC))
    back = replace(dated, content="Marta came last month.")

    assert told("what happened in Aug 2026", dated).absent == ()
    assert told("what happened in July 2026", dated).absent == ("July",)
    assert told("what happened in July 2026", back).absent == ()


def test_a_value_of_the_kind_asked_for_is_looked_for_in_words_metadata_and_the_turns_beside() -> None:
    question = "phone of Marta"

    assert told(question).lacks == "a phone number"
    assert told(question, replace(PLUMBER, metadata={"phone": "0171 555 0199"})).lacks is None
    assert told(question, replace(PLUMBER, context=Context(after="Sure: 0171 555 0199"))).lacks is None


def test_the_date_of_a_memory_tells_when_something_happened_but_not_when_it_will() -> None:
    dated = replace(PLUMBER, observed_at=datetime(2026, 8, 3, tzinfo=UTC))

    assert told("when did Marta repair the boiler", dated).lacks is None
    assert told("when does Marta repair the boiler", dated).lacks == "a date or time"
