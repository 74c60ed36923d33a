"""Holding a result to its thresholds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from discovercall.evals.thresholds import Bound, Comparator, Thresholds
from discovercall.report.numbers import in_short

Verdict = Literal["pass", "fail"]
NO_CASES = "no cases"


@dataclass(frozen=True, slots=True)
class Gate:
    """One bound and what was measured. A skipped gate has not passed, and does not fail the run either."""

    name: str
    comparator: Comparator
    threshold: float
    actual: float | None
    passed: bool
    skip_reason: str | None

    @property
    def failed(self) -> bool:
        """Whether it makes the run fail."""
        return not self.passed and self.skip_reason is None

    def document(self) -> dict[str, Any]:
        """The result's form."""
        return {
            "name": self.name,
            "comparator": self.comparator,
            "threshold": self.threshold,
            "actual": self.actual,
            "pass": self.passed,
            "skipped": self.skip_reason is not None,
            "skipReason": self.skip_reason,
        }


def evaluate_gates(
    thresholds: Thresholds | None,
    result: Mapping[str, Any],
    families: Collection[str],
    semantic_skipped: str | None,
) -> list[Gate]:
    """One gate per bound of a family that was asked for, in the order of the bounds.

    Args:
        thresholds: the bounds; None gates nothing.
        result: the result document so far.
        families: those asked for; one that the corpus has no case of leaves its gates open.
        semantic_skipped: why the model took no part; None where it did.
    """
    bounds = thresholds.bounds if thresholds else ()
    return [_gate(bound, result, semantic_skipped) for bound in bounds if _family_of(bound) in families]


def verdict_of(gates: Sequence[Gate]) -> Verdict:
    """`fail` where a gate that was not skipped did not pass."""
    return "fail" if any(gate.failed for gate in gates) else "pass"


def unheld(gates: Sequence[Gate]) -> list[dict[str, str]]:
    """The gates that no case was held to, as a result's member `skipped` has them; empty without any."""
    names = [gate.name for gate in gates if gate.skip_reason == NO_CASES]
    if not names:
        return []
    return [{"what": f"{len(names)} of {len(gates)} gates", "reason": f"{NO_CASES} for {in_short(names)}"}]


def measured(bound: Bound, result: Mapping[str, Any]) -> float | None:
    """What a result says of a bound's metric; None where no case applied, or there is none of its family.

    Raises:
        KeyError: the result does not know the metric.
    """
    if result.get("rankers" if bound.family == "discoveryWords" else bound.family) is None:
        return None
    if bound.family == "hygiene":
        return float(finding_count(result["hygiene"], bank=bound.metric == "bankFindings"))
    if bound.family == "discoveryWords":
        value = result["rankers"]["words"][bound.scope][bound.metric]
    elif bound.scope is not None:
        value = result[bound.family][bound.scope][bound.metric]
    else:
        value = result[bound.family][bound.metric]
    return None if value is None else float(value)


def finding_count(hygiene: Mapping[str, Any], *, bank: bool) -> int:
    """How many findings concern the bank, or the words of the intents."""
    return sum((finding["check"] == "bank") is bank for finding in hygiene["findings"])


def _family_of(bound: Bound) -> str:
    return "discovery" if bound.family in ("discoveryWords", "hygiene") else bound.family


def _gate(bound: Bound, result: Mapping[str, Any], semantic_skipped: str | None) -> Gate:
    reason: str | None = None
    actual: float | None = None
    if bound.requires_semantic and semantic_skipped is not None:
        reason = f"semantic leg skipped: {semantic_skipped}"
    else:
        actual = measured(bound, result)
        if actual is None:
            reason = NO_CASES
    passed = actual is not None and (
        actual >= bound.threshold if bound.comparator == "min" else actual <= bound.threshold
    )
    return Gate(bound.name, bound.comparator, bound.threshold, actual, passed, reason)
