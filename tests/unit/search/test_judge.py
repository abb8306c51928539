"""When the first hits are an answer, and how sure that is."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import NOON
from recollect.profile import BUILT_IN, Calibration, Judge, Line, load_profile
from recollect.records import IndexHit
from recollect.replies import Share
from recollect.search.answerability import calibration, chance, judge, length_of, lifted
from recollect.search.parse import Query, parse
from recollect.search.ranking import Candidate, Ranking

KNOWN = Calibration(hybrid=Line(offset=-6, words=6, meaning=12), semantic=Line(offset=-4, meaning=10))
RULES = Judge(bar=0.5, among=3, usual=6, lift=0.5, words=Line(offset=-3, words=10), models={"toy-1": KNOWN})
WORDS = Ranking(name="words", found=tuple(IndexHit(id=row, score=2.0, coverage=0.6) for row in (1, 2, 3, 4)))
SHORT = parse("gardener salary", now=NOON)
MODEL = "toy-1-256"
SHARES = st.floats(min_value=0, max_value=1)
COSINES = st.floats(min_value=-1, max_value=1)
SLOPES = st.floats(min_value=0, max_value=50)


def hit(row: int, cosine: float | None = None) -> Candidate:
    words = Share(ranking="words", rank=row, points=0.3, native=2.0)
    near = () if cosine is None else (Share(ranking="vector", rank=None, points=0.1, native=cosine),)
    return Candidate(id=row, shares=(words, *near))


def asking(text: str) -> Query:
    return parse(text, now=NOON)


# --- what speaks for a hit ------------------------------------------------------------------


def test_words_and_meaning_together_make_an_answer() -> None:
    outcome, evidence = judge([hit(1, 0.5)], [WORDS], query=SHORT, mode="hybrid", model=MODEL, rules=RULES)

    assert evidence is not None
    assert (outcome, evidence.id, evidence.coverage, evidence.cosine, evidence.bar) == ("answered", 1, 0.6, 0.5, 0.5)
    assert evidence.sure == chance(KNOWN.hybrid, coverage=0.6, cosine=0.5) > 0.9


def test_a_far_vector_speaks_against_a_hit() -> None:
    outcome, _ = judge([hit(1, 0.05)], [WORDS], query=SHORT, mode="hybrid", model=MODEL, rules=RULES)

    assert outcome == "weak"


def test_a_vector_that_is_not_there_yet_does_not() -> None:
    outcome, evidence = judge([hit(1)], [WORDS], query=SHORT, mode="hybrid", model=MODEL, rules=RULES)

    assert outcome == "answered"
    assert evidence is not None
    assert evidence.cosine is None
    assert evidence.sure == chance(RULES.words, coverage=0.6)


def test_a_word_that_only_an_expansion_asked_for_is_no_evidence() -> None:
    other = replace(WORDS, kind="expansion")

    outcome, evidence = judge([hit(1)], [other], query=SHORT, mode="keyword", model="", rules=RULES)

    assert outcome == "weak"
    assert evidence is not None
    assert evidence.coverage == 0.0


def test_the_likeliest_of_the_first_hits_speaks_and_later_ones_are_not_heard() -> None:
    hits = [hit(1, 0.0), hit(2, 0.3), hit(3, 0.1), hit(4, 0.9)]

    outcome, evidence = judge(hits, [WORDS], query=SHORT, mode="hybrid", model=MODEL, rules=RULES)
    alone, _ = judge(hits[:1], [WORDS], query=SHORT, mode="hybrid", model=MODEL, rules=RULES)

    assert evidence is not None
    assert (outcome, evidence.id, alone) == ("answered", 2, "weak")


def test_a_profile_without_a_bar_takes_every_hit_for_an_answer() -> None:
    told = judge([hit(1, 0.0)], [], query=SHORT, mode="hybrid", model=MODEL, rules=Judge())

    assert told == ("answered", None)


# --- models ---------------------------------------------------------------------------------


def test_a_model_of_which_nothing_is_known_neither_helps_nor_harms() -> None:
    told = [
        judge([hit(1, cosine)], [WORDS], query=SHORT, mode="hybrid", model="new-1", rules=RULES)
        for cosine in (0.0, 1.0)
    ]

    assert told[0] == told[1]
    assert told[0] == judge([hit(1)], [WORDS], query=SHORT, mode="keyword", model="", rules=RULES)


def test_by_its_meaning_alone_such_a_model_never_answers() -> None:
    known, _ = judge([hit(1, 0.9)], [], query=SHORT, mode="semantic", model=MODEL, rules=RULES)
    unknown = judge([hit(1, 1.0)], [], query=SHORT, mode="semantic", model="new-1", rules=RULES)

    assert known == "answered"
    assert unknown == ("weak", None)


@pytest.mark.parametrize(
    ("model", "found"),
    [("toy-1", 0), ("toy-1-256", 0), ("toy-1-512", 1), ("toy-1-512-abc", 1), ("toy-12", None), ("", None)],
)
def test_a_model_is_known_by_the_longest_beginning_of_its_fingerprint(model: str, found: int | None) -> None:
    tables = [KNOWN, Calibration(semantic=Line(meaning=1))]
    rules = Judge(models={"toy-1": tables[0], "toy-1-512": tables[1]})

    assert calibration(model, rules) is (None if found is None else tables[found])


@pytest.mark.parametrize("name", BUILT_IN)
def test_what_a_built_in_profile_says_of_a_model_grows_with_what_speaks_for_a_hit(name: str) -> None:
    rules = load_profile(name).judge

    assert (rules.bar > 0) == (name == "default")
    assert rules.bar == 0 or rules.words.words > 0
    assert all(table.hybrid.words > 0 and table.hybrid.meaning > 0 for table in rules.models.values())
    assert all(table.semantic.meaning > 0 == table.semantic.words for table in rules.models.values())


# --- long questions -------------------------------------------------------------------------


def test_of_a_long_question_less_needs_to_be_held() -> None:
    rules, few = replace(RULES, words=Line(offset=-5, words=10)), replace(WORDS.found[0], coverage=0.3)
    words = Ranking(name="words", found=(few,))
    long = asking("gardener " + " ".join(f"word{number}" for number in range(23)))

    short_outcome, _ = judge([hit(1)], [words], query=SHORT, mode="keyword", model="", rules=rules)
    long_outcome, evidence = judge([hit(1)], [words], query=long, mode="keyword", model="", rules=rules)

    assert (short_outcome, long_outcome) == ("weak", "answered")
    assert evidence is not None
    assert evidence.coverage == 0.3
    assert length_of(long) == 24


@pytest.mark.parametrize(
    ("text", "length"),
    [("", 0), ("What is the salary?", 1), ("salary salaries SALARY", 1), ("園丁的薪水是多少", 4), ("薪水 salary", 2)],
)
def test_a_question_is_as_long_as_its_different_words(text: str, length: float) -> None:
    assert length_of(asking(text)) == length


@given(coverage=SHARES, length=st.floats(0, 500), more=st.floats(0, 500))
def test_a_longer_question_never_lowers_what_is_held_nor_raises_it_above_all(
    coverage: float, length: float, more: float
) -> None:
    held = lifted(coverage, length=length, rules=RULES)

    assert coverage <= held <= lifted(coverage, length=length + more, rules=RULES) <= 1
    assert lifted(coverage, length=length, rules=replace(RULES, lift=0.0)) == coverage


# --- the chance -----------------------------------------------------------------------------


@given(offset=st.floats(-100, 100), words=SLOPES, meaning=SLOPES, coverage=SHARES, cosine=COSINES, more=SHARES)
def test_the_chance_lies_between_none_and_all_and_never_falls_with_more_evidence(
    *, offset: float, words: float, meaning: float, coverage: float, cosine: float, more: float
) -> None:
    line = Line(offset=offset, words=words, meaning=meaning)

    sure = chance(line, coverage=coverage, cosine=cosine)

    assert 0 <= sure <= chance(line, coverage=coverage + more, cosine=cosine) <= 1
    assert sure <= chance(line, coverage=coverage, cosine=cosine + more)
