"""Taking the right capability out of the catalog: the same intent must then be refused.

These negatives need no labels of their own, and are hard ones: everything beside what was asked for is
still there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from discovercall.evals.cases import DiscoveryCase
from discovercall.evals.rankers import RankerPlan
from discovercall.evals.ranking_cases import REFUSALS, RankedCase
from discovercall.gateway.catalog import Tool
from discovercall.gateway.discovery import DiscoveryRanker
from discovercall.gateway.ranking import Ranker


def refusals_without_capability(
    plan: RankerPlan, tools: Sequence[Tool], cases: Sequence[DiscoveryCase], ranked: Sequence[RankedCase]
) -> list[RankedCase]:
    """The outcomes, completed for matchable intents by whether they are refused without their capability.

    Args:
        plan: how the ranker is made, anew for each set of remaining tools.
        tools: the whole catalog.
        cases: the intents.
        ranked: their outcomes, in the same order.
    """
    capabilities = plan.capabilities(tools)
    rankers: dict[frozenset[str], Ranker] = {}
    completed = []
    for case, outcome in zip(cases, ranked, strict=True):
        if outcome.matchable:
            removed = with_same_capability(capabilities, case.acceptable)
            if removed not in rankers:
                rankers[removed] = plan.make([tool for tool in tools if tool.tool_ref not in removed])
            decision = rankers[removed].rank(case.intent, limit=2).decision
            outcome = replace(outcome, refused_without=decision in REFUSALS)
        completed.append(outcome)
    return completed


def with_same_capability(ranker: DiscoveryRanker, tool_refs: Sequence[str]) -> frozenset[str]:
    """Some tools and all that adopt a capability which one of them adopts."""
    adopted = {archetype for ref in tool_refs for archetype in ranker.adopted_by(ref)}
    sharing = {tool.tool_ref for tool in ranker.tools if adopted & set(ranker.adopted_by(tool.tool_ref))}
    return frozenset(sharing | set(tool_refs))
