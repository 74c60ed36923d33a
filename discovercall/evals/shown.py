"""Figures as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DASH = "–"


def percent(value: float | None) -> str:
    """One decimal; a dash where a metric does not apply."""
    return DASH if value is None else f"{value * 100:.1f}%"


def share(found: Mapping[str, Any], metric: str) -> str:
    """A rate and the cases behind it: `68.6% of 137`."""
    shown, spread = percent(found[metric]), (found.get("intervals") or {}).get(metric)
    return f"{shown} of {spread['of']}" if spread and shown != DASH else shown


def three(value: float | None) -> str:
    """Three decimals, or a whole number as it is."""
    return DASH if value is None else f"{value:.3f}"


def signed(value: float | None) -> str:
    """A difference with its sign."""
    return DASH if value is None else f"{value:+.3f}"


def interval(found: Mapping[str, Any] | None) -> str:
    """`[62, 79]` in percent; empty where there is none."""
    return "" if found is None else f"[{found['low'] * 100:.0f}, {found['high'] * 100:.0f}]"


def whole(value: float | None) -> str:
    """A count or a number of tokens."""
    return DASH if value is None else f"{value:,.0f}"
