"""How alike the trials of one task are, and what that costs: trials of a task are no independent evidence."""

from __future__ import annotations

from collections.abc import Sequence


def intra_task_correlation(successes: Sequence[int], trials: int) -> float | None:
    """Return the analysis-of-variance estimate of the correlation of two trials of one task.

    With K tasks of T binary trials and rates r_i = c_i / T of mean m:
    MSB = T sum (r_i - m)^2 / (K - 1), MSW = sum c_i (1 - r_i) / (K (T - 1)),
    icc = (MSB - MSW) / (MSB + (T - 1) MSW), between -1 / (T - 1) and 1.

    Args:
        successes: K counts, one per task, each 0 to `trials`.
        trials: T, trials per task, at least 1.

    Returns:
        The estimate; None where it is undefined: fewer than two tasks, one trial per task, or no variance
        at all (every trial failed, or every one succeeded).

    Raises:
        ValueError: `trials` is below 1 or a count out of range.

    Source: Ridout, Demetrio and Firth, Estimating intraclass correlation for binary data, Biometrics
    55:137 (1999), the analysis-of-variance estimator.
    """
    if trials < 1:
        raise ValueError(f"trials must be at least 1, not {trials}")
    if not all(0 <= count <= trials for count in successes):
        raise ValueError(f"every count of successes must be between 0 and {trials}")
    tasks = len(successes)
    if tasks < 2 or trials == 1:
        return None
    # The sums of squares as whole numbers (times T K and T), so that the extremes are exact.
    between_scaled = tasks * sum(count * count for count in successes) - sum(successes) ** 2
    within_scaled = sum(count * (trials - count) for count in successes)
    if between_scaled == 0 and within_scaled == 0:
        return None
    between = between_scaled / (trials * tasks * (tasks - 1))
    within = within_scaled / (trials * tasks * (trials - 1))
    return (between - within) / (between + (trials - 1) * within)


def design_effect(intra_task_correlation: float | None, trials: int) -> float | None:
    """Return by what factor clustering inflates the variance of the mean: 1 + (T - 1) icc.

    K * T trials carry the information of K * T / (design effect) independent ones.

    Args:
        intra_task_correlation: the correlation of two trials of one task, None where undefined.
        trials: T, trials per task, at least 1.

    Returns:
        The design effect; None where the correlation is None.

    Raises:
        ValueError: `trials` is below 1.

    Source: Kish, Survey Sampling (1965), chapter 5, for clusters of equal size.
    """
    if trials < 1:
        raise ValueError(f"trials must be at least 1, not {trials}")
    if intra_task_correlation is None:
        return None
    return 1 + (trials - 1) * intra_task_correlation
