"""What the broker answers: one type per operation and one for failures, each with its document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from discovercall.gateway.store import CatalogStats

Decision = Literal["use", "ambiguous", "no_good_match", "catalog_empty"]
DECISIONS: tuple[Decision, ...] = ("use", "ambiguous", "no_good_match", "catalog_empty")
Confidence = Literal["high", "medium", "low"]
Operation = Literal["findTool", "describeTool", "callTool"]

ErrorType = Literal[
    "TOOL_NOT_FOUND",
    "CONFIG_ERROR",
    "ARGUMENT_VALIDATION_FAILED",
    "TOOL_SCHEMA_CHANGED",
    "DOWNSTREAM_SERVER_OFFLINE",
    "DOWNSTREAM_CALL_FAILED",
    "AUTH_UNAVAILABLE",
    "SEMANTIC_SEARCH_UNAVAILABLE",
]
ERROR_TYPES: tuple[ErrorType, ...] = (
    "TOOL_NOT_FOUND",
    "CONFIG_ERROR",
    "ARGUMENT_VALIDATION_FAILED",
    "TOOL_SCHEMA_CHANGED",
    "DOWNSTREAM_SERVER_OFFLINE",
    "DOWNSTREAM_CALL_FAILED",
    "AUTH_UNAVAILABLE",
)
"""The types that are ever returned; SEMANTIC_SEARCH_UNAVAILABLE is reserved."""

Precondition = Literal["server_online", "index_refreshed", "backoff"]


@dataclass(frozen=True, slots=True)
class Retry:
    """Whether the operation may be tried again, as data.

    Attributes:
        when: `never`, or `after` the precondition holds.
        precondition: what has to be true first; None with `never`.
        after_seconds: the least wait that makes sense; None where waiting does not help.
    """

    when: Literal["never", "after"] = "never"
    precondition: Precondition | None = None
    after_seconds: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The document's form."""
        result: dict[str, Any] = {"when": self.when}
        if self.precondition is not None:
            result["precondition"] = self.precondition
        if self.after_seconds is not None:
            result["afterSeconds"] = self.after_seconds
        return result


NEVER = Retry()


