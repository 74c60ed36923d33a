from itertools import permutations
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall.statistics.clustering import design_effect, intra_task_correlation

counts = st.integers(2, 6).flatmap(
    lambda trials: st.tuples(st.lists(st.integers(0, trials), min_size=2, max_size=20), st.just(trials))
)


def anova(successes, trials):
    """The textbook one-way analysis of variance of the single trials."""
    groups = [[1.0] * count + [0.0] * (trials - count) for count in successes]
    grand = mean(value for group in groups for value in group)
    between = sum(trials * (mean(group) - grand) ** 2 for group in groups) / (len(groups) - 1)
    within = sum((value - mean(group)) ** 2 for group in groups for value in group)
    within /= len(groups) * (trials - 1)
    return (between - within) / (between + (trials - 1) * within)


@settings(deadline=None)
@given(counts.filter(lambda case: any(case[0]) and any(count < case[1] for count in case[0])))
def test_it_equals_a_one_way_analysis_of_variance(case):
    successes, trials = case
    correlation = intra_task_correlation(successes, trials)
    effect = design_effect(correlation, trials)
    assert correlation is not None
    assert effect is not None
    assert correlation == pytest.approx(anova(successes, trials), abs=1e-9)
    assert -1 / (trials - 1) - 1e-9 <= correlation <= 1
    assert effect == pytest.approx(1 + (trials - 1) * correlation)


def test_tasks_whose_trials_agree_count_once():
    correlation = intra_task_correlation([3] * 17 + [0], 3)
    assert correlation == 1.0
    assert design_effect(correlation, 3) == 3.0


def test_tasks_that_are_all_alike_correlate_negatively():
    correlation = intra_task_correlation([1, 1, 1, 1], 2)
    assert correlation == -1.0
    assert design_effect(correlation, 2) == 0.0


def test_the_order_of_the_tasks_does_not_matter():
    assert len({intra_task_correlation(order, 3) for order in permutations([3, 1, 0, 2])}) == 1


@pytest.mark.parametrize(
    ("successes", "trials"), [([1, 0, 1], 1), ([3, 3, 3], 3), ([0, 0], 3), ([2], 3), ([], 3)]
)
def test_it_is_undefined_without_repeats_tasks_or_variance(successes, trials):
    assert intra_task_correlation(successes, trials) is None
    assert design_effect(None, trials) is None


@pytest.mark.parametrize(("successes", "trials"), [([4], 3), ([-1], 3), ([0], 0)])
def test_counts_out_of_range_are_refused(successes, trials):
    with pytest.raises(ValueError, match="must be"):
        intra_task_correlation(successes, trials)


def test_a_design_without_trials_is_refused():
    with pytest.raises(ValueError, match="trials"):
        design_effect(0.5, 0)
