"""Shares of cases, with the names of those that fell short."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from discovercall.evals.rates import Rate


@dataclass(slots=True)
class Tally:
    """Counts how many cases hold, and remembers the others by name in the order in which they came."""

    held: int = 0
    total: int = 0
    missed: list[str] = field(default_factory=list)

    def note(self, name: str, holds: bool) -> None:
        """Count one case."""
        self.total += 1
        if holds:
            self.held += 1
        elif name not in self.missed:
            self.missed.append(name)

    @property
    def rate(self) -> float | None:
        """The share that held; None without any case."""
        return self.held / self.total if self.total else None

    @property
    def interval(self) -> dict[str, Any] | None:
        """Hits, cases and the 95% Wilson interval; None without any case."""
        return Rate(self.held, self.total).interval()


def tally_members(tallies: Mapping[str, Tally]) -> dict[str, Any]:
    """Members of a result: each rate by its name, their `intervals`, and the names of `offenders`."""
    return {
        **{name: tally.rate for name, tally in tallies.items()},
        "intervals": {name: tally.interval for name, tally in tallies.items()},
        "offenders": {name: list(tally.missed) for name, tally in tallies.items() if tally.missed},
    }


def mean(values: Iterable[float]) -> float | None:
    """The arithmetic mean; None of nothing."""
    given = list(values)
    return sum(given) / len(given) if given else None
