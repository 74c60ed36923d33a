"""How numbers are written: a dash for what nobody knows, never a zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discovercall.report.model import Count

DASH = "–"
_NAMED = 3


def percent(value: float | None) -> str:
    """A rate as a percentage with one decimal."""
    return DASH if value is None else f"{value * 100:.1f}%"


def saved(share: float | None) -> str:
    """A share that is saved, in words: `99.2% less`, or `10.0% more` where it costs more."""
    return f"{percent(-share)} more" if share is not None and share < 0 else f"{percent(share)} less"


def percent_interval(interval: Sequence[float] | None) -> str:
    """An interval of rates as percentages."""
    return DASH if interval is None else f"[{percent(interval[0])}, {percent(interval[1])}]"


def points(value: float | None) -> str:
    """A difference of rates in percentage points, signed."""
    return DASH if value is None else f"{value * 100:+.1f} points"


def points_interval(interval: Sequence[float]) -> str:
    """An interval of a difference of rates, in percentage points."""
    low, high = (f"{limit * 100:+.1f}" for limit in interval)
    return f"[{low}, {high}]"


def share(counted: Count | Sequence[int] | None) -> str:
    """`98.1% (53/54)` from counts; a dash where they are unknown, or nothing was to be counted."""
    from discovercall.report.model import Count  # `score` prints numbers and needs no report

    if counted is not None and not isinstance(counted, Count):
        counted = Count(counted[0], counted[1])
    if counted is None or counted.rate is None:
        return DASH
    return f"{percent(counted.rate)} ({counted.passed}/{counted.of})"


def decimal(value: float | None, places: int = 2) -> str:
    """A number with a fixed number of decimals."""
    return DASH if value is None else f"{value:.{places}f}"


def in_short(names: Sequence[str]) -> str:
    """The first few of some names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
