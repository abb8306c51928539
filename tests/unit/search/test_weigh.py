"""Decay, confidence and the other factors, with the seeds' own numbers (research cases 22 to 35)."""

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit import NOON, candidates_of
from recollect.decay import effective_confidence
from recollect.profile import Factor, Floor, Profile, Weigh, load_profile
from recollect.records import ALL_PROJECTS, Fact, Memory
from recollect.replies import Mode, Request, Share
from recollect.search.candidates import Candidate
from recollect.search.parse import Query
from recollect.search.state import State
from recollect.search.weigh import (
    FACTORS,
    Subject,
    apply_floor,
    confidence,
    dated,
    fact_confidence,
    half_life,
    informativeness,
    lens,
    mean_confidence,
    prior,
    recency,
    type_weight,
    weigh,
)

RULES = Weigh()


def aged(days: float, **about: object) -> Subject:
    return Subject(memory=Memory(content="x", created_at=NOON - timedelta(days=days), **about))  # type: ignore[arg-type]


def fact(*, rate: float = 0.01, days: float = 0.0, sure: float = 1.0) -> Fact:
    reinforced = NOON - timedelta(days=days)
    return Fact(
        subject="a", predicate="is", object="b", type="kv", confidence=sure, decay_rate=rate, last_reinforced=reinforced
    )


def weighing(
    candidates: list[Candidate], subjects: dict[int, Subject], profile: Profile, *, mode: Mode = "keyword"
) -> State:
    state = State(
        request=Request(text="x"),
        query=Query(text="x"),
        scope=ALL_PROJECTS,
        now=NOON,
        mode=mode,
        candidates=candidates_of(candidates),
        outlines={row: subject.memory for row, subject in subjects.items()},
        facts={row: subject.facts for row, subject in subjects.items()},
    )
    return weigh(state, rules=profile.weigh)


@pytest.mark.case(22)
@pytest.mark.req("C-20")
@pytest.mark.parametrize(("days", "expected"), [(0, 1.1), (1, 1.05), (7, 1.0125), (30, 1.00323)])
def test_recent_imports_get_a_little_more(days: float, expected: float) -> None:
    assert recency(aged(days), RULES, NOON) == pytest.approx(expected, abs=1e-5)


@pytest.mark.case(23)
@pytest.mark.req("O-04")
@pytest.mark.parametrize(("days", "expected"), [(0, 1), (9, 0.8123), (10, 0.7937), (30, 0.5), (60, 0.25), (90, 0.125)])
def test_a_memory_counts_half_after_each_half_life(days: float, expected: float) -> None:
    assert half_life(aged(days), RULES, NOON) == pytest.approx(expected, abs=1e-4)
    assert half_life(aged(days), Weigh(half_life_days=15.0), NOON) == pytest.approx(expected**2, abs=1e-4)


@pytest.mark.case(24)
@pytest.mark.req("O-03", "O-14")
def test_oros_worked_example_falls_below_its_floor() -> None:
    oro = load_profile("oro")
    candidate = Candidate(id=1, shares=(Share(ranking="words", rank=1, points=0.1),))

    weighed = weighing([candidate], {1: aged(30, id=1)}, oro)

    assert weighed.candidates[0].score == pytest.approx(0.04)
    assert apply_floor(weighed, rules=oro.floor).kept == ()


@pytest.mark.case(25)
def test_of_two_like_memories_the_newer_comes_first() -> None:
    shares = (Share(ranking="words", rank=1, points=1.0),)
    candidates = [Candidate(id=1, shares=shares), Candidate(id=2, shares=shares)]

    found = weighing(candidates, {1: aged(90, id=1), 2: aged(0, id=2)}, load_profile("oro")).candidates

    assert [each.id for each in found] == [2, 1]
    assert found[0].score > found[1].score


@pytest.mark.case(26)
@pytest.mark.req("C-21")
def test_a_memory_without_facts_has_full_confidence() -> None:
    assert fact_confidence(aged(400), RULES, NOON) == 1.0


@pytest.mark.case(27, 28)
@pytest.mark.req("C-21")
def test_a_fact_fades_from_when_it_was_last_reinforced() -> None:
    assert effective_confidence(fact(), NOON) >= 0.99
    assert effective_confidence(fact(days=69.3147), NOON) == pytest.approx(0.5, abs=1e-4)


@pytest.mark.req("C-21")
def test_a_memory_is_worth_the_mean_of_its_facts() -> None:
    assert mean_confidence([fact(sure=1.0), fact(sure=0.5)], NOON) == pytest.approx(0.75)


@pytest.mark.req("C-22")
def test_a_superseded_fact_does_not_pull_the_mean_down() -> None:
    superseded = replace(fact(sure=0.0), state="superseded")
    stating = aged(0, id=1)._replace(facts=(fact(sure=0.6), superseded))
    candidate = Candidate(id=1, shares=(Share(ranking="words", rank=1, points=1.0),))

    weighed = weighing([candidate], {1: stating}, load_profile("cortex"))
    kept = apply_floor(weighed, rules=Floor(min_confidence=0.5)).kept

    assert [each.factors["fact_confidence"] for each in kept] == [pytest.approx(0.6)]
    assert mean_confidence([superseded], NOON) == 1.0


