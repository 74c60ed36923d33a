"""A run as the report tells it, from the session store and the timing wrapper alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from discovercall.foundation.shown import plain_tree
from discovercall.invocation.checks import Failure
from discovercall.invocation.redaction import SecretRedactor
from discovercall.invocation.report_model import ErrorReport, RunReport
from discovercall.invocation.runtime.modes import AgentRole, ModeName
from discovercall.invocation.runtime.store import Audit, StoredCall
from discovercall.invocation.runtime.timing import CallTiming

_KINDS = ("prompt", "completion", "total", "cached")


@dataclass(frozen=True, slots=True)
class Measured:
    """What was stored and timed of one session's turn; calls in the order in which they were made."""

    session_id: str
    audit: Audit
    timings: Sequence[CallTiming]


def run_report(
    *,
    case: str,
    mode: ModeName,
    iteration: int,
    measured: Measured,
    failures: Sequence[Failure],
    error: ErrorReport | None,
    redact: SecretRedactor,
) -> RunReport:
    """Put one run together. Every text that came from the model or the server is redacted, and is plain."""
    audit, timings = measured.audit, measured.timings
    turn = audit.turns[0] if audit.turns else None
    roles = [call.role for call in audit.calls]
    calls = [_call(stored, timing) for stored, timing in zip(audit.calls, timings, strict=False)]
    report = {
        "case": case,
        "mode": mode.value,
        "iteration": iteration,
        "session_id": measured.session_id,
        "passed": error is None and not failures,
        "failures": [asdict(failure) for failure in failures],
        "error": None if error is None else error.model_dump(),
        "first_token_ms": _ms(timings[0].first_token_ms) if timings else None,
        "first_visible_ms": _ms(turn.first_visible_ms) if turn else None,
        "turn_wall_time_ms": _ms(turn.turn_wall_time_ms) if turn else None,
        "tokens": _sums(audit.calls),
        "chat_agent_calls": len(roles) - roles.count(AgentRole.EVENT_AGENT),
        "event_agent_fallbacks": roles.count(AgentRole.EVENT_AGENT),
        "directive": turn.directive if turn else None,
        "answers": [answer.kind for answer in audit.answers],
        "model_calls": calls,
        "events": [
            {
                "name": event.name,
                "source": event.source,
                "status": event.status,
                "reason": event.reason,
                "handler_latency_ms": _ms(event.handler_latency_ms),
            }
            for event in audit.events
        ],
    }
    return RunReport.model_validate(plain_tree(redact.tree(report)))


def _call(stored: StoredCall, timing: CallTiming) -> dict[str, Any]:
    return {
        "role": stored.role,
        "status": stored.status,
        "finish_reason": stored.finish_reason,
        "first_token_ms": _ms(timing.first_token_ms),
        "elapsed_ms": _ms(timing.elapsed_ms),
        "tokens": {kind: getattr(stored, f"{kind}_tokens") for kind in _KINDS},
    }


def _sums(calls: Sequence[StoredCall]) -> dict[str, int | None]:
    return {kind: _sum([getattr(call, f"{kind}_tokens") for call in calls]) for kind in _KINDS}


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    # A sum that leaves a call out would be too low, and no call at all is no 0.
    return sum(known) if known and len(known) == len(values) else None


def _ms(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
