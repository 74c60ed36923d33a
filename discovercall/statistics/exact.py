"""Exact laws of sums of independent uniform draws, in whole numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def count_ways(choices: Iterable[Sequence[int]]) -> dict[int, int]:
    """Return how many ways of drawing one value from each sequence lead to each total.

    Equal values in one sequence count as different draws, so the ways add up to the product of the lengths.

    Args:
        choices: one sequence of whole numbers per summand.

    Source: convolution of the generating functions; Streitberg and Roehmel, Statistical Software
    Newsletter 12:10 (1986), the shift algorithm for permutation tests.
    """
    ways = {0: 1}
    for values in choices:
        extended: dict[int, int] = {}
        for total, count in ways.items():
            for value in values:
                extended[total + value] = extended.get(total + value, 0) + count
        ways = extended
    return ways
