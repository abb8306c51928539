"""A query may be as long as it likes: what is looked up is bounded, and what is left out is told."""

from collections.abc import Iterator
from itertools import product
from string import ascii_lowercase as letters

import pytest

import recollect
from kit import NOON, counted_calls
from recollect.records import Memory, SubstringQuery
from recollect.render.text import degraded_text
from recollect.search.build_query import substring_query
from recollect.search.limits import MAX_NEEDLES, MAX_PHRASE, MAX_PREFIXES, MAX_TERMS, MAX_UNKNOWN
from recollect.search.parse import parse

WORDS = ["".join(each) for each in product("bdfg", "aeiou", "klmn", "aeiou", "rst", "aeiou")]
"""Words of six letters, many of them one edit from each other."""
UNKNOWN = [f"{word}{word[0]}x" for word in WORDS]


@pytest.fixture(scope="module")
def memory() -> Iterator[recollect.Recollection]:
    with recollect.open(":memory:", model="none") as opened:
        opened.add_all([Memory(content=" ".join(WORDS[at : at + 40])) for at in range(0, 1200, 40)])
        yield opened


def test_of_many_unknown_words_the_first_are_corrected_and_the_reply_says_so(memory: recollect.Recollection) -> None:
    with counted_calls() as calls:
        reply = memory.search(" ".join(UNKNOWN[:200]), mode="keyword")

    assert calls["Vocabulary._look"] <= MAX_UNKNOWN
    assert reply.degraded == "corrections_cut"
    assert degraded_text(reply) == f"only the first {MAX_UNKNOWN} unknown words were corrected"


def test_a_thousand_unknown_words_cost_no_more_than_a_hundred(memory: recollect.Recollection) -> None:
    costs = []
    for most in (300, 1000):
        with counted_calls() as calls:
            reply = memory.search(" ".join(UNKNOWN[:most]), mode="keyword")
        costs.append((calls["Vocabulary._look"], calls["_is_term"]))

    assert reply.degraded == "words_cut"
    assert costs[0] == costs[1]


def test_a_usual_query_leaves_nothing_out(memory: recollect.Recollection) -> None:
    reply = memory.search(f'{" ".join(WORDS[:20])} "{WORDS[0]} {WORDS[1]}" bak* -{WORDS[900]}', mode="keyword")

    assert (reply.degraded, reply.outcome) == (None, "answered")


def test_of_many_prefixes_the_first_are_looked_up(memory: recollect.Recollection) -> None:
    asked = " ".join(f"{first}{second}*" for first, second in product(letters, letters))

    with counted_calls() as calls:
        reply = memory.search(f"{WORDS[0]} {asked}", mode="keyword")

    assert reply.degraded == "prefixes_cut"
    assert calls["_tokens"] <= 4 + MAX_PREFIXES


@pytest.mark.parametrize("operator", ["AND", "OR", "NOT"])
def test_operators_over_many_prefixes_are_read_as_plain_words(memory: recollect.Recollection, operator: str) -> None:
    asked = f" {operator} ".join([WORDS[0], *(f"{letter}*" for letter in letters)])

    with counted_calls() as calls:
        reply = memory.search(asked, mode="keyword")

    assert reply.degraded == "prefixes_cut"
    assert calls["_tokens"] <= 2 * len(letters)


def test_of_many_exclusions_the_first_are_looked_up(memory: recollect.Recollection) -> None:
    unwanted = " ".join(f"-{word}" for word in WORDS[100:1100])

    with counted_calls() as calls:
        reply = memory.search(f"{WORDS[0]} {unwanted}", mode="keyword")

    assert reply.degraded == "words_cut"
    assert calls["_tokens"] <= 1 + MAX_TERMS


def test_a_long_phrase_is_looked_up_by_its_first_words() -> None:
    text = " ".join(WORDS[: 2 * MAX_PHRASE])
    with recollect.open(":memory:", model="none") as memory:
        memory.add(text)
        with counted_calls() as calls:
            reply = memory.search(f'"{text}"', mode="keyword")

    assert (len(reply.hits), reply.degraded) == (1, "words_cut")
    assert calls["_tokens"] <= MAX_PHRASE


def test_the_words_of_many_phrases_are_counted_together(memory: recollect.Recollection) -> None:
    phrases = " ".join(f'"{" ".join(WORDS[at : at + 60])}"' for at in range(60))
    terms = MAX_TERMS

    with counted_calls() as calls:
        reply = memory.search(phrases, mode="keyword")

    assert reply.degraded == "words_cut"
    assert calls["_phrase.<locals>.<setcomp>"] + calls["_tokens"] <= 2 * terms


def test_a_query_longer_than_is_read_says_so(memory: recollect.Recollection) -> None:
    reply = memory.search("bakara " * 5000, mode="keyword")

    assert (reply.degraded, reply.outcome) == ("words_cut", "answered")


def test_in_the_text_itself_few_words_are_looked_for() -> None:
    asked = substring_query(parse(" ".join(WORDS[:100]), now=NOON))

    assert asked == SubstringQuery(needles=tuple(WORDS[:MAX_NEEDLES]))


def test_what_is_broken_is_told_before_what_was_left_out(memory: recollect.Recollection) -> None:
    hybrid = memory.search(" ".join(UNKNOWN[:200]))
    short = memory.search(WORDS[0])

    assert (hybrid.degraded, short.degraded) == ("corrections_cut", "no_model")
