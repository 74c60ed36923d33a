"""Results that were never measured, and yet bear themselves out."""

from __future__ import annotations

import copy
from typing import Any

from discovercall.evals.rates import Mean, Rate, rounded


def with_rank(result: dict[str, Any], index: int, rank: int) -> dict[str, Any]:
    """The result as it would be had the case got this rank, and the same decision."""
    other = copy.deepcopy(result)
    other["cases"][index]["rank"] = rank
    live = "model" if other["rankers"].get("model") else "words"
    for scopes in (other["discovery"], other["rankers"][live]):
        for scope, found in scopes.items():
            _rerank(found, [case for case in other["cases"] if scope in ("overall", case["category"])])
    for gate in other["gates"]:
        if not gate["skipped"]:
            _gate_again(gate, other)
    failed = any(not gate["pass"] and not gate["skipped"] for gate in other["gates"])
    other["verdict"] = "fail" if failed else "pass"
    return other


def _rerank(found: dict[str, Any], cases: list[dict[str, Any]]) -> None:
    ranks = [case["rank"] for case in cases if case["category"] != "no_match"]
    figures: dict[str, Rate | Mean] = {
        "top1": Rate.over(rank == 1 for rank in ranks),
        "top3": Rate.over(1 <= rank <= 3 for rank in ranks),
        "mrr": Mean(tuple(1 / rank if rank else 0.0 for rank in ranks)),
    }
    for name, figure in figures.items():
        if ranks:
            found[name] = rounded(figure.value)
            found["intervals"][name] = figure.interval()


def _gate_again(gate: dict[str, Any], result: dict[str, Any]) -> None:
    family, _, rest = gate["name"].partition(".")
    if family not in ("discovery", "discoveryWords"):
        return
    scope, _, metric = rest.partition(".")
    scopes = result["discovery"] if family == "discovery" else result["rankers"]["words"]
    actual = gate["actual"] = scopes[scope][metric]
    bound = gate["threshold"]
    gate["pass"] = actual >= bound if gate["comparator"] == "min" else actual <= bound
