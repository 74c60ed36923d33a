"""The result document: what a run writes, and what `report` and `diff` read back."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA: Literal["discovercall-eval/1"] = "discovercall-eval/1"
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Family = Literal["discovery", "invocation", "ergonomics", "tokens", "performance", "cache"]
FAMILIES: tuple[Family, ...] = (
    "discovery",
    "invocation",
    "ergonomics",
    "tokens",
    "performance",
    "cache",
)


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class IntervalResult(_Model):
    """95% interval of a rate (Wilson) or of a mean, with the cases behind it; `hits` for rates only."""

    hits: Count | None = None
    of: Annotated[int, Field(ge=1)]
    low: Share
    high: Share


class ScopeResult(_Model):
    """Discovery over all intents or one category; what does not apply is null."""

    n: Count
    top1: Share | None
    top3: Share | None
    mrr: Share | None
    wrongServerRate: Share | None
    noMatchCorrectness: Share | None
    falseRefusalRate: Share | None
    endToEnd: Share | None
    usePrecision: Share | None
    ambiguousHit: Share | None
    capabilityAblation: Share | None
    refusalAuc: Share | None
    decisionMix: dict[str, Count]
    intervals: dict[str, IntervalResult]


class ScopesResult(_Model):
    """Discovery of one ranker."""

    overall: ScopeResult
    lexical: ScopeResult
    semantic: ScopeResult
    no_match: ScopeResult
    ambiguous: ScopeResult
    wrong_server: ScopeResult


class RankersResult(_Model):
    """Rankers side by side: the live one with the model and by words, and the frozen ones."""

    model: ScopesResult | None = None
    words: ScopesResult
    rrf: ScopesResult | None = None
    bm25: ScopesResult


class CaseResult(_Model):
    """What the live ranker made of one open intent."""

    intent: str
    category: str
    rank: Count
    decision: str
    top: str | None


class FindingResult(_Model):
    """An intent that is easier than its category says."""

    check: Literal["lexical", "stem", "bank"]
    intent: str
    category: str
    where: str
    issue: str


class HygieneResult(_Model):
    """All findings; `bankCheckSkipped` says why the check that needs the model did not run."""

    findings: list[FindingResult]
    bankCheckSkipped: str | None


class HeldOutResult(_Model):
    """The set-aside intents: metrics only, no case and no text."""

    n: Count
    sha256: Digest | None
    rankers: RankersResult
    hygieneFindings: Count


class GateResult(_Model):
    """One bound and what was measured."""

    name: str
    comparator: Literal["min", "max"]
    threshold: float
    actual: float | None
    passed: bool = Field(alias="pass")
    skipped: bool
    skipReason: str | None


class SkippedResult(_Model):
    """Something that did not run, and why."""

    what: str
    reason: str


class MetricChange(_Model):
    """A metric that differs between two results."""

    metric: str
    baseline: float | None
    current: float | None
    delta: float | None
    direction: Literal["better", "worse", "changed", "new", "gone"]


class Flip(_Model):
    """An intent whose rank or decision differs between two results."""

    intent: str
    oldRank: Count
    newRank: Count
    oldDecision: str
    newDecision: str


class DiffResult(_Model):
    """What changed since the baseline; nothing is compared where `comparable` is false.

    `leftOut` names the families that only one of both ran.
    """

    baselineGeneratedAt: str
    baselineCommit: str | None
    comparable: bool
    reason: str | None
    leftOut: list[str] = []
    same: Count
    metrics: list[MetricChange]
    flips: list[Flip]


class BankResult(_Model):
    """The capability bank."""

    version: str
    sha256: Digest
    capabilities: Count


class ModelResult(_Model):
    """The embedding model."""

    id: str
    weightsSha256: Digest
    package: str


class HostResult(_Model):
    """The machine, without its name."""

    system: str
    machine: str
    python: str
    cpus: Count


class ProvenanceResult(_Model):
    """What a measurement was made with."""

    toolkitVersion: str
    gitCommit: str | None
    dirty: bool
    corpusVersion: int
    corpusSha256: Digest
    bank: BankResult
    model: ModelResult | None
    semanticRan: bool
    semanticSkipReason: str | None
    tokenEstimator: str | None
    libraries: dict[str, str | None]
    host: HostResult
    families: list[Family]
    flags: list[str]
    durationSeconds: Annotated[float, Field(ge=0)]


class EvaluationResult(_Model):
    """One run. Each family that ran has its member; `skipped` says what did not and why.

    `regressions` names the metrics of `diff` for which a run with --fail-on-regression failed.
    """

    schema_: Literal["discovercall-eval/1"] = Field(alias="schema")
    generatedAt: str
    provenance: ProvenanceResult
    discovery: ScopesResult | None = None
    rankers: RankersResult | None = None
    cases: list[CaseResult] | None = None
    heldOut: HeldOutResult | None = None
    hygiene: HygieneResult | None = None
    invocation: dict[str, Any] | None = None
    ergonomics: dict[str, Any] | None = None
    tokens: dict[str, Any] | None = None
    performance: dict[str, Any] | None = None
    cache: dict[str, Any] | None = None
    gates: list[GateResult]
    skipped: list[SkippedResult]
    verdict: Literal["pass", "fail"]
    regressions: list[str] = []
    diff: DiffResult | None = None


class ProblemsResult(_Model):
    """What is wrong with a corpus, nothing for a sound one, and which of its intents are too easy."""

    folder: str
    problems: list[str]
    warnings: list[FindingResult]
