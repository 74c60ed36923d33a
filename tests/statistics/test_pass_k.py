from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall.statistics.pass_k import (
    every_mean_pass_hat_k,
    mean_pass_at_k,
    mean_pass_hat_k,
    pass_at_k,
    pass_hat_k,
)

drawn = st.integers(1, 8).flatmap(
    lambda trials: st.tuples(st.integers(0, trials), st.just(trials), st.integers(1, trials))
)


@settings(deadline=None)
@given(drawn)
def test_they_are_shares_of_all_ways_to_draw_k_trials(case):
    successes, trials, k = case
    draws = list(combinations([True] * successes + [False] * (trials - successes), k))
    assert pass_hat_k(successes, trials, k) == pytest.approx(sum(map(all, draws)) / len(draws))
    assert pass_at_k(successes, trials, k) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_k_of_1_is_the_success_rate():
    assert pass_hat_k(2, 3, 1) == pass_at_k(2, 3, 1) == 2 / 3


def test_two_of_three():
    assert pass_hat_k(2, 3, 2) == 1 / 3
    assert pass_at_k(2, 3, 2) == 1.0
    assert pass_hat_k(2, 3, 3) == 0.0


def test_means_over_tasks():
    assert mean_pass_hat_k([3, 2, 0], 3, 2) == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert mean_pass_at_k([3, 1, 0], 3, 2) == pytest.approx((1 + 2 / 3 + 0) / 3)


@pytest.mark.parametrize("estimator", [pass_hat_k, pass_at_k])
@pytest.mark.parametrize(
    ("successes", "trials", "k", "message"),
    [
        (3, 3, 4, "k must"),
        (3, 3, 0, "k must"),
        (4, 3, 1, "successes"),
        (-1, 3, 1, "successes"),
        (0, 0, 1, "trials"),
    ],
)
def test_arguments_out_of_range_are_refused(estimator, successes, trials, k, message):
    with pytest.raises(ValueError, match=message):
        estimator(successes, trials, k)


@pytest.mark.parametrize("mean", [mean_pass_hat_k, mean_pass_at_k])
def test_means_refuse_no_tasks_and_k_above_the_trials(mean):
    with pytest.raises(ValueError, match=r"^a mean over tasks needs at least one task$"):
        mean([], 3, 1)
    with pytest.raises(ValueError, match="k must"):
        mean([3, 3], 3, 4)


@settings(deadline=None)
@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.integers(0, n), min_size=1))))
def test_all_means_at_once_are_the_single_ones_in_every_bit(case):
    trials, successes = case
    means = every_mean_pass_hat_k(successes, trials)
    assert means == [mean_pass_hat_k(successes, trials, k) for k in range(1, trials + 1)]


def test_all_means_of_a_long_run_come_at_once():
    assert every_mean_pass_hat_k([5000, 2500] * 9, 5000)[0] == 0.75


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (([], 3), "a mean over tasks needs at least one task"),
        (([4], 3), "successes must be between 0 and 3, not 4"),
        (([-1], 3), "successes must be between 0 and 3, not -1"),
        (([0], 0), "trials must be at least 1, not 0"),
    ],
)
def test_all_means_refuse_what_a_single_one_refuses(case, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        every_mean_pass_hat_k(*case)
