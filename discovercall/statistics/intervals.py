"""The headline interval: Clopper-Pearson over tasks, extended to any per-task value between 0 and 1."""

from __future__ import annotations

import math
from collections.abc import Sequence

_INDISTINGUISHABLE = 1e-12


def dirichlet_clopper_pearson(task_rates: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Return an equal-tailed confidence interval for the mean of a population of tasks.

    The K values and one further value, 0 for the lower and 1 for the upper limit, get Dirichlet(1, ..., 1)
    weights; each limit is a quantile of the beta distribution with the mean and the variance of the
    weighted sum. With values of 0 and 1 only, it is exactly Clopper-Pearson with n = K. Coverage was at
    least the nominal one in every population enumerated with K >= 12; no theorem says so in general. With
    values between 0 and 1, raising one of them may lower a limit a little, since it also adds spread.

    Args:
        task_rates: K values in [0, 1], one per task, in any order.
        confidence: the nominal two-sided coverage, between 0 and 1.

    Raises:
        ValueError: no task, a value outside [0, 1], or a confidence outside (0, 1).

    Source: the moment-matched form of Gaffke's bound: Gaffke, Three test statistics for a nonparametric
    one-sided hypothesis on the mean of a nonnegative variable (2005); Learned-Miller and Thomas,
    arXiv:1905.06208 (2019). Clopper and Pearson, Biometrika 26:404 (1934).
    """
    if not task_rates:
        raise ValueError("the interval needs at least one task")
    if not all(0 <= rate <= 1 for rate in task_rates):
        raise ValueError("every task rate must be between 0 and 1")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence!r}")
    tail = (1 - confidence) / 2
    return _limit([*task_rates, 0.0], tail), _limit([*task_rates, 1.0], 1 - tail)


def _limit(values: Sequence[float], quantile: float) -> float:
    from scipy.special import betaincinv

    size = len(values)
    # math.fsum keeps the limit independent of the order of the tasks.
    mean = math.fsum(values) / size
    complement = math.fsum(1 - value for value in values) / size
    # Besides 0 and 1, each its own limit: so near to them the beta quantile has no finite parameters.
    if min(mean, complement) < _INDISTINGUISHABLE:
        return float(round(mean))
    variance = math.fsum((value - mean) ** 2 for value in values) / (size * (size + 1))
    strength = mean * complement / variance - 1
    return float(betaincinv(mean * strength, complement * strength, quantile))
