from itertools import pairwise, product
from math import comb
from statistics import stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from discovercall.statistics.comparison import (
    gap_interval,
    sign_flip_p_value,
    smallest_detectable_gap,
    tasks_better_equal_worse,
    tasks_needed,
)

ONE_TASK_DIFFERS = [3] + [0] * 17
differences = st.lists(st.integers(-3, 3), max_size=9)


def test_seventeen_of_18_tasks_against_16():
    gaps = [difference / 3 for difference in ONE_TASK_DIFFERS]
    low, high = gap_interval(gaps)
    assert sum(gaps) / 18 == pytest.approx(0.056, abs=5e-4)
    assert (low, high) == pytest.approx((-0.142, 0.239), abs=5e-4)
    assert sign_flip_p_value(ONE_TASK_DIFFERS) == 1.0
    assert tasks_better_equal_worse(gaps) == (1, 17, 0)
    assert tasks_needed(stdev(gaps)) == pytest.approx(3140 * stdev(gaps) ** 2, abs=1)


@settings(deadline=None)
@given(differences)
def test_p_value_is_the_share_of_sign_assignments(values):
    observed = abs(sum(values))
    totals = [
        sum(s * v for s, v in zip(signs, values, strict=True))
        for signs in product((1, -1), repeat=len(values))
    ]
    assert sign_flip_p_value(values) == sum(abs(total) >= observed for total in totals) / len(totals)


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 3))
def test_p_value_of_equal_magnitudes_is_the_sign_test(better, worse, magnitude):
    values = [magnitude] * better + [-magnitude] * worse
    expected = binomtest(better, better + worse).pvalue if values else 1.0
    assert sign_flip_p_value(values) == pytest.approx(expected, rel=1e-9)


def test_six_tasks_in_one_direction_are_the_fewest_that_reach_5_percent():
    assert sign_flip_p_value([3] * 5) == 0.0625
    assert sign_flip_p_value([1] * 6 + [0] * 12) == 0.03125


@pytest.mark.parametrize("values", [[], [0] * 18])
def test_no_difference_anywhere_has_p_value_1(values):
    assert sign_flip_p_value(values) == 1.0


def test_p_value_of_many_tasks_stays_exact():
    assert sign_flip_p_value([1] * 1000) == 2.0**-999
    assert sign_flip_p_value([1] * 200 + [-1] * 200) == 1.0


@settings(deadline=None)
@given(differences.filter(bool))
def test_swapping_the_lanes_mirrors_everything(values):
    gaps = [value / 3 for value in values]
    mirrored = [-gap for gap in gaps]
    low, high = gap_interval(gaps)
    assert gap_interval(mirrored) == pytest.approx((-high, -low), abs=1e-9)
    assert low - 1e-12 <= sum(gaps) / len(gaps) <= high + 1e-12
    assert sign_flip_p_value([-value for value in values]) == sign_flip_p_value(values)
    assert smallest_detectable_gap(mirrored) == smallest_detectable_gap(gaps)
    better, equal, worse = tasks_better_equal_worse(gaps)
    assert tasks_better_equal_worse(mirrored) == (worse, equal, better)


def test_an_interval_of_no_tasks_or_of_impossible_gaps_is_refused():
    with pytest.raises(ValueError, match="at least one task"):
        gap_interval([])
    for impossible in (3.0, 1.5, -1.5, float("nan")):
        with pytest.raises(ValueError, match=r"^every difference of rates must be between -1 and 1$"):
            gap_interval([impossible, 0.0])


def power(tasks, favour, against):
    """Chance that the sign-flip test rejects in favour of the better lane, by enumerating all outcomes."""
    chance = 0.0
    for better in range(tasks + 1):
        for worse in range(tasks + 1 - better):
            if better > worse and sign_flip_p_value([1] * better + [-1] * worse) <= 0.05:
                equal = tasks - better - worse
                ways = comb(tasks, better) * comb(tasks - better, worse)
                chance += ways * favour**better * against**worse * (1 - favour - against) ** equal
    return chance


@settings(max_examples=15, deadline=None)
@given(st.integers(6, 20), st.integers(0, 4), st.integers(0, 4))
def test_the_detectable_gap_has_80_percent_power(tasks, better, worse):
    values = ([1] * better + [-1] * worse + [0] * tasks)[:tasks]
    tally = tasks_better_equal_worse(values)
    against = min(tally.better, tally.worse) / tasks
    gap = smallest_detectable_gap(values)
    if gap is None:
        assert power(tasks, 1 - against, against) < 0.80
    else:
        assert power(tasks, gap + against, against) == pytest.approx(0.80, abs=1e-6)


def test_the_detectable_gap_of_18_tasks_is_wide():
    assert smallest_detectable_gap(ONE_TASK_DIFFERS) == pytest.approx(0.404, abs=1e-3)


def test_tasks_against_the_majority_widen_the_detectable_gap():
    gaps = [smallest_detectable_gap([3] * 4 + [-3] * against + [0] * (14 - against)) for against in range(4)]
    assert None not in gaps
    assert all(fewer < more for fewer, more in pairwise(gap or 0.0 for gap in gaps))


def test_more_tasks_detect_a_smaller_gap():
    gap = smallest_detectable_gap([0] * 400)
    assert gap is not None
    assert gap < 0.02


def test_fewer_than_six_tasks_detect_nothing():
    assert smallest_detectable_gap([1] * 5) is None
    assert smallest_detectable_gap([]) is None
    assert smallest_detectable_gap([1, -1] * 5) is None


@pytest.mark.parametrize(
    ("sd", "points", "expected"),
    [
        (0.5, 5, 785),
        (1.0, 5, 3140),
        (0.5, 10, 197),
        (0.5, 1, 19623),
        (0.5, 0.5, 78489),
        (0.01, 5, 6),
        (0.0, 5, None),
    ],
)
def test_tasks_needed(sd, points, expected):
    assert tasks_needed(sd, points) == expected


@pytest.mark.parametrize(("sd", "points"), [(-0.1, 5), (float("nan"), 5), (0.5, 0), (0.5, -5)])
def test_tasks_needed_refuses_what_is_no_spread_or_no_gap(sd, points):
    with pytest.raises(ValueError, match="must be"):
        tasks_needed(sd, points)
