"""The interval that method discover-call-v2 names: a percentile bootstrap over tasks with a fixed generator.

It is kept bit for bit because published summaries carry it. It depends on task order, collapses to a point
when every task agrees and covers too little near the ceiling, so it is never the only interval shown:
the headline interval is in `intervals`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES = 20_000

_LOW_RANK = 500
_HIGH_RANK = 19_500
_SEED = 0x51F15E
_MULTIPLIER = 1664525
_INCREMENT = 1013904223
_MAX_DRAWS_AT_ONCE = 1 << 20


def task_cluster_bootstrap_95(task_rates: Sequence[float]) -> tuple[float, float]:
    """Return the unrounded 95% percentile bootstrap interval of the mean of the task rates.

    20,000 resamples of K tasks are drawn by the linear congruential generator
    s <- 1664525 s + 1013904223 mod 2^32 from s = 0x51f15e, task index floor(s / 2^32 * K); the interval is
    the estimates of rank 500 and 19,500 (from 0). The order of the tasks matters.

    Args:
        task_rates: K success rates in [0, 1], one per task, in order of first appearance.

    Raises:
        ValueError: there is no task.

    Source: method discover-call-v2. Percentile bootstrap: Efron and Tibshirani, An Introduction to the
    Bootstrap (1993), chapter 13. Generator constants: Press et al., Numerical Recipes in C, section 7.1.
    """
    if not task_rates:
        raise ValueError("the bootstrap interval needs at least one task")
    if len(task_rates) == 1:
        return float(task_rates[0]), float(task_rates[0])
    estimates = _resampled_means(task_rates)
    estimates.partition((_LOW_RANK, _HIGH_RANK))
    return float(estimates[_LOW_RANK]), float(estimates[_HIGH_RANK])


def round_half_up(value: float, digits: int = 4) -> float:
    """Round to `digits` decimals as ECMAScript's Math.round(value * 10^digits) / 10^digits does.

    Args:
        value: a finite number.
        digits: decimals to keep, at least 0.

    Raises:
        ValueError: the value or its scaled form is not finite.

    Source: ECMA-262, Math.round: the nearest integer, a tie goes to the greater one.
    """
    scale = float(10**digits)
    scaled = value * scale
    if not math.isfinite(scaled):
        raise ValueError(f"cannot round {value!r}")
    # floor(scaled + 0.5) would be wrong where the addition itself rounds (0.49999999999999994 gives 1).
    below = math.floor(scaled)
    return (below + 1 if scaled - below >= 0.5 else below) / scale


def _resampled_means(task_rates: Sequence[float]) -> NDArray[np.float64]:
    import numpy as np

    tasks = len(task_rates)
    rates = np.asarray(task_rates, dtype=np.float64)
    estimates = np.empty(RESAMPLES, dtype=np.float64)
    start = 0
    for columns in _drawn_tasks(tasks):
        totals = np.zeros(columns.shape[1], dtype=np.float64)
        # Column by column, because np.sum adds in pairs and differs in the last bits from left to right.
        for column in columns:
            totals += rates[column]
        estimates[start : start + len(totals)] = totals / tasks
        start += len(totals)
    return estimates


def _drawn_tasks(tasks: int) -> Iterable[NDArray[np.intp]]:
    """Yield blocks of resamples: one row per draw, one column per resample, each a task's position."""
    if RESAMPLES * tasks <= _MAX_DRAWS_AT_ONCE:
        return _drawn_at_once(tasks)
    return _draw(tasks)


@lru_cache(maxsize=1)  # the lanes of a run have the same tasks
def _drawn_at_once(tasks: int) -> tuple[NDArray[np.intp], ...]:
    return tuple(_draw(tasks))


def _draw(tasks: int) -> Iterator[NDArray[np.intp]]:
    import numpy as np

    rows_at_once = min(RESAMPLES, max(1, _MAX_DRAWS_AT_ONCE // tasks))
    multipliers, increments = _jump_coefficients(rows_at_once * tasks)
    state = np.uint32(_SEED)
    for start in range(0, RESAMPLES, rows_at_once):
        rows = min(rows_at_once, RESAMPLES - start)
        draws = rows * tasks
        states = multipliers[:draws] * state + increments[:draws]
        state = states[-1]
        indices = (states.astype(np.uint64) * np.uint64(tasks)) >> np.uint64(32)
        yield np.ascontiguousarray(indices.reshape(rows, tasks).T, dtype=np.intp)


def _jump_coefficients(draws: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return A and C with state_n = A_n * state_0 + C_n mod 2^32 for n = 1 .. draws."""
    import numpy as np

    multipliers = np.cumprod(np.full(draws, _MULTIPLIER, dtype=np.uint32), dtype=np.uint32)
    powers = np.concatenate((np.ones(1, dtype=np.uint32), multipliers[:-1]))
    increments = np.cumsum(powers, dtype=np.uint32) * np.uint32(_INCREMENT)
    return multipliers, increments