@dataclass(frozen=True, slots=True)
class BrokerError:
    """Why an operation failed and what to do about it.

    Attributes:
        type: one of `ERROR_TYPES`.
        message: what happened, secrets masked.
        agent_instruction: what the agent should do next.
        retryable: whether the very same request may be sent again, under `retry`.
        retry: the disposition as data. A changed schema is not retryable, for its arguments are stale, yet
            its `retry` says that the operation may be tried after a new index; so does that of a tool whose
            server was never read, for it may not exist.
        problems: of the arguments, each {field, rule, expected, got}.
    """

    type: ErrorType
    message: str
    agent_instruction: str
    retryable: bool = False
    retry: Retry = NEVER
    tool_ref: str | None = None
    server_id: str | None = None
    problems: tuple[Mapping[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The members of `error`."""
        result: dict[str, Any] = {
            "type": self.type,
            "retryable": self.retryable,
            "message": self.message,
            "agentInstruction": self.agent_instruction,
            "retry": self.retry.to_json(),
        }
        if self.tool_ref:
            result["toolRef"] = self.tool_ref
        if self.server_id:
            result["serverId"] = self.server_id
        if self.problems:
            result["problems"] = [dict(problem) for problem in self.problems]
        return result


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed operation."""

    error: BrokerError

    ok = False

    def to_json(self) -> dict[str, Any]:
        """The envelope `{ok: false, error: {...}}`."""
        return {"ok": False, "error": self.error.to_json()}


@dataclass(frozen=True, slots=True)
class NextAction:
    """The next operation: `arguments` satisfy its input schema, save that with an ambiguous decision the
    agent adds the reference of the candidate that it chooses."""

    tool: Operation
    arguments: Mapping[str, Any]
    reason: str
    tool_ref: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The document's form."""
        ref = {"toolRef": self.tool_ref} if self.tool_ref else {}
        return {"tool": self.tool, **ref, "arguments": dict(self.arguments), "reason": self.reason}


@dataclass(frozen=True, slots=True)
class FindResult:
    """What a search decided.

    The documents of `selected`, `candidates`, `alternatives` and the rest are built in `documents`; members
    that are empty are left out. `degraded` is no part of the document, whose instruction says it: the
    model failed, so that a later answer may be better.
    """

    query: str
    decision: Decision
    agent_instruction: str
    stats: CatalogStats
    selected_tool_ref: str | None = None
    confidence: Confidence | None = None
    reason: str | None = None
    selected: Mapping[str, Any] | None = None
    candidates: tuple[Mapping[str, Any], ...] = ()
    alternatives: tuple[Mapping[str, Any], ...] = ()
    likely_followups: tuple[Mapping[str, Any], ...] = ()
    avoid: tuple[str, ...] = ()
    next_action: NextAction | None = None
    scores: Mapping[str, Any] | None = None
    notices: tuple[str, ...] = ()
    cached_age_seconds: int | None = None
    degraded: bool = False

    ok = True

    def to_json(self) -> dict[str, Any]:
        """The whole document."""
        optional = {
            "selectedToolRef": self.selected_tool_ref,
            "confidence": self.confidence,
            "reason": self.reason,
            "selected": dict(self.selected) if self.selected else None,
            "candidates": [dict(item) for item in self.candidates],
            "alternatives": [dict(item) for item in self.alternatives],
            "likelyFollowupTools": [dict(item) for item in self.likely_followups],
            "avoid": list(self.avoid),
            "nextAction": self.next_action.to_json() if self.next_action else None,
            "scores": dict(self.scores) if self.scores else None,
            "notices": list(self.notices),
        }
        return {
            "query": self.query,
            "decision": self.decision,
            **{name: value for name, value in optional.items() if value},
            "catalogStats": self.stats.to_json(),
            "agentInstruction": self.agent_instruction,
            **_age(self.cached_age_seconds),
        }


@dataclass(frozen=True, slots=True)
class DescribeResult:
    """One tool with its exact schema."""

    tool_ref: str
    title: str
    description: str
    input_schema: Mapping[str, Any]
    recommended_call: Mapping[str, Any]
    status: Mapping[str, Any]
    usage_hints: tuple[str, ...] = ()
    examples: tuple[Mapping[str, Any], ...] = ()
    related_tools: tuple[Mapping[str, Any], ...] = ()
    notices: tuple[str, ...] = ()
    cached_age_seconds: int | None = None

    ok = True

    def to_json(self) -> dict[str, Any]:
        """The whole document."""
        optional = {
            "usageHints": list(self.usage_hints),
            "examples": [dict(item) for item in self.examples],
            "relatedTools": [dict(item) for item in self.related_tools],
            "notices": list(self.notices),
        }
        return {
            "toolRef": self.tool_ref,
            "title": self.title,
            "description": self.description,
            "inputSchema": dict(self.input_schema),
            "recommendedCall": dict(self.recommended_call),
            "status": dict(self.status),
            **{name: value for name, value in optional.items() if value},
            **_age(self.cached_age_seconds),
        }


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a tool answered.

    Attributes:
        result: the structured content, else the text; cut to the budget.
        summary: one line on the result.
        notices: what the agent has to know about the result.
        text: true where `result` is the tool's own text and not JSON.
    """

    tool_ref: str
    result: Any
    summary: str
    notices: tuple[str, ...] = ()
    cached_age_seconds: int | None = None
    text: bool = field(default=False, compare=False)

    ok = True

    def to_json(self) -> dict[str, Any]:
        """The whole document."""
        notices = {"notices": list(self.notices)} if self.notices else {}
        return {
            "ok": True,
            "toolRef": self.tool_ref,
            "result": self.result,
            "resultSummary": self.summary,
            **notices,
            **_age(self.cached_age_seconds),
        }


def _age(seconds: int | None) -> dict[str, int]:
    return {} if seconds is None else {"cachedAgeSeconds": seconds}


Answer = FindResult | DescribeResult | CallResult | Failure
