"""A difference is reported with how sure it is, and a gate beside an empty baseline never opens."""

import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import InputError
from recollect.evaluate.compare import Comparison, bootstrap, compare, compare_sets, gate_failure, randomisation

FIXED = (-0.056282945178, 0.075541025742, 0.8083832335329342)

values = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=12)


def named(numbers: list[float]) -> dict[str, float]:
    return {f"q{place:03}": number for place, number in enumerate(numbers)}


def at_random(seed: int, size: int, *, gain: float) -> tuple[dict[str, float], dict[str, float]]:
    chance = random.Random(seed)
    before = [chance.random() * 0.5 for _ in range(size)]
    return named(before), named([one + gain + chance.gauss(0, 0.2) for one in before])


def test_a_comparison_counts_what_was_won_and_lost() -> None:
    found = compare(named([0.5, 0.5, 0.5, 0.0]), named([1.0, 0.5, 0.25, 1.0]))

    assert (found.wins, found.ties, found.losses) == (2, 1, 1)
    assert (found.baseline, found.new, found.difference) == (0.375, 0.6875, 0.3125)


def test_changes_go_from_the_biggest_gain_to_the_biggest_loss_and_ties_by_id() -> None:
    found = compare({"c": 0.0, "a": 0.0, "b": 1.0, "d": 0.5}, {"c": 1.0, "a": 1.0, "b": 0.0, "d": 0.5})

    assert [one.query for one in found.changes] == ["a", "c", "d", "b"]


def test_gains_and_falls_hold_only_what_changed_and_no_more_than_asked_for() -> None:
    found = compare(named([0.0, 0.0, 1.0, 1.0, 0.5]), named([1.0, 0.5, 0.0, 0.0, 0.5]))

    assert [one.query for one in found.gains()] == ["q000", "q001"]
    assert [one.query for one in found.gains(1)] == ["q000"]
    assert [one.query for one in found.falls()] == ["q002", "q003"]
    assert [one.query for one in found.falls(1)] == ["q002"]


def test_a_clear_gain_has_an_interval_above_nothing_and_a_small_p_value() -> None:
    found = compare(*at_random(1, 200, gain=0.1))

    assert 0 < found.interval.low < found.difference < found.interval.high
    assert found.p_value < 0.001
    assert found.better


def test_no_real_gain_has_an_interval_around_nothing_and_a_large_p_value() -> None:
    found = compare(*at_random(2, 200, gain=0.0))

    assert found.interval.low < 0 < found.interval.high
    assert found.p_value > 0.05
    assert not found.better


def test_the_interval_is_as_wide_as_the_theory_of_large_samples_says() -> None:
    chance = random.Random(3)
    differences = [chance.gauss(0.05, 0.3) for _ in range(1000)]

    found = bootstrap([differences])

    spread = 1.96 * 0.3 / 1000**0.5
    assert (found.high - found.low) / 2 == pytest.approx(spread, rel=0.08)


def test_nineteen_of_twenty_intervals_hold_the_truth() -> None:
    chance = random.Random(4)
    held = 0
    for seed in range(200):
        found = bootstrap([[chance.gauss(0.1, 0.3) for _ in range(60)]], resamples=400, seed=seed)
        held += found.low <= 0.1 <= found.high

    assert 178 <= held <= 199


def test_the_p_value_is_the_share_of_swaps_that_reach_as_far() -> None:
    # All four agree: of the 16 ways to swap the labels two reach as far.
    found = randomisation([[0.5, 0.5, 0.5, 0.5]], trials=20_000)

    assert found == pytest.approx(2 / 16, abs=0.01)


def test_nothing_changed_is_no_evidence() -> None:
    found = compare(named([0.5, 0.5]), named([0.5, 0.5]))

    assert found.p_value == 1.0
    assert (found.interval.low, found.interval.high) == (0.0, 0.0)
    assert not found.better


def test_the_p_value_is_never_nothing() -> None:
    found = randomisation([[1.0] * 100], trials=99)

    assert found == 0.01


@settings(max_examples=30)
@given(values, st.integers(0, 9))
def test_the_interval_lies_within_the_differences(numbers: list[float], seed: int) -> None:
    found = bootstrap([numbers], resamples=50, seed=seed)

    assert min(numbers) - 1e-12 <= found.low <= found.high <= max(numbers) + 1e-12


