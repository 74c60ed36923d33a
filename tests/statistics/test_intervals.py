from itertools import pairwise
from math import comb

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from discovercall.statistics.intervals import dirichlet_clopper_pearson

rates = st.integers(1, 10).flatmap(
    lambda trials: st.lists(st.integers(0, trials).map(lambda count: count / trials), min_size=1, max_size=40)
)


def all_or_nothing(successes, tasks):
    return dirichlet_clopper_pearson([1.0] * successes + [0.0] * (tasks - successes))


@pytest.mark.parametrize(
    ("successes", "low", "high"), [(17, 0.7271, 0.9986), (16, 0.6529, 0.9862), (14, 0.5236, 0.9359)]
)
def test_published_check_values(successes, low, high):
    assert all_or_nothing(successes, 18) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("values", "confidence", "low", "high"),
    [
        # The beta quantiles of the moments in exact fractions.
        ([1 / 3, 2 / 3, 1.0, 0.0, 1 / 3], 0.95, 0.14830919711207, 0.81374712939799),
        ([1 / 3, 2 / 3, 1.0, 0.0, 1 / 3], 0.80, 0.21705447831736, 0.73633253566986),
        ([0.5] * 4, 0.95, 0.24647073529775, 0.75352926470225),
        ([0.9, 1.0], 0.95, 0.16472991192411, 0.99619334519055),
    ],
)
def test_tasks_that_succeed_now_and_then(values, confidence, low, high):
    assert dirichlet_clopper_pearson(values, confidence) == pytest.approx((low, high), abs=1e-13)


@pytest.mark.parametrize("tasks", [1, 2, 18, 200])
def test_all_success_and_all_failure(tasks):
    edge = 0.025 ** (1 / tasks)
    assert all_or_nothing(tasks, tasks) == (pytest.approx(edge), 1.0)
    assert all_or_nothing(0, tasks) == (0.0, pytest.approx(1 - edge))


@pytest.mark.parametrize("tasks", [1, 5, 18, 60])
def test_all_or_nothing_tasks_give_clopper_pearson(tasks):
    for successes in range(tasks + 1):
        expected = binomtest(successes, tasks).proportion_ci(0.95, method="exact")
        assert all_or_nothing(successes, tasks) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_all_or_nothing_tasks_make_it_monotone():
    for lower, upper in pairwise(all_or_nothing(successes, 25) for successes in range(26)):
        assert lower[0] < upper[0]
        assert lower[1] < upper[1]


@settings(deadline=None)
@given(rates)
def test_it_contains_the_mean_within_0_and_1(values):
    low, high = dirichlet_clopper_pearson(values)
    assert 0 <= low <= sum(values) / len(values) + 1e-12
    assert sum(values) / len(values) - 1e-12 <= high <= 1


@settings(deadline=None)
@given(rates)
def test_it_is_symmetric_in_success_and_failure(values):
    low, high = dirichlet_clopper_pearson(values)
    mirrored = dirichlet_clopper_pearson([1 - value for value in values])
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)


@settings(deadline=None)
@given(rates, st.randoms())
def test_it_does_not_depend_on_the_order(values, random):
    shuffled = random.sample(values, len(values))
    assert dirichlet_clopper_pearson(shuffled) == dirichlet_clopper_pearson(values)


@settings(deadline=None)
@given(rates)
def test_more_confidence_widens_it(values):
    narrow = dirichlet_clopper_pearson(values, 0.80)
    wide = dirichlet_clopper_pearson(values, 0.99)
    assert wide[0] <= narrow[0] + 1e-12
    assert narrow[1] <= wide[1] + 1e-12


@settings(deadline=None)
@given(
    st.lists(st.floats(0, 1) | st.integers(0, 320).map(lambda power: 10.0**-power), min_size=1, max_size=30)
)
@example([3.2625327067069676e-155])
@example([1 - 2**-53] * 3)
@example([1e-12, 1e-12])
def test_any_floats_give_ordered_limits(values):
    low, high = dirichlet_clopper_pearson(values)
    assert 0 <= low <= high <= 1


@pytest.mark.parametrize("tasks", [12, 18])
def test_coverage_over_populations_of_tasks_that_fail_pass_or_waver(tasks):
    outcomes = []
    for passed in range(tasks + 1):
        for wavering in range(tasks + 1 - passed):
            failed = tasks - passed - wavering
            limits = dirichlet_clopper_pearson([1.0] * passed + [0.5] * wavering + [0.0] * failed)
            ways = comb(tasks, passed) * comb(tasks - passed, wavering)
            outcomes.append((passed, wavering, failed, ways, limits))
    for p in range(0, 21):
        for q in range(0, 21 - p):
            a, b, c = p / 20, q / 20, (20 - p - q) / 20
            mean = a + b / 2
            covered = sum(
                ways * a**passed * b**wavering * c**failed
                for passed, wavering, failed, ways, (low, high) in outcomes
                if low - 1e-9 <= mean <= high + 1e-9
            )
            assert covered >= 0.95, (a, b, c)


def test_no_task_is_refused():
    with pytest.raises(ValueError, match=r"^the interval needs at least one task$"):
        dirichlet_clopper_pearson([])


@pytest.mark.parametrize("values", [[1.5], [-0.1, 0.5], [-0.9], [float("nan")]])
def test_values_out_of_range_are_refused(values):
    with pytest.raises(ValueError, match=r"^every task rate must be between 0 and 1$"):
        dirichlet_clopper_pearson(values)


@pytest.mark.parametrize("confidence", [0, 1, 1.5, 95, float("nan")])
def test_a_confidence_out_of_range_is_refused(confidence):
    with pytest.raises(ValueError, match=f"^confidence must be between 0 and 1, not {confidence!r}$"):
        dirichlet_clopper_pearson([0.5], confidence)
