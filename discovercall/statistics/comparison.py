"""Two lanes over the same tasks. The unit is the task: never a trial-level test, never overlap of intervals.

D_i is the difference in successes on task i, first lane minus second; d_i = D_i / T, with T trials per task.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from discovercall.statistics.exact import count_ways
from discovercall.statistics.intervals import dirichlet_clopper_pearson

SIGNIFICANCE_LEVEL = 0.05
POWER = 0.80
MINIMUM_DIFFERING_TASKS = 6
"""Tasks that must differ, all in one direction, before the sign-flip p-value can reach 5%: 2 / 2^6 = .031."""


class TaskTally(NamedTuple):
    """Tasks on which the first lane did better than, equal to or worse than the second."""

    better: int
    equal: int
    worse: int


def sign_flip_p_value(differences: Sequence[int]) -> float:
    """Return the exact two-sided p-value of no difference between the lanes on any task.

    The share of the 2^n assignments of signs to the n non-zero differences whose total is at least as far
    from 0 as the observed one; 1 when no task differs.

    Args:
        differences: D_i, whole numbers, one per task.

    Source: Fisher, The Design of Experiments (1935), section 21: randomisation of pairs.
    """
    magnitudes = [abs(difference) for difference in differences if difference]
    observed = abs(sum(differences))
    ways = count_ways((-magnitude, magnitude) for magnitude in magnitudes)
    as_extreme = sum(count for total, count in ways.items() if abs(total) >= observed)
    return as_extreme / (1 << len(magnitudes))


def gap_interval(differences: Sequence[float]) -> tuple[float, float]:
    """Return the 95% interval of the mean gap, first lane minus second.

    2 * interval((1 + d_i) / 2) - 1, the headline interval on the scale of differences.

    Args:
        differences: d_i in [-1, 1], one per task.

    Raises:
        ValueError: there is no task, or a difference is outside [-1, 1].

    Source: `intervals.dirichlet_clopper_pearson`, by a linear map of [-1, 1] onto [0, 1].
    """
    if not all(-1 <= difference <= 1 for difference in differences):
        raise ValueError("every difference of rates must be between -1 and 1")
    low, high = dirichlet_clopper_pearson([(1 + difference) / 2 for difference in differences])
    return 2 * low - 1, 2 * high - 1


def tasks_better_equal_worse(differences: Sequence[float]) -> TaskTally:
    """Count the tasks on which the first lane did better, equal and worse; one difference per task.

    Source: the sign of D_i.
    """
    better = sum(difference > 0 for difference in differences)
    worse = sum(difference < 0 for difference in differences)
    return TaskTally(better, len(differences) - better - worse, worse)


def smallest_detectable_gap(differences: Sequence[float]) -> float | None:
    """Return the smallest true gap that this comparison would have found with 80% power (two-sided 5%).

    Worst case, and what public results show: the trials of a task agree, so that a task differs by all or
    nothing, more trials per task do not help, and the sign-flip test is McNemar's exact test. A task drawn
    from the population favours one lane with probability p and the other with probability q; the gap is
    p - q. q is set to the share of tasks that went against the majority here, and p is raised until the test
    rejects in its favour with 80% probability over all outcomes of K tasks. A gap spread over more tasks in
    smaller steps may be found sooner. The normal approximation with the observed sd(d) is not used, because
    it is too hopeful where few tasks differ.

    Args:
        differences: D_i or d_i, one per task; only the signs and the number of tasks count.

    Returns:
        The gap between 0 and 1; None where no gap at all would be found (always with fewer than 6 tasks).

    Source: unconditional power of McNemar's exact test: Schork and Williams, Communications in Statistics B
    9:349 (1980); Duffy, Biometrics 40:1005 (1984).
    """
    tally = tasks_better_equal_worse(differences)
    tasks = len(differences)
    if tasks < MINIMUM_DIFFERING_TASKS:
        return None
    against = min(tally.better, tally.worse) / tasks
    critical = _critical_counts(tasks)
    low, high = against, 1 - against
    if _power(tasks, high, against, critical) < POWER:
        return None
    while high - low > 1e-9:
        middle = (low + high) / 2
        if _power(tasks, middle, against, critical) < POWER:
            low = middle
        else:
            high = middle
    return high - against


def tasks_needed(sd_d: float, points: float = 5) -> int | None:
    """Return how many tasks a gap of `points` percentage points would take (80% power, two-sided 5%).

    K = (z(.975) + z(.80))^2 sd(d)^2 / (points / 100)^2, about 3140 sd(d)^2 for 5 points, and never fewer than
    the 6 tasks without which the test cannot reach 5%.

    Args:
        sd_d: the standard deviation of d_i over tasks, at least 0.
        points: the gap in percentage points, above 0.

    Returns:
        The number of tasks; None for sd(d) = 0, which says nothing about the spread to plan for.

    Raises:
        ValueError: `sd_d` is negative or not finite, or `points` is not positive.

    Source: normal approximation of the paired test; Miller, Adding Error Bars to Evals, arXiv:2411.00640
    (2024), on power analysis.
    """
    if not (math.isfinite(sd_d) and sd_d >= 0):
        raise ValueError(f"sd(d) must be a finite number of at least 0, not {sd_d!r}")
    if not points > 0:
        raise ValueError(f"points must be above 0, not {points!r}")
    if sd_d == 0:
        return None
    normal = NormalDist()
    quantiles = normal.inv_cdf(1 - SIGNIFICANCE_LEVEL / 2) + normal.inv_cdf(POWER)
    return max(MINIMUM_DIFFERING_TASKS, math.ceil((quantiles * sd_d / (points / 100)) ** 2))


def _critical_counts(tasks: int) -> list[int]:
    """Return for n = 0 .. tasks differing tasks how many in one direction give p <= 5%; n + 1 means never."""
    from scipy.special import bdtr

    counts = []
    fewest = -1
    for differing in range(tasks + 1):
        # The most that may go the other way never falls as n grows, so the search goes on where it stopped.
        while fewest < differing and 2 * bdtr(fewest + 1, differing, 0.5) <= SIGNIFICANCE_LEVEL:
            fewest += 1
        counts.append(differing - fewest)
    return counts


def _power(tasks: int, favour: float, against: float, critical: Sequence[int]) -> float:
    """Return the probability that McNemar's exact test rejects in favour of the better lane.

    `favour` and `against`, the chances that a task differs the one way and the other, add up to (0, 1].
    """
    import numpy as np
    from scipy.special import bdtrc, betaln, xlog1py, xlogy

    differ = favour + against
    size = np.arange(tasks + 1)
    log_choose = -np.log(tasks + 1) - betaln(tasks - size + 1, size + 1)
    chance_of_size = np.exp(log_choose + xlogy(size, differ) + xlog1py(tasks - size, -differ))
    reject = bdtrc(
        np.asarray(critical) - 1, size, favour / differ
    )  # 0 where the critical count is above size
    return float(np.sum(chance_of_size * reject))
