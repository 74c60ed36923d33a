"""Rates with the number of cases behind them, and an interval each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from discovercall.statistics.intervals import dirichlet_clopper_pearson
from discovercall.statistics.wilson import wilson

DIGITS = 6


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of cases. `value` and `interval` are None where there is no case."""

    hits: int
    of: int

    @classmethod
    def over(cls, outcomes: Iterable[bool]) -> Rate:
        """The share of true ones."""
        listed = list(outcomes)
        return cls(sum(listed), len(listed))

    @property
    def value(self) -> float | None:
        """The share itself."""
        return self.hits / self.of if self.of else None

    def interval(self) -> dict[str, Any] | None:
        """Hits, cases and the 95% Wilson interval."""
        if not self.of:
            return None
        low, high = wilson(self.hits, self.of)
        return {"hits": self.hits, "of": self.of, "low": rounded(low), "high": rounded(high)}


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean of values between 0 and 1, one per case, such as reciprocal ranks."""

    values: tuple[float, ...]

    @property
    def value(self) -> float | None:
        """The mean itself; None where there is no case."""
        return math.fsum(self.values) / len(self.values) if self.values else None

    def interval(self) -> dict[str, Any] | None:
        """Cases and the 95% interval that extends Clopper and Pearson's to values between 0 and 1."""
        if not self.values:
            return None
        low, high = dirichlet_clopper_pearson(self.values)
        return {"of": len(self.values), "low": rounded(low), "high": rounded(high)}


def separation(higher: Sequence[float], lower: Sequence[float]) -> float | None:
    """Chance that a value of `higher` exceeds one of `lower`, ties counting half; None where one is empty.

    Source: the Mann-Whitney statistic, equal to the area under the ROC curve: Hanley and McNeil, Radiology
    143:29 (1982).
    """
    if not higher or not lower:
        return None
    wins = sum((a > b) + 0.5 * (a == b) for a in higher for b in lower)
    return wins / (len(higher) * len(lower))


def rounded(value: float | None) -> float | None:
    """A figure as documents hold it: few enough digits that rounding errors make no differences."""
    return None if value is None else round(value, DIGITS)
