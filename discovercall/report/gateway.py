"""The gateway's measurement as the report shows it, read from its snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discovercall.report.model import Interval

OVERALL = "overall"


@dataclass(frozen=True, slots=True)
class Scope:
    """Discovery over the intents of one kind; rates from 0 to 1, None where one does not apply.

    Attributes:
        top1_95: Wilson interval of `top1`.
    """

    name: str
    intents: int
    top1: float | None
    top1_95: Interval | None
    top3: float | None
    mrr: float | None
    wrong_server_rate: float | None
    no_match_correctness: float | None
    false_refusal_rate: float | None


@dataclass(frozen=True, slots=True)
class BoundCheck:
    """One figure held to its bound.

    Attributes:
        comparator: `min` passes at or above the threshold, `max` at or below.
        actual: None where nothing was measured.
        skipped: why it was not held to the bound; None where it was.
    """

    name: str
    comparator: str
    threshold: float
    actual: float | None
    passed: bool
    skipped: str | None


@dataclass(frozen=True, slots=True)
class GatewaySnapshot:
    """The committed measurement of the gateway.

    Attributes:
        semantic: what is to be said of the semantic leg.
    """

    file: str
    verdict: str
    generated_at: str
    commit: str | None
    dirty: bool
    corpus: str
    model: str | None
    semantic: str
    scopes: tuple[Scope, ...]
    bounds: tuple[BoundCheck, ...]


def gateway_of(result: Mapping[str, Any], file: str) -> GatewaySnapshot:
    """The snapshot of a gateway measurement.

    Args:
        result: a result document of the gateway's evaluation that is known to be valid.
        file: how links name it.
    """
    made, scopes = result["provenance"], result.get("discovery") or {}
    model, reason = made["model"], made["semanticSkipReason"]
    return GatewaySnapshot(
        file=file,
        verdict=result["verdict"],
        generated_at=result["generatedAt"],
        commit=made["gitCommit"],
        dirty=made["dirty"],
        corpus=str(made["corpusVersion"]),
        model=None if model is None else model["id"],
        semantic="the semantic leg ran" if made["semanticRan"] else f"semantic leg skipped: {reason}",
        scopes=tuple(
            _scope(name, scopes[name]) for name in sorted(scopes, key=lambda name: (name != OVERALL, name))
        ),
        bounds=tuple(_bound(gate) for gate in result["gates"]),
    )


def _scope(name: str, found: Mapping[str, Any]) -> Scope:
    interval = found["intervals"].get("top1")
    return Scope(
        name=name,
        intents=found["n"],
        top1=found["top1"],
        top1_95=None if interval is None else (interval["low"], interval["high"]),
        top3=found["top3"],
        mrr=found["mrr"],
        wrong_server_rate=found["wrongServerRate"],
        no_match_correctness=found["noMatchCorrectness"],
        false_refusal_rate=found["falseRefusalRate"],
    )


def _bound(gate: Mapping[str, Any]) -> BoundCheck:
    return BoundCheck(
        name=gate["name"],
        comparator=gate["comparator"],
        threshold=gate["threshold"],
        actual=gate["actual"],
        passed=gate["pass"],
        skipped=(gate["skipReason"] or "no reason given") if gate["skipped"] else None,
    )
