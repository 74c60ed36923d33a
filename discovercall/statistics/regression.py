"""Has a release lost successes? An exact one-sided test against the releases before it.

A small p-value is a notice, not a verdict: the next release confirms it or does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from discovercall.statistics.exact import count_ways

MINIMUM_HISTORY = 3
MAXIMUM_HISTORY = 5
NOTICE_LEVEL = 0.05


@dataclass(frozen=True)
class ReleaseCheck:
    """A new release against its history.

    Attributes:
        p_value: chance of a total as low as the new one if no release differed from another.
        notice: p_value is at most 5%.
        lower_tasks: positions of the tasks below their mean over the history.
        dark_tasks: positions of the tasks without a success now that had one in every earlier release.
    """

    p_value: float
    notice: bool
    lower_tasks: tuple[int, ...]
    dark_tasks: tuple[int, ...]


def check_release(history: Sequence[Sequence[int]], release: Sequence[int]) -> ReleaseCheck:
    """Test one-sidedly whether the new release has fewer successes than its history allows for.

    Within each task the H + 1 counts are exchangeable under no change, independently of the other tasks: the
    null law of the new total is the convolution over tasks of the uniform law on those counts.

    Args:
        history: 3 to 5 comparable releases (same tasks, trials, lane, model and method), each a count of
            successes per task, in the same task order.
        release: the new release's count of successes per task.

    Raises:
        ValueError: too few or too many releases, no task, or releases with different numbers of tasks.

    Source: exact permutation test stratified by task: Good, Permutation, Parametric and Bootstrap Tests of
    Hypotheses (3rd edition, 2005).
    """
    if not MINIMUM_HISTORY <= len(history) <= MAXIMUM_HISTORY:
        raise ValueError(
            f"the history must have {MINIMUM_HISTORY} to {MAXIMUM_HISTORY} releases, not {len(history)}"
        )
    if not release:
        raise ValueError("a release needs at least one task")
    if any(len(earlier) != len(release) for earlier in history):
        raise ValueError(f"every release in the history must have the {len(release)} tasks of the new one")
    pools = list(zip(*history, release, strict=True))
    ways = count_ways(pools)
    observed = sum(release)
    as_low = sum(count for total, count in ways.items() if total <= observed)
    p_value = as_low / prod(len(pool) for pool in pools)
    return ReleaseCheck(
        p_value=p_value,
        notice=p_value <= NOTICE_LEVEL,
        lower_tasks=tuple(
            task for task, (*counts, new) in enumerate(pools) if new * len(counts) < sum(counts)
        ),
        dark_tasks=tuple(task for task, (*counts, new) in enumerate(pools) if new == 0 and min(counts) > 0),
    )
