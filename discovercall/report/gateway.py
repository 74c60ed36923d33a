"""The gateway's measurement as the report shows it, read from its snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from discovercall.report.model import Interval
from discovercall.report.numbers import in_short

OVERALL = "overall"
_FAMILIES = ("invocation", "ergonomics", "cache")


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
class FamilyRate:
    """A rate of calls, texts or the cache, with its Wilson interval and the cases that fell short."""

    family: str
    name: str
    cases: int
    rate: float
    rate_95: Interval
    missed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StartUp:
    """Tokens that an agent reads before its first step: all tools themselves, and the broker's."""

    direct: int
    broker: int
    reduction: float
    estimator: str


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
        scoreboard: the page that its own commands made; None where there is none.
        caveats: everything that qualifies the verdict: what is worse than before, what was skipped and why.
        semantic: what is to be said of the semantic leg.
    """

    file: str
    scoreboard: str | None
    verdict: str
    caveats: tuple[str, ...]
    generated_at: str
    commit: str | None
    dirty: bool
    corpus: str
    model: str | None
    semantic: str
    scopes: tuple[Scope, ...]
    rates: tuple[FamilyRate, ...]
    start_up: StartUp | None
    bounds: tuple[BoundCheck, ...]


def gateway_of(result: Mapping[str, Any], file: str, scoreboard: str | None = None) -> GatewaySnapshot:
    """The snapshot of a gateway measurement.

    Args:
        result: a result document of the gateway's evaluation that is known to be valid.
        file: how links name it.
        scoreboard: how links name its scoreboard, where there is one.
    """
    made, scopes = result["provenance"], result.get("discovery") or {}
    model, reason = made["model"], made["semanticSkipReason"]
    return GatewaySnapshot(
        file=file,
        scoreboard=scoreboard,
        verdict=result["verdict"],
        caveats=caveats(result),
        generated_at=result["generatedAt"],
        commit=made["gitCommit"],
        dirty=made["dirty"],
        corpus=str(made["corpusVersion"]),
        model=None if model is None else model["id"],
        semantic="the semantic leg ran" if made["semanticRan"] else f"semantic leg skipped: {reason}",
        scopes=tuple(
            _scope(name, scopes[name]) for name in sorted(scopes, key=lambda name: (name != OVERALL, name))
        ),
        rates=tuple(rate for family in _FAMILIES for rate in _rates(family, result.get(family))),
        start_up=_start_up(result.get("tokens")),
        bounds=tuple(_bound(gate) for gate in result["gates"]),
    )


def caveats(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Everything that qualifies the verdict of a measurement: `semantic leg skipped: not requested`."""
    worse = result.get("regressions")
    reasons = [f"worse than the baseline: {in_short(worse)}"] if worse else []
    return (*reasons, *(f"{entry['what']} skipped: {entry['reason']}" for entry in result["skipped"]))


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


def _rates(family: str, found: Any) -> Iterator[FamilyRate]:
    """The rates of a family; its members are not fixed, so one of another shape is left to the scoreboard."""
    members = found if isinstance(found, Mapping) else {}
    offenders = members.get("offenders") or {}
    for name, interval in (members.get("intervals") or {}).items():
        rate = members.get(name)
        if interval is not None and isinstance(rate, (int, float)):
            missed = tuple(str(case) for case in offenders.get(name) or ())
            limits = (float(interval["low"]), float(interval["high"]))
            yield FamilyRate(family, str(name), int(interval["of"]), rate, limits, missed)


def _start_up(found: Any) -> StartUp | None:
    if not isinstance(found, Mapping) or found.get("startupReduction") is None:
        return None
    direct, broker = int(found["directStartup"]), int(found["brokerStartup"])
    return StartUp(direct, broker, float(found["startupReduction"]), str(found["estimator"]))


def _bound(gate: Mapping[str, Any]) -> BoundCheck:
    return BoundCheck(
        name=gate["name"],
        comparator=gate["comparator"],
        threshold=gate["threshold"],
        actual=gate["actual"],
        passed=gate["pass"],
        skipped=(gate["skipReason"] or "no reason given") if gate["skipped"] else None,
    )
