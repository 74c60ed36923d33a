"""The discovery family: how well each ranker finds what was asked for, and refuses what is not there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discovercall.evals.ablation import refusals_without_capability
from discovercall.evals.cases import CATEGORIES, Corpus, DiscoveryCase
from discovercall.evals.rankers import RankerPlan, ranker_plans
from discovercall.evals.ranking_cases import RankedCase, rank_case
from discovercall.evals.rates import Mean, Rate, rounded, separation
from discovercall.gateway.encoder import CachingEncoder
from discovercall.gateway.results import DECISIONS


@dataclass(frozen=True, slots=True)
class RankerResult:
    """What one ranker made of all intents."""

    name: str
    cases: tuple[RankedCase, ...]

    def scopes(self) -> dict[str, dict[str, Any]]:
        """Metrics over all intents and per category."""
        return {"overall": scope_metrics(self.cases, "overall")} | {
            category: scope_metrics([c for c in self.cases if c.category == category], category)
            for category in CATEGORIES
        }


@dataclass(frozen=True, slots=True)
class DiscoveryResult:
    """Rankers side by side, by name: `model`, `words`, `rrf`, `bm25`, as far as they ran."""

    rankers: Mapping[str, RankerResult]

    @property
    def primary(self) -> RankerResult:
        """The live ranker, with the model where that took part."""
        return self.rankers.get("model") or self.rankers["words"]

    def document(self) -> dict[str, Any]:
        """Metrics per scope of the live ranker, as it ran."""
        return self.primary.scopes()

    def side_by_side(self) -> dict[str, Any]:
        """Metrics per scope of every ranker."""
        return {name: result.scopes() for name, result in self.rankers.items()}

    def case_list(self) -> list[dict[str, Any]]:
        """What the live ranker made of each intent, for comparing runs."""
        return [
            {"intent": c.intent, "category": c.category, "rank": c.rank, "decision": c.decision, "top": c.top}
            for c in self.primary.cases
        ]


def measure_discovery(
    corpus: Corpus, cases: Sequence[DiscoveryCase], *, encoder: CachingEncoder | None
) -> DiscoveryResult:
    """Rank the catalog for each intent with each ranker.

    Args:
        corpus: the catalog and the bank.
        cases: the intents; the open or the set-aside ones.
        encoder: the model; None leaves out the rankers that need one.
    """
    if encoder is not None:
        encoder.encode([case.intent for case in cases])  # remembered, for each is ranked several times
    return DiscoveryResult(
        {plan.name: _measure(plan, corpus, cases) for plan in ranker_plans(corpus.bank, encoder)}
    )


def _measure(plan: RankerPlan, corpus: Corpus, cases: Sequence[DiscoveryCase]) -> RankerResult:
    ranker = plan.make(corpus.world.tools)
    ranked = [rank_case(ranker, case) for case in cases]
    return RankerResult(
        plan.name, tuple(refusals_without_capability(plan, corpus.world.tools, cases, ranked))
    )


def scope_metrics(cases: Sequence[RankedCase], scope: str) -> dict[str, Any]:
    """The metrics of one scope; what does not apply to it is None.

    Args:
        cases: those of the scope.
        scope: `overall` or a category.
    """
    matchable = [case for case in cases if case.matchable]
    absent = [case for case in cases if not case.matchable]
    ablated = [case.refused_without for case in matchable if case.refused_without is not None]
    figures: dict[str, Rate | Mean] = {
        "top1": Rate.over(case.rank == 1 for case in matchable),
        "top3": Rate.over(1 <= case.rank <= 3 for case in matchable),
        "mrr": Mean(tuple(1 / case.rank if case.rank else 0.0 for case in matchable)),
        "wrongServerRate": Rate.over(
            case.wrong_server
            for case in matchable
            if case.category == "wrong_server" and scope in ("overall", "wrong_server")
        ),
        "noMatchCorrectness": Rate.over(case.refused for case in absent),
        "falseRefusalRate": Rate.over(case.refused for case in matchable),
        "endToEnd": Rate.over(
            case.rank == 1 and not case.refused if case.matchable else case.refused for case in cases
        ),
        "usePrecision": Rate.over(case.rank == 1 for case in matchable if case.decision == "use"),
        "ambiguousHit": Rate.over(1 <= case.rank <= 2 for case in matchable if case.decision == "ambiguous"),
        "capabilityAblation": Rate.over(ablated),
    }
    mix = Counter(case.decision for case in cases)
    document: dict[str, Any] = {"n": len(cases)}
    document |= {name: rounded(figure.value) for name, figure in figures.items()}
    document["refusalAuc"] = rounded(
        separation(
            [case.margin for case in matchable if case.margin is not None],
            [case.margin for case in absent if case.margin is not None],
        )
    )
    document["decisionMix"] = {decision: mix[decision] for decision in DECISIONS}
    document["intervals"] = {name: interval for name, f in figures.items() if (interval := f.interval())}
    return document
