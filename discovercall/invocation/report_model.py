"""The report of a benchmark: what `report.json` holds. The Markdown is made from the same model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0)]
Milliseconds = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=-1, le=1)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Mode = Literal["dual_agent", "chat_agent_tools"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class FailureReport(_Model):
    """An expectation that broke: what was expected, and what was seen."""

    check: str
    expected: str
    saw: str


class ErrorReport(_Model):
    """Why a run has no completed turn: a stable code, and a redacted, shortened message."""

    code: str
    message: str


class Tokens(_Model):
    """Tokens over all model calls of a run; null where the provider did not say for one of them."""

    prompt: Count | None
    completion: Count | None
    total: Count | None
    cached: Count | None


class ModelCallReport(_Model):
    """One model call; times from its start. `first_token_ms` is null where no token came."""

    role: Literal["chat_agent", "event_agent", "follow_up"]
    status: Literal["completed", "failed", "running"]
    finish_reason: str | None
    first_token_ms: Milliseconds | None
    elapsed_ms: Milliseconds | None
    tokens: Tokens


class EventReport(_Model):
    """One detected event, in order of detection."""

    name: str
    source: Literal["chat_agent", "event_agent", "tool_call"]
    status: Literal["accepted", "succeeded", "failed", "rejected", "timed_out"]
    reason: str | None
    handler_latency_ms: Milliseconds | None


class RunReport(_Model):
    """One run of one case in one mode. Its spans overlap and must not be added up."""

    case: str
    mode: Mode
    iteration: Annotated[int, Field(ge=1)]
    session_id: str
    passed: bool
    failures: list[FailureReport]
    error: ErrorReport | None
    first_token_ms: Milliseconds | None
    first_visible_ms: Milliseconds | None
    turn_wall_time_ms: Milliseconds | None
    tokens: Tokens
    chat_agent_calls: Count
    event_agent_fallbacks: Count
    directive: Literal["usable", "missing", "malformed"] | None
    answers: list[Literal["model", "template"]]
    model_calls: list[ModelCallReport]
    events: list[EventReport]


class Quantiles(_Model):
    """Quantiles over the successful runs that have a value; a p95 of fewer than 20 is of low confidence."""

    samples: Count
    p50: float | None
    p95: float | None
    p95_low_confidence: bool


class TokenTotal(_Model):
    """A sum over the runs that have a value; null where none has."""

    total: Count | None
    runs_with_value: Count


class TokenTotals(_Model):
    """Sums over all runs, failed ones too."""

    prompt: TokenTotal
    completion: TokenTotal
    total: TokenTotal
    cached: TokenTotal


class Cell(_Model):
    """All runs of one case in one mode."""

    case: str
    mode: Mode
    runs: Count
    passed: Count
    metrics: dict[str, Quantiles]
    tokens: TokenTotals


class Gap(_Model):
    """Pass rates, first mode minus second, the case as the unit; `p_value` of the exact sign-flip test."""

    difference: Share
    interval_95: tuple[Share, Share]
    p_value: Annotated[float, Field(ge=0, le=1)]
    better: list[str]
    equal: list[str]
    worse: list[str]
    differing_cases_needed: Count
    smallest_detectable: Share | None
    cases_needed_for_5_points: Count | None


class PairedLatency(_Model):
    """Differences in milliseconds, first mode minus second, over runs of one case and iteration that passed
    in both; no interval below 20 pairs."""

    pairs: Count
    median_difference_ms: float | None
    interval_95_ms: tuple[float, float] | None


class ModeComparison(_Model):
    """Two modes side by side. No winner is declared."""

    first: Mode
    second: Mode
    cases: Count
    runs_per_case: Count
    design_effect_first: float | None
    design_effect_second: float | None
    gap: Gap
    latency: dict[str, PairedLatency]


class Toolkit(_Model):
    """The code that measured."""

    version: str
    commit: str | None
    dirty: bool


class Settings(_Model):
    """What was run; model and base URL are null for the mock."""

    client: Literal["live", "mock"]
    model: str | None
    base_url: str | None
    modes: list[Mode]
    cases: list[str]
    cases_sha256: Digest
    runs_per_case: Annotated[int, Field(ge=1)]
    timeout_s: Annotated[float, Field(gt=0)]


class Report(_Model):
    """A whole benchmark: runs in the order case, mode, iteration."""

    schema_version: Literal[1]
    generated_at: str
    toolkit: Toolkit
    settings: Settings
    passed: bool
    runs_planned: Count
    runs_passed: Count
    runs: list[RunReport]
    cells: list[Cell]
    tokens: TokenTotals
    comparison: ModeComparison | None
