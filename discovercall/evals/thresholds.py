"""The bounds that a measurement is held to: `thresholds.json`, strictly read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from discovercall.evals.reading import corpus_text
from discovercall.foundation.errors import InputError
from discovercall.foundation.json_file import parse_json
from discovercall.foundation.models import StrictModel, check

Comparator = Literal["min", "max"]
Scope = Literal["ambiguous", "lexical", "no_match", "overall", "semantic", "wrong_server"]
SUPPORTED_VERSION = 1
Rate = Annotated[float, Field(ge=0, le=1)]


class DiscoveryBounds(StrictModel):
    """Bounds of one scope; the order of the fields is that of the gates."""

    top1Min: Rate | None = None
    top3Min: Rate | None = None
    mrrMin: Rate | None = None
    wrongServerRateMax: Rate | None = None
    noMatchCorrectnessMin: Rate | None = None
    falseRefusalRateMax: Rate | None = None
    endToEndMin: Rate | None = None
    usePrecisionMin: Rate | None = None
    ambiguousHitMin: Rate | None = None
    refusalAucMin: Rate | None = None
    capabilityAblationMin: Rate | None = None
    requiresSemanticLeg: bool = False


class InvocationBounds(StrictModel):
    """Bounds of calls."""

    validArgumentRateMin: Rate | None = None
    firstCallSuccessMin: Rate | None = None
    repairSuccessMin: Rate | None = None
    schemaErrorRateMin: Rate | None = None
    offlineHandledRateMin: Rate | None = None
    errorClarityMin: Rate | None = None
    mechanicalRepairRateMin: Rate | None = None
    timeoutHandledRateMin: Rate | None = None
    expectedErrorRateMin: Rate | None = None
    modeHandledRateMin: Rate | None = None
    noContactRateMin: Rate | None = None


class ErgonomicsBounds(StrictModel):
    """Bounds of what an agent reads."""

    decisionRateMin: Rate | None = None
    instructionRateMin: Rate | None = None
    errorDispositionRateMin: Rate | None = None
    withinBudgetRateMin: Rate | None = None
    parityRateMin: Rate | None = None
    stdioParityRateMin: Rate | None = None
    anchorRateMin: Rate | None = None
    groundedRateMin: Rate | None = None


class TokensBounds(StrictModel):
    """Bounds of the token economy."""

    startupReductionMin: Rate | None = None


class CacheBounds(StrictModel):
    """Bounds of the cache."""

    redundantCallReductionMin: Rate | None = None
    liveWriteRateMin: Rate | None = None
    faithfulRateMin: Rate | None = None


class HygieneBounds(StrictModel):
    """Bounds of the corpus's own cleanliness; the bank is looked at with the model only."""

    maxFindings: Annotated[int, Field(ge=0)] | None = None
    maxBankFindings: Annotated[int, Field(ge=0)] | None = None


class ThresholdsFile(StrictModel):
    """`thresholds.json`. What is unset or null is not gated."""

    version: int
    note: str = Field(default="", alias="_note")
    discovery: dict[Scope, DiscoveryBounds] = Field(default_factory=dict)
    discoveryWords: dict[Scope, DiscoveryBounds] = Field(default_factory=dict)
    invocation: InvocationBounds = Field(default_factory=InvocationBounds)
    ergonomics: ErgonomicsBounds = Field(default_factory=ErgonomicsBounds)
    tokens: TokensBounds = Field(default_factory=TokensBounds)
    cache: CacheBounds = Field(default_factory=CacheBounds)
    hygiene: HygieneBounds = Field(default_factory=HygieneBounds)


@dataclass(frozen=True, slots=True)
class Bound:
    """What one metric is held to.

    Attributes:
        family: member of the result that the metric is in.
        scope: of discovery; None elsewhere.
        metric: its name there.
        comparator: `min` passes at or above the threshold, `max` at or below.
        threshold: the bound itself.
        requires_semantic: only a run with the model is held to it.
    """

    family: str
    scope: str | None
    metric: str
    comparator: Comparator
    threshold: float
    requires_semantic: bool = False

    @property
    def name(self) -> str:
        """`family.metric`, or `family.scope.metric` in discovery."""
        return ".".join(part for part in (self.family, self.scope, self.metric) if part)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """All bounds, in the order in which their gates are shown."""

    bounds: tuple[Bound, ...]


def load_thresholds(path: Path) -> Thresholds:
    """Read and check a thresholds file.

    Raises:
        InputError: names the file and the field.
    """
    text, _ = corpus_text(path)
    return parse_thresholds(parse_json(text, str(path)), str(path))


def parse_thresholds(value: Any, where: str) -> Thresholds:
    """Check a parsed thresholds document.

    Raises:
        InputError: names `where` and the field.
    """
    document = check(ThresholdsFile, value, where)
    if document.version != SUPPORTED_VERSION:
        raise InputError(
            f"version: {document.version} is not supported", where=where, fix=f"use {SUPPORTED_VERSION}"
        )
    bounds: list[Bound] = []
    for family, scopes in (("discovery", document.discovery), ("discoveryWords", document.discoveryWords)):
        for scope in sorted(scopes):
            bounds += _bounds(family, scope, scopes[scope], scopes[scope].requiresSemanticLeg)
    for family in ("invocation", "ergonomics", "tokens", "cache"):
        bounds += _bounds(family, None, getattr(document, family))
    limits = document.hygiene
    for metric, most in (("findings", limits.maxFindings), ("bankFindings", limits.maxBankFindings)):
        if most is not None:
            bounds.append(Bound("hygiene", None, metric, "max", most, metric == "bankFindings"))
    return Thresholds(tuple(bounds))


def _bounds(family: str, scope: str | None, group: BaseModel, semantic: bool = False) -> list[Bound]:
    found = []
    for field, threshold in group:
        if threshold is not None and not isinstance(threshold, bool):
            comparator: Comparator = "min" if field.endswith("Min") else "max"
            found.append(Bound(family, scope, field[:-3], comparator, float(threshold), semantic))
    return found
