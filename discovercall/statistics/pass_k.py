"""pass^k and pass@k: success in all, or in at least one, of k trials of a task.

Both estimators are unbiased, hence undefined for k above the number of trials; the plug-in (c/T)^k is
biased and not offered. The interval of a mean is `intervals.dirichlet_clopper_pearson` of the task values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import comb, fsum


def pass_hat_k(successes: int, trials: int, k: int) -> float:
    """Return the unbiased estimate of the probability that k trials of one task all succeed.

    Args:
        successes: c, successful trials of the task, 0 to `trials`.
        trials: T, trials of the task, at least 1.
        k: trials that must all succeed, 1 to `trials`.

    Raises:
        ValueError: an argument is out of range, k > T among them.

    Source: C(c, k) / C(T, k), Yao et al., tau-bench, arXiv:2406.12045 (2024).
    """
    _check(successes, trials, k)
    return comb(successes, k) / comb(trials, k)


def pass_at_k(successes: int, trials: int, k: int) -> float:
    """Return the unbiased estimate of the probability that at least one of k trials of one task succeeds.

    Args:
        successes: c, successful trials of the task, 0 to `trials`.
        trials: T, trials of the task, at least 1.
        k: trials of which one must succeed, 1 to `trials`.

    Raises:
        ValueError: an argument is out of range, k > T among them.

    Source: 1 - C(T - c, k) / C(T, k), Chen et al., arXiv:2107.03374 (2021).
    """
    _check(successes, trials, k)
    ways = comb(trials, k)
    return (ways - comb(trials - successes, k)) / ways


def mean_pass_hat_k(successes: Sequence[int], trials: int, k: int) -> float:
    """Return the mean of pass^k over tasks; `successes` has one count per task, each out of `trials`.

    Raises:
        ValueError: there is no task, or an argument is out of range as for `pass_hat_k`.

    Source: as for `pass_hat_k`.
    """
    return _mean(pass_hat_k, successes, trials, k)


def every_mean_pass_hat_k(successes: Sequence[int], trials: int) -> list[float]:
    """Return `mean_pass_hat_k` for k = 1 .. `trials`, each binomial coefficient from the one before.

    Raises:
        ValueError: as for `mean_pass_hat_k`.

    Source: as for `pass_hat_k`; C(n, k) = C(n, k - 1) (n - k + 1) / k, in whole numbers.
    """
    if not successes:
        raise ValueError("a mean over tasks needs at least one task")
    for count in successes:
        _check(count, trials, 1)
    tasks = Counter(successes)
    ways = dict.fromkeys((*tasks, trials), 1)
    means = []
    for k in range(1, trials + 1):
        ways = {count: chosen * (count - k + 1) // k for count, chosen in ways.items() if chosen}
        values = {count: ways.get(count, 0) / ways[trials] for count in tasks}
        means.append(fsum(values[count] for count in successes) / len(successes))
    return means


def mean_pass_at_k(successes: Sequence[int], trials: int, k: int) -> float:
    """Return the mean of pass@k over tasks; `successes` has one count per task, each out of `trials`.

    Raises:
        ValueError: there is no task, or an argument is out of range as for `pass_at_k`.

    Source: as for `pass_at_k`.
    """
    return _mean(pass_at_k, successes, trials, k)


def _mean(
    estimator: Callable[[int, int, int], float], successes: Sequence[int], trials: int, k: int
) -> float:
    if not successes:
        raise ValueError("a mean over tasks needs at least one task")
    return fsum(estimator(count, trials, k) for count in successes) / len(successes)


def _check(successes: int, trials: int, k: int) -> None:
    if trials < 1:
        raise ValueError(f"trials must be at least 1, not {trials}")
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must be between 0 and {trials}, not {successes}")
    if not 1 <= k <= trials:
        raise ValueError(f"k must be between 1 and the {trials} trials of a task, not {k}")
