"""Shares of cases, with the names of those that fell short."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


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


def mean(values: Iterable[float]) -> float | None:
    """The arithmetic mean; None of nothing."""
    given = list(values)
    return sum(given) / len(given) if given else None
