"""The rankers that are measured side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discovercall.gateway.bank import Bank
from discovercall.gateway.baseline import BaselineRanker, Cosines
from discovercall.gateway.catalog import Tool
from discovercall.gateway.discovery import DiscoveryRanker
from discovercall.gateway.encoder import CachingEncoder
from discovercall.gateway.ranking import Ranker


@dataclass(frozen=True, slots=True)
class RankerPlan:
    """How a ranker is made.

    Attributes:
        name: `model` and `words` are the live ranker with and without the model; `rrf` and `bm25` are the
            frozen ones, kept for comparison.
        make: the ranker of some tools.
        capabilities: the live ranker that tells which capabilities tools have, for taking one out.
    """

    name: str
    make: Callable[[Sequence[Tool]], Ranker]
    capabilities: Callable[[Sequence[Tool]], DiscoveryRanker]


def ranker_plans(bank: Bank, encoder: CachingEncoder | None) -> list[RankerPlan]:
    """All rankers that can run, the live ones first.

    Args:
        bank: the capabilities.
        encoder: the model; without one `model` and `rrf` are left out.
    """

    def words(tools: Sequence[Tool]) -> DiscoveryRanker:
        return DiscoveryRanker(tools, bank=bank)

    plans = [RankerPlan("words", words, words)]
    if encoder is not None:
        found = encoder

        def model(tools: Sequence[Tool]) -> DiscoveryRanker:
            return DiscoveryRanker(tools, bank=bank, encoder=found)

        def fused(tools: Sequence[Tool]) -> BaselineRanker:
            return BaselineRanker(tools, fusion="rrf", cosines=Cosines(tools, found))

        plans = [RankerPlan("model", model, model), *plans, RankerPlan("rrf", fused, model)]
    return [*plans, RankerPlan("bm25", BaselineRanker, words)]
