"""The order in which a search puts tools, and the decision that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from discovercall.gateway.catalog import Tool
from discovercall.gateway.results import Confidence, Decision


@dataclass(frozen=True, slots=True)
class Ranked:
    """A tool with its score for one query and what the score is made of."""

    tool: Tool
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The outcome of one search over one catalog.

    Attributes:
        query: the text as it was given.
        entries: tools, best first; as many as were asked for.
        decision: what the broker does with it.
        confidence: with `use` only.
        semantic: whether a model took part.
        margin: best capability that the catalog offers less best one that it lacks; None without a bank.
        gap: score of the first less that of the second; the first's own score when it is alone.
        missing_capability: what the request seems to ask for, where nothing in the catalog offers it.
        ruled_out: servers that the request excludes by name.
        degraded: why the model, though available, did not take part; None where it did or is absent.
        explain: a sentence on why a tool of `entries` is where it is.
    """

    query: str
    entries: tuple[Ranked, ...]
    decision: Decision
    confidence: Confidence | None = None
    semantic: bool = False
    margin: float | None = None
    best_dense: float | None = None
    gap: float = 0.0
    missing_capability: str | None = None
    ruled_out: tuple[str, ...] = ()
    degraded: str | None = None
    explain: Callable[[str], str] = field(default=lambda ref: ref, compare=False, repr=False)

    def rank_of(self, tool_refs: frozenset[str] | set[str]) -> int:
        """Place of the best of some tools, from 1; 0 when none is among the entries."""
        places = (place for place, entry in enumerate(self.entries, 1) if entry.tool.tool_ref in tool_refs)
        return next(places, 0)

    def numbers(self) -> dict[str, Any]:
        """The figures behind the decision, for people."""
        figures = {"margin": self.margin, "bestDense": self.best_dense, "gap": self.gap}
        top = [
            {"toolRef": entry.tool.tool_ref, "score": round(entry.score, 6)}
            | {name: round(value, 6) for name, value in entry.parts.items()}
            for entry in self.entries[:3]
        ]
        return {
            **{name: round(value, 6) for name, value in figures.items() if value is not None},
            "semantic": self.semantic,
            "top": top,
        }


class Ranker(Protocol):
    """Ranks the tools of one catalog."""

    def rank(self, query: str, *, limit: int | None = None) -> Ranking:
        """The best tools for a text, all of them when `limit` is None."""
