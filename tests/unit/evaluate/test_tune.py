"""Fitting by itself: what a knob turns, when it moves, and what is said of it. Rankings are made up, to the point."""

from collections.abc import Sequence
from zlib import crc32

import pytest
from msgspec.structs import replace

from recollect.evaluate.judgements import JudgedQuery
from recollect.evaluate.tune import LEAST, MOST, fit_profile
from recollect.evaluate.tuning import KNOBS, knobs_of, patched, starts
from recollect.profile import BUILT_IN, Profile, load_profile
from recollect.records import Scope

DEFAULT = load_profile("default")


def questions(count: int) -> list[JudgedQuery]:
    return [JudgedQuery(text=f"question number {number}", gains={1: 1}) for number in range(count)]


def prefers(share: float) -> "Asked":
    return Asked(share)


class Asked:
    """A search whose right answer ranks the higher, the nearer the vectors' share is to the one it likes."""

    def __init__(self, share: float) -> None:
        self.share, self.profiles = share, list[Profile]()

    def __call__(self, query: JudgedQuery, profile: Profile) -> Sequence[int]:
        self.profiles.append(profile)
        distance = abs(profile.fuse.weights["vector"] - self.share)
        rank = round(distance * 10) + query.checksum % 3
        return [*range(100, 100 + rank), 1]


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_knob_changes_its_profile_and_nothing_changes_where_it_stands(name: str) -> None:
    base = load_profile(name)
    knobs = knobs_of(base)

    turned = [patched(base, {knob.name: knob.grid[0]}) for knob in knobs]

    assert knobs
    assert all(each != base and each.name == name for each in turned)
    assert [knob.read(patched(base, starts(base))) for knob in knobs] == [
        pytest.approx(knob.read(base)) for knob in knobs
    ]
    assert patched(base, {}) == base


def test_a_profile_has_only_the_knobs_it_has_a_use_for() -> None:
    assert {knob.name for knob in knobs_of(DEFAULT)} >= {"vector", "title", "context", "typo"}
    assert "k" not in starts(DEFAULT)
    assert starts(load_profile("cortex"))["k"] == 60.0
    assert "vector" not in starts(load_profile("nornicdb"))  # its weights go by the length of the question


def test_one_number_shares_the_weight_between_words_and_vectors() -> None:
    even = replace(DEFAULT, fuse=replace(DEFAULT.fuse, weights={"words": 2.0, "vector": 2.0, "expansion": 1.0}))

    turned = patched(even, {"vector": 0.75})

    assert turned.fuse.weights == {"words": 1.0, "vector": 3.0, "expansion": 1.0}


def test_no_knob_goes_beyond_its_grid() -> None:
    assert patched(DEFAULT, {"vector": 7.0}) == patched(DEFAULT, {"vector": KNOBS["vector"].grid[-1]})
    assert all(list(knob.grid) == sorted(set(knob.grid)) for knob in KNOBS.values())


def test_a_weight_that_is_truly_better_is_found_and_proven_on_questions_it_was_not_fitted_to() -> None:
    done = fit_profile(questions(40), DEFAULT, prefers(0.2))

    assert done.moved == {"vector": (pytest.approx(0.7), 0.2)}
    assert done.values == {"vector": 0.2}
    assert done.better
    assert done.after > done.before
    assert done.interval is not None
    assert 0 < done.interval.low < done.after - done.before < done.interval.high


def test_nothing_moves_where_nothing_gains() -> None:
    done = fit_profile(questions(40), DEFAULT, prefers(0.7))

    assert (done.better, done.moved, done.values) == (False, {}, {})
    assert done.before == done.after
    assert done.reason == "no other weights answer these questions better"


def test_judgements_by_chance_adopt_nothing() -> None:
    def by_chance(query: JudgedQuery, profile: Profile) -> Sequence[int]:
        dice = crc32(f"{query.text} {profile.fuse.weights} {profile.words.fields}".encode())
        return [*range(100, 100 + dice % 12), 1]

    done = fit_profile(questions(60), DEFAULT, by_chance)

    assert not done.better
    assert done.values == {}
    assert "chance" in done.reason


def test_a_tuning_is_compared_with_what_is_in_force_and_may_turn_a_knob_back() -> None:
    done = fit_profile(questions(40), DEFAULT, prefers(0.7), current={"vector": 0.2, "title": 2.0})

    assert done.better
    assert done.values == {"title": 2.0}
    assert done.moved == {"vector": (0.2, pytest.approx(0.7))}


def test_few_questions_are_not_even_asked() -> None:
    asked = prefers(0.2)

    done = fit_profile(questions(LEAST - 1), DEFAULT, asked)

    assert done.reason == f"too few questions: {LEAST - 1}, at least {LEAST} are needed"
    assert (done.better, done.interval, asked.profiles) == (False, None, [])


def test_nothing_is_searched_for_twice_and_of_many_questions_the_same_few_are_asked() -> None:
    seen = set[tuple[str, str]]()
    reports = list[tuple[int, int]]()

    def asked(query: JudgedQuery, profile: Profile) -> Sequence[int]:
        place = (query.key, repr(profile))
        assert place not in seen
        seen.add(place)
        return prefers(0.2)(query, profile)

    many = questions(MOST + 100)
    done = fit_profile(many, DEFAULT, asked, progress=lambda number, total, _: reports.append((number, total)))

    assert done.questions == MOST
    assert fit_profile(many[::-1], DEFAULT, prefers(0.2)) == done
    assert reports[-1][0] == len(seen)
    assert all(number <= total for number, total in reports)


def test_the_same_words_in_two_projects_are_two_questions() -> None:
    here, there = (JudgedQuery(text="port", gains={1: 1}, scope=Scope(projects=frozenset({name}))) for name in "ab")

    assert here.key != there.key
    assert here.checksum == there.checksum
