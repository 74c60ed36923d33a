"""What one ranker makes of each labelled intent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from discovercall.evals.cases import Category, DiscoveryCase
from discovercall.gateway.catalog import Tool
from discovercall.gateway.ranking import Ranker
from discovercall.gateway.results import Decision

REFUSALS: frozenset[Decision] = frozenset({"no_good_match", "catalog_empty"})


@dataclass(frozen=True, slots=True)
class RankedCase:
    """The outcome of one intent.

    Attributes:
        intent: as labelled.
        category: as labelled.
        rank: place of the best acceptable tool, from 1; 0 where none is listed.
        decision: of the broker, from the very same ranking.
        top: the first tool; None for an empty catalog.
        wrong_server: the first tool does the same on a server that was not meant.
        margin: best capability on offer less the best that is not; None for rankers without one.
        refused_without: whether the intent is refused once its capability is taken out of the catalog; None
            where that was not measured.
    """

    intent: str
    category: Category
    rank: int
    decision: Decision
    top: str | None
    wrong_server: bool
    margin: float | None
    refused_without: bool | None = None

    @property
    def matchable(self) -> bool:
        """Whether some tool would rightly serve."""
        return self.category != "no_match"

    @property
    def refused(self) -> bool:
        """Whether the broker said that nothing fits."""
        return self.decision in REFUSALS


def rank_case(ranker: Ranker, case: DiscoveryCase) -> RankedCase:
    """Rank the whole catalog for an intent."""
    ranking = ranker.rank(case.intent)
    acceptable = frozenset(case.acceptable)
    top = ranking.entries[0].tool if ranking.entries else None
    by_ref = {entry.tool.tool_ref: entry.tool for entry in ranking.entries}
    meant = [by_ref[ref] for ref in case.acceptable if ref in by_ref]
    return RankedCase(
        intent=case.intent,
        category=case.category,
        rank=ranking.rank_of(acceptable),
        decision=ranking.decision,
        top=top.tool_ref if top else None,
        wrong_server=top is not None and top.tool_ref not in acceptable and _is_rival(top, meant),
        margin=ranking.margin,
    )


def _is_rival(top: Tool, meant: Iterable[Tool]) -> bool:
    return any(tool.server_id != top.server_id and _verb(tool) == _verb(top) for tool in meant)


def _verb(tool: Tool) -> str:
    return tool.name.split("_", 1)[0]
