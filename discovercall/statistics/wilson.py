"""Wilson's score interval for a plain proportion."""

from __future__ import annotations

import math
from statistics import NormalDist


def wilson(hits: int, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the two-sided score interval of a proportion, without continuity correction.

    Args:
        hits: how many of the independent cases were successes.
        total: how many there were, at least 1.
        confidence: the nominal coverage, between 0 and 1.

    Raises:
        ValueError: no case, hits outside 0 to `total`, or a confidence outside (0, 1).

    Source: Wilson, Journal of the American Statistical Association 22:209 (1927).
    """
    if total < 1:
        raise ValueError("the interval needs at least one case")
    if not 0 <= hits <= total:
        raise ValueError("hits must be between 0 and the number of cases")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence!r}")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate = hits / total
    shrink = 1 + z * z / total
    centre = (rate + z * z / (2 * total)) / shrink
    half = z / shrink * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total * total))
    # Rounding must not put the rate of none or all outside of its own interval.
    low = 0.0 if hits == 0 else max(0.0, centre - half)
    high = 1.0 if hits == total else min(1.0, centre + half)
    return low, high