@settings(max_examples=30)
@given(values)
def test_swapping_the_sides_mirrors_the_comparison(numbers: list[float]) -> None:
    before, after = named([0.5] * len(numbers)), named(numbers)

    there, back = compare(before, after, resamples=50), compare(after, before, resamples=50)

    assert there.difference == -back.difference
    assert (there.wins, there.losses) == (back.losses, back.wins)
    assert there.p_value == back.p_value
    assert (there.interval.low, there.interval.high) == pytest.approx((-back.interval.high, -back.interval.low))


def test_equal_runs_give_equal_answers_and_another_seed_another_sample() -> None:
    pair = at_random(5, 50, gain=0.1)

    first, again, other = compare(*pair), compare(*pair), compare(*pair, seed=1)

    assert first == again
    assert first.interval != other.interval


def test_the_order_of_the_queries_does_not_matter() -> None:
    before, after = at_random(6, 50, gain=0.1)
    turned = dict(reversed(after.items()))

    assert compare(before, after) == compare(dict(reversed(before.items())), turned)


def test_the_samples_of_a_seed_are_the_same_ones_for_ever() -> None:
    found = compare(*at_random(7, 37, gain=0.05), resamples=500)

    assert (round(found.interval.low, 12), round(found.interval.high, 12), found.p_value) == FIXED


def test_without_numpy_one_line_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['numpy'] = None\n"
        "from recollect.surfaces.cli import main\n"
        "main(['eval', 'nowhere', '--model', 'none', '--db', ':memory:'])"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)  # noqa: S603

    told = "an evaluation needs the library numpy, which is not installed (run: pip install numpy)"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", f"error: {told}\n")


def test_queries_scored_on_one_side_only_are_refused() -> None:
    with pytest.raises(InputError, match="1 queries were scored on one side only, such as 'b'") as refused:
        compare({"a": 1.0, "b": 1.0}, {"a": 1.0})

    assert refused.value.hint


def test_nothing_cannot_be_compared() -> None:
    with pytest.raises(InputError, match="nothing to compare"):
        compare({}, {})
    with pytest.raises(InputError, match="nothing to compare"):
        compare_sets({})
    with pytest.raises(InputError, match="nothing to resample"):
        bootstrap([[1.0], []])


def test_every_set_counts_alike_however_many_queries_it_has() -> None:
    small = named([0.0]), named([1.0])
    large = named([0.5] * 99), named([0.5] * 99)

    found = compare_sets({"small": small, "large": large})

    assert found.difference == 0.5
    assert found.sets["large"] == compare(*large)
    assert isinstance(found.sets["small"], Comparison)


def test_chance_is_drawn_within_each_set() -> None:
    # Within each set nothing varies, so nothing may vary in the mean over both.
    rising, falling = (named([0.0] * 20), named([1.0] * 20)), (named([1.0] * 20), named([0.5] * 20))

    found = compare_sets({"rising": rising, "falling": falling})

    assert (found.interval.low, found.interval.high) == pytest.approx((0.25, 0.25))


def test_a_gain_on_many_sets_is_surer_than_on_one() -> None:
    pairs = {f"set{seed}": at_random(seed, 40, gain=0.05) for seed in range(10, 18)}

    found = compare_sets(pairs)

    width = found.interval.high - found.interval.low
    assert all(width < one.interval.high - one.interval.low for one in found.sets.values())
    assert found.p_value < 0.01


# --- the gate -------------------------------------------------------------------------------


@pytest.mark.case(108)
def test_a_baseline_of_zero_fails_whatever_is_new() -> None:
    assert gate_failure(0.0, 1.0, 0.1) == "the baseline is 0.0000: it found nothing, so it proves nothing"


@pytest.mark.case(108)
@pytest.mark.parametrize("new", [0.65, 0.60])
def test_a_gate_opens_when_enough_is_reached(new: float) -> None:
    assert gate_failure(0.5, new, 0.60) is None


@pytest.mark.parametrize(
    ("baseline", "new", "needed"),
    [(0.5, 0.59, 0.6), (-0.1, 1.0, 0.1), (float("nan"), 1.0, 0.1), (0.5, float("nan"), 0.1), (0.5, 1.0, float("nan"))],
)
def test_a_gate_stays_shut_below_what_is_needed_and_beside_what_is_no_number(
    baseline: float, new: float, needed: float
) -> None:
    failure = gate_failure(baseline, new, needed)

    assert failure is not None
    assert f"baseline is {baseline:.4f}" in failure or f"below the {needed:.4f} needed" in failure