@pytest.mark.req("C-23")
def test_facts_fade_at_the_rate_of_their_type() -> None:
    rates = load_profile("cortex").weigh.decay_rates

    assert effective_confidence(fact(rate=rates["identity"], days=100), NOON) > 0.9
    assert effective_confidence(fact(rate=rates["temporal"], days=100), NOON) < 0.001


@pytest.mark.case(29)
@pytest.mark.req("B-10")
@pytest.mark.parametrize("source", ["MEMORY.md", "memory/projects.md", None, "a/2026-13-45.md"])
def test_undated_files_never_age(source: str | None) -> None:
    assert dated(aged(900, source=source), RULES, NOON) == 1.0


@pytest.mark.case(30)
@pytest.mark.req("B-09")
def test_a_file_named_by_its_day_ages_from_that_day() -> None:
    now = datetime(2026, 2, 10, tzinfo=UTC)
    old = 0.95 * dated(aged(0, source="memory/2025-01-01.md"), RULES, now)
    new = 0.80 * dated(aged(0, source="memory/2026-02-10.md"), RULES, now)

    assert new > old
    assert dated(aged(0, source="2026-01-11.md"), RULES, now) == pytest.approx(0.5)


@pytest.mark.case(31)
def test_a_date_to_come_does_not_count() -> None:
    assert dated(aged(0, source="2027-01-01.md"), RULES, NOON) == 1.0
    assert half_life(aged(-5), RULES, NOON) == 1.0


@pytest.mark.case(32)
def test_digits_glued_to_a_date_make_it_none() -> None:
    assert dated(aged(0, source="ticket-92025-06-15.md"), RULES, NOON) == 1.0


@pytest.mark.case(33)
@pytest.mark.req("O-17")
def test_a_pinned_memory_does_not_age() -> None:
    assert half_life(aged(900, pinned=True), RULES, NOON) == 1.0
    assert dated(aged(0, source="2020-01-01.md", pinned=True), RULES, NOON) == 1.0


@pytest.mark.req("O-05")
def test_a_memory_is_four_fifths_sure_unless_told() -> None:
    assert confidence(Subject(memory=Memory(content="x")), RULES, NOON) == 0.8


@pytest.mark.req("O-18")
def test_a_type_weighs_what_the_profile_says() -> None:
    rules = Weigh(type_weights={"decision": 1.2})

    assert type_weight(aged(0, type="decision"), rules, NOON) == 1.2
    assert type_weight(aged(0, type="gotcha"), rules, NOON) == 1.0


def test_a_lens_weighs_what_it_says() -> None:
    assert lens(aged(0)._replace(lens=1.5), RULES, NOON) == 1.5


@given(
    st.floats(-10, 100_000),
    st.floats(0, 1),
    st.booleans(),
)
def test_the_default_factor_stays_within_its_bounds(days: float, sure: float, pinned: bool) -> None:  # noqa: FBT001
    rules = load_profile("default").weigh

    factor = prior(aged(days, confidence=sure, pinned=pinned), rules, NOON)

    assert rules.bounds[0] <= factor <= rules.bounds[1]


@given(st.lists(st.floats(0, 100_000), min_size=1, max_size=8), st.data())
def test_decay_never_removes_a_hit_of_the_default_profile(ages: list[float], data: st.DataObject) -> None:
    profile = load_profile("default")
    points = [data.draw(st.floats(0.001, 1.0)) for _ in ages]
    shares = [(Share(ranking="words", rank=1, points=each),) for each in points]
    candidates = [Candidate(id=row, shares=share) for row, share in enumerate(shares)]
    subjects = {row: aged(days, id=row) for row, days in enumerate(ages)}
    plain = replace(profile, weigh=replace(profile.weigh, factors=()))

    with_decay, without = (
        {each.id for each in apply_floor(weighing(candidates, subjects, each, mode="hybrid"), rules=each.floor).kept}
        for each in (profile, plain)
    )

    assert with_decay == without


def test_every_factor_a_profile_may_name_exists() -> None:
    assert set(get_args(Factor)) == set(FACTORS)


def test_a_profile_without_factors_changes_nothing() -> None:
    candidate = Candidate(id=1, shares=(Share(ranking="words", rank=1, points=0.3),))

    (weighed,) = weighing([candidate], {1: aged(99)}, Profile()).candidates

    assert weighed.score == 0.3


def said(text: str, *, thread: str | None = "talk") -> Subject:
    return Subject(memory=Memory(content=text, thread=thread))


def test_a_turn_counts_by_how_much_it_states_and_what_is_no_turn_is_as_it_is() -> None:
    rules = load_profile("default").weigh
    turns = [
        "Ann: And what did you do then? Where was it?",
        "Ann: Wow, nice!",
        "Ann: I went to the pottery class in Leeds on Friday and made two bowls for my sister.",
    ]

    weights = [informativeness(said(text), rules, NOON) for text in turns]

    assert weights == sorted(weights)
    assert weights[0] == pytest.approx(1 - rules.informativeness_shift)
    assert 0.6 <= weights[0] < weights[1] < 0.75 < weights[2] < 1.0
    assert [informativeness(said(text, thread=None), rules, NOON) for text in turns] == [1.0, 1.0, 1.0]
    assert informativeness(said(turns[0]), RULES, NOON) == 1.0
