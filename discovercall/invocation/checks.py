"""What must hold after the turn of a case. Each check names what it expected and what it saw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from discovercall.invocation.cases import Expectation
from discovercall.invocation.runtime.events import EventSource, EventStatus
from discovercall.invocation.runtime.modes import AgentRole, ModeName
from discovercall.invocation.runtime.outputs import (
    AnswerCompleted,
    ErrorOutput,
    EventStatusChanged,
    Output,
)
from discovercall.invocation.runtime.store import SESSION_TERMINAL, Audit

_GOOD_FINISHES = (None, "stop", "tool_calls", "function_call")


@dataclass(frozen=True, slots=True)
class Failure:
    """An expectation that broke."""

    check: str
    expected: str
    saw: str


@dataclass(frozen=True, slots=True)
class Probe:
    """What a further send to a terminal session brought.

    Args:
        outputs: in order.
        new_calls: model calls that it caused.
    """

    outputs: tuple[Output, ...]
    new_calls: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that is known of a run whose turn was completed.

    Args:
        mode: the agent design.
        outputs: what was given out, in order.
        audit: what is in the session store.
        timed_calls: model calls that the timing wrapper saw.
        fallbacks: how often the EventAgent has to be asked; None where the model decides.
        probe: None where the session is not terminal.
    """

    mode: ModeName
    outputs: Sequence[Output]
    audit: Audit
    timed_calls: int
    fallbacks: int | None
    probe: Probe | None


def broken_expectations(expect: Expectation, evidence: Evidence) -> list[Failure]:
    """Every expectation that does not hold."""
    found: list[Failure] = []
    for check in (_answers, _event_names, _statuses, _sources, _order, _calls, _finishes, _stored, _session):
        found += check(expect, evidence)
    return found


def _answers(expect: Expectation, evidence: Evidence) -> Iterator[Failure]:
    saw = [answer.kind for answer in evidence.audit.answers]
    if saw != expect.answers:
        yield Failure("answers", _listed(expect.answers), _listed(saw))


def _event_names(expect: Expectation, evidence: Evidence) -> Iterator[Failure]:
    saw = [event.name for event in evidence.audit.events]
    if sorted(saw) != sorted(expect.events):
        yield Failure("events", _listed(expect.events), _listed(saw))


def _statuses(expect: Expectation, evidence: Evidence) -> Iterator[Failure]:
    for event in evidence.audit.events:
        if event.status != EventStatus.SUCCEEDED:
            reason = f" ({event.reason})" if event.reason else ""
            yield Failure("event status", f"{event.name} succeeded", f"{event.status}{reason}")
    shown = [output for output in evidence.outputs if isinstance(output, EventStatusChanged)]
    for event in evidence.audit.events:
        told = [output.status.value for output in shown if output.event == event.ordinal]
        wanted = ["accepted", event.status] if event.accepted else ["rejected"]
        if told != wanted:
            yield Failure("event status outputs", f"{event.name}: {_listed(wanted)}", _listed(told))


def _sources(expect: Expectation, evidence: Evidence) -> Iterator[Failure]:
    """A source has to be the one that detected: it follows from the mode and from who was asked."""
    fell_back = any(call.role == AgentRole.EVENT_AGENT for call in evidence.audit.calls)
    if evidence.mode is ModeName.CHAT_AGENT_TOOLS:
        wanted = EventSource.TOOL_CALL
    else:
        wanted = EventSource.EVENT_AGENT if fell_back else EventSource.CHAT_AGENT
    for event in evidence.audit.events:
        if event.source != wanted:
            yield Failure("event source", f"{event.name} from {wanted.value}", event.source)


def _order(expect: Expectation, evidence: Evidence) -> Iterator[Failure]:
    events, answers = evidence.audit.events, evidence.audit.answers
    ends = [event.completed_step for event in events if event.completed_step is not None]
    if ends and (not answers or answers[0].completed_step > min(ends)):
        saw = "no answer" if not answers else "an event ended before it"
        yield Failure("first answer", "whole before any event ends", saw)
    placed = [event for event in events if event.result_place is not None]
    results = [event.name for event in sorted(placed, key=lambda event: event.result_place or 0)]
    detected = [event.name for event in events]
    if results != detected:
        yield Failure("order of results", f"as detected: {_listed(detected)}", _listed(results))


def _calls(expect: Expectation, evidence: Evidence) -> Iterator[Failure]:
    roles = [call.role for call in evidence.audit.calls]
    turn = evidence.audit.turns[0]
    wanted = {AgentRole.CHAT_AGENT: 1, AgentRole.FOLLOW_UP: expect.follow_ups}
    if evidence.fallbacks is not None:
        wanted[AgentRole.EVENT_AGENT] = evidence.fallbacks
    elif evidence.mode is ModeName.DUAL_AGENT:
        wanted[AgentRole.EVENT_AGENT] = int(turn.directive != "usable")
    else:
        wanted[AgentRole.EVENT_AGENT] = 0
    for role, count in wanted.items():
        if roles.count(role) != count:
            yield Failure("model calls", f"{count} of {role.value}", str(roles.count(role)))
    if evidence.timed_calls != len(roles):
        yield Failure("model calls", f"{len(roles)} timed, as stored", str(evidence.timed_calls))
    if turn.fallback not in (None, "usable"):
        yield Failure("event agent", "a usable answer", str(turn.fallback))


def _finishes(expect: Expectation, evidence: Evidence) -> Iterator[Failure]:
    for call in evidence.audit.calls:
        if call.status != "completed" or call.finish_reason not in _GOOD_FINISHES:
            saw = call.status if call.status != "completed" else str(call.finish_reason)
            yield Failure("finish reason", f"{call.role}: stop or tool_calls", saw)


def _stored(expect: Expectation, evidence: Evidence) -> Iterator[Failure]:
    """What was given out and what is stored have to be the same."""
    given = [output.kind.value for output in evidence.outputs if isinstance(output, AnswerCompleted)]
    stored = [answer.kind for answer in evidence.audit.answers]
    if given != stored:
        yield Failure("answers given out", f"as stored: {_listed(stored)}", _listed(given))
    ends = [
        place
        for place, output in enumerate(evidence.outputs)
        if isinstance(output, EventStatusChanged) and output.status is not EventStatus.ACCEPTED
    ]
    first = next((p for p, o in enumerate(evidence.outputs) if isinstance(o, AnswerCompleted)), None)
    if ends and first is not None and first > min(ends):
        yield Failure("first answer given out", "before any event's end", "after it")
    statuses = [turn.status for turn in evidence.audit.turns]
    if statuses != ["completed"]:
        yield Failure("turns", "completed", _listed(statuses))


def _session(expect: Expectation, evidence: Evidence) -> Iterator[Failure]:
    if evidence.audit.state != expect.session:
        yield Failure("session", expect.session, evidence.audit.state)
    if evidence.audit.state != SESSION_TERMINAL:
        return
    probe = evidence.probe
    refused = probe is not None and [
        output.code for output in probe.outputs if isinstance(output, ErrorOutput)
    ] == ["session_terminal"]
    if probe is None or not refused or len(probe.outputs) != 1 or probe.new_calls:
        calls = 0 if probe is None else probe.new_calls
        saw = "no refusal" if not refused else f"{calls} model calls, or more than a refusal"
        yield Failure("a further send", "refused without a model call", saw)


def _listed(values: Sequence[str]) -> str:
    return ", ".join(values) or "none"
