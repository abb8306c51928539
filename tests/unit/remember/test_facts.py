import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.records import Memory
from recollect.remember.facts import (
    _DATE,
    _DIGIT,
    _RULES,
    DECAY_RATES,
    MAX_FACTS,
    Fact,
    _head,
    _may_hold_date,
    extract,
)


def told(text: str) -> list[tuple[str, str, str, str]]:
    return [(fact.type, fact.subject, fact.predicate, fact.object) for fact in extract(Memory(content=text))]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Owner: Alice Berg", ("kv", "Owner", "is", "Alice Berg")),
        ("- **Region**: eu-north", ("kv", "Region", "is", "eu-north")),
        ("MAX_CONNECTIONS=50", ("config", "MAX_CONNECTIONS", "is set to", "50")),
        ("--timeout 30s", ("config", "--timeout", "is set to", "30s")),
        ("server.port: 8080", ("config", "server.port", "is set to", "8080")),
        ("We decided to use SQLite because it needs no server.", ("decision", "We", "decided to use", "SQLite")),
        ("Decision: we will use tantivy", ("decision", "we", "will use", "tantivy")),
        ("The team picked Go.", ("decision", "team", "picked", "Go")),
        ("My name is Lena Fox.", ("identity", "user", "name is", "Lena Fox")),
        ("I'm a backend engineer", ("identity", "user", "is", "a backend engineer")),
        ("Tom works as an editor.", ("identity", "Tom", "works as", "an editor")),
        ("The customer is located in Oslo.", ("location", "customer", "is located in", "Oslo")),
        ("The worker runs on the edge nodes", ("location", "worker", "runs on", "the edge nodes")),
        ("The staging cluster is down.", ("state", "staging cluster", "is", "down")),
        ("Hot reload is still broken on Windows", ("state", "Hot reload", "is still", "broken on Windows")),
        ("I prefer short commit messages.", ("preference", "user", "prefer", "short commit messages")),
        ("Always run ruff before pyright.", ("preference", "we", "always", "run ruff before pyright")),
        ("The billing service depends on the ledger.", ("relationship", "billing service", "depends on", "the ledger")),
        ("Alice owns the search index.", ("relationship", "Alice", "owns", "the search index")),
        ("Q timezone is PST", ("relationship", "Q timezone", "is", "PST")),
    ],
)
def test_a_sentence_of_a_known_shape_is_a_fact(text: str, fact: tuple[str, str, str, str]) -> None:
    assert told(text)[0] == fact


def test_a_date_is_a_fact_of_its_own() -> None:
    assert told("The release is planned for March 5, 2026.") == [
        ("relationship", "release", "is", "planned for March 5, 2026"),
        ("temporal", "release", "dated", "March 5, 2026"),
    ]


def test_a_pair_belongs_to_the_section_it_stands_in() -> None:
    (fact,) = extract(Memory(content="Owner: Alice", section="Services > Billing"))

    assert (fact.subject, fact.predicate, fact.object) == ("Billing", "owner", "Alice")


def test_a_fact_knows_how_sure_it_is_and_which_words_say_it() -> None:
    pair, sentence = extract(Memory(content="Owner: Alice\nThe cache uses Redis."))

    assert pair == Fact(
        subject="Owner",
        predicate="is",
        object="Alice",
        type="kv",
        confidence=0.9,
        decay_rate=0.01,
        quote="Owner: Alice",
    )
    assert (sentence.confidence, sentence.quote) == (0.7, "The cache uses Redis.")


@pytest.mark.parametrize(
    "text",
    [
        "```\nSECRET_KEY=abc\nowner: bob\n```",
        "~~~python\nname: value\n~~~",
        "```\nnever: closed",
        "Is the cache broken?",
        "It is fine.",
        "There are two options: stay or go",
        "# Owner: Alice",
        "see https://example.com/a",
        "Retries: 3",
        "",
    ],
)
def test_code_questions_and_vague_words_say_nothing(text: str) -> None:
    assert told(text) == []


def test_code_hides_only_itself() -> None:
    assert told("Owner: Alice\n```\nOwner: Bob\n```\nRegion: Oslo") == [
        ("kv", "Owner", "is", "Alice"),
        ("kv", "Region", "is", "Oslo"),
    ]


def test_a_memory_has_a_handful_of_facts_each_once() -> None:
    many = "\n".join(f"Key {n}: value {n}" for n in range(30))

    assert len(told(many)) == MAX_FACTS
    assert len(told("Owner: Alice\nowner: alice")) == 1


@pytest.mark.req("C-23")
def test_each_type_of_fact_fades_at_its_own_rate() -> None:
    assert DECAY_RATES == {
        "identity": 0.001,
        "decision": 0.002,
        "relationship": 0.003,
        "location": 0.005,
        "preference": 0.01,
        "kv": 0.01,
        "config": 0.01,
        "state": 0.05,
        "temporal": 0.1,
    }


@given(st.text(st.one_of(st.characters(), st.sampled_from(": =\n.-#`AB is we")), max_size=300))
def test_every_fact_is_whole(text: str) -> None:
    facts = extract(Memory(content=text))

    assert len(facts) <= MAX_FACTS
    for fact in facts:
        assert 0 < len(fact.subject) <= 80
        assert len(fact.predicate) >= 2
        assert len(fact.object) >= 2
        assert fact.type in DECAY_RATES


@given(st.data(), st.sampled_from(_RULES))
def test_no_sentence_that_fits_a_rule_lacks_the_words_the_rule_needs(data: st.DataObject, rule: Any) -> None:
    sentence = data.draw(st.from_regex(re.compile(rule.shape.pattern, rule.shape.flags), fullmatch=True))

    assert not rule.keywords.isdisjoint(_head(sentence).casefold().split())


@given(st.text(max_size=20), st.from_regex(re.compile(_DATE.pattern)), st.text(max_size=20))
def test_no_date_lacks_what_dates_are_known_by(before: str, date: str, after: str) -> None:
    assert _may_hold_date(f"{before}{date}{after}")
    assert _DIGIT.search(date)


@pytest.mark.parametrize(
    "text",
    [
        "The billing service times out when the cache is cleared at 58:00",
        "Deploys wait until the queue is empty",
        "The host that serves the page is db1",
    ],
)
def test_a_verb_of_a_clause_has_not_the_whole_sentence_as_its_subject(text: str) -> None:
    assert extract(Memory(content=text)) == ()


def test_the_verb_before_a_clause_still_has_its_subject() -> None:
    (fact,) = extract(Memory(content="The billing service uses Redis when the cache is cold"))

    assert (fact.subject, fact.predicate) == ("billing service", "uses")
