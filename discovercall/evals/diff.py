"""What changed between two results: metrics that moved, and intents whose answer is another."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from discovercall.evals.gates import finding_count
from discovercall.evals.rates import rounded
from discovercall.evals.result_model import FAMILIES
from discovercall.foundation.ecmascript import is_finite_number

LOWER_IS_BETTER = frozenset({"wrongServerRate", "falseRefusalRate"})
_COUNTS = frozenset({"n", "scenarios", "cases", "tools", "cacheable", "served", "delegated", "servedTokens"})
_TIMES = "performance"
_COMPARED = [family for family in FAMILIES if family != _TIMES]
_SLACK = 1e-9


def diff_results(baseline: Mapping[str, Any], current: Mapping[str, Any]) -> dict[str, Any]:
    """Compare two result documents.

    Metrics compare only where both measured the same corpus with the same legs. Families that only one of
    them ran are left out and named; where that leaves none, nothing is compared.
    """
    shared, left_out = _families(baseline, current)
    reason = _why_incomparable(baseline["provenance"], current["provenance"])
    if reason is None and not shared:
        reason = "no family in common"
        if baseline.get(_TIMES) and current.get(_TIMES):
            reason += f" but {_TIMES}, which is never compared"
    changes: list[dict[str, Any]] = []
    same = 0
    flips: list[dict[str, Any]] = []
    if reason is None:
        before, after = dict(_metrics(baseline, shared)), dict(_metrics(current, shared))
        for metric in sorted(before.keys() | after.keys()):
            change = _change(metric, before.get(metric), after.get(metric))
            if change is None:
                same += 1
            else:
                changes.append(change)
        flips = list(_flips(baseline, current))
    return {
        "baselineGeneratedAt": baseline["generatedAt"],
        "baselineCommit": baseline["provenance"]["gitCommit"],
        "comparable": reason is None,
        "reason": reason,
        "leftOut": left_out if reason is None else [],
        "same": same,
        "metrics": changes,
        "flips": flips,
    }


def regressions(diff: Mapping[str, Any], tolerance: float) -> list[dict[str, Any]]:
    """Rates that got worse by more than the tolerance, or were measured before and no longer are.

    Args:
        diff: of `diff_results`.
        tolerance: as a share, for instance 0.02 for two points.
    """
    return [
        change
        for change in diff["metrics"]
        if not change["metric"].startswith("tokens.")
        and (
            change["direction"] == "gone"
            or (change["direction"] == "worse" and abs(change["delta"]) > tolerance + _SLACK)
        )
    ]


def _why_incomparable(before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    if before["corpusSha256"] != after["corpusSha256"]:
        return "the corpus differs"
    if before["semanticRan"] != after["semanticRan"]:
        return "only one of them ran the semantic leg"
    return None


def _families(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The families that both ran, and those that one of them did; in the order of runs."""
    ran = [sum(result.get(family) is not None for result in (before, after)) for family in _COMPARED]
    found = list(zip(_COMPARED, ran, strict=True))
    return [family for family, times in found if times == 2], [
        family for family, times in found if times == 1
    ]


def _metrics(result: Mapping[str, Any], families: Collection[str]) -> Iterator[tuple[str, float | None]]:
    scoped = {
        "discovery": result.get("discovery"),
        "discoveryWords": (result.get("rankers") or {}).get("words"),
    }
    for name, scopes in scoped.items() if "discovery" in families else ():
        for scope, metrics in (scopes or {}).items():
            yield from _numbers(f"{name}.{scope}", metrics)
    for family in families:
        if family != "discovery":
            yield from _numbers(family, result[family])
    if "discovery" in families and result.get("hygiene"):
        for metric, bank in (("findings", False), ("bankFindings", True)):
            yield f"hygiene.{metric}", float(finding_count(result["hygiene"], bank=bank))


def _numbers(prefix: str, metrics: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    for name, value in metrics.items():
        if name not in _COUNTS and (value is None or is_finite_number(value)):
            yield f"{prefix}.{name}", None if value is None else float(value)


def _change(metric: str, before: float | None, after: float | None) -> dict[str, Any] | None:
    if before is None or after is None:
        if before is after:
            return None
        direction, delta = ("new", None) if before is None else ("gone", None)
    else:
        delta = rounded(after - before)
        if not delta:
            return None
        direction = "better" if (delta > 0) == _higher_is_better(metric) else "worse"
    return {"metric": metric, "baseline": before, "current": after, "delta": delta, "direction": direction}


def _higher_is_better(metric: str) -> bool:
    family, _, name = metric.rpartition(".")
    if family == "tokens":
        return name.endswith(("Reduction", "Rate"))
    return name not in LOWER_IS_BETTER and family != "hygiene"


def _flips(baseline: Mapping[str, Any], current: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    before = {case["intent"]: case for case in baseline.get("cases") or ()}
    for case in current.get("cases") or ():
        old = before.get(case["intent"])
        if old and (old["rank"], old["decision"]) != (case["rank"], case["decision"]):
            yield {
                "intent": case["intent"],
                "oldRank": old["rank"],
                "newRank": case["rank"],
                "oldDecision": old["decision"],
                "newDecision": case["decision"],
            }
