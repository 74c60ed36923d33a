"""What a turn gives to whoever listens, in order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from discovercall.invocation.runtime.events import EventSource, EventStatus


class AnswerKind(StrEnum):
    """Who wrote an answer."""

    MODEL = "model"
    TEMPLATE = "template"


@dataclass(frozen=True, slots=True)
class AnswerDelta:
    """`answer_delta`: a piece of visible text of the answer with this number, from 0."""

    answer: int
    text: str


@dataclass(frozen=True, slots=True)
class AnswerCompleted:
    """`answer_completed`: an answer is whole."""

    answer: int
    kind: AnswerKind
    text: str


@dataclass(frozen=True, slots=True)
class EventDetected:
    """`event_detected`: somebody asked for an event; `event` is its place in the order of detection."""

    event: int
    name: str
    source: EventSource


@dataclass(frozen=True, slots=True)
class EventStatusChanged:
    """`event_status`: an event has a new status."""

    event: int
    name: str
    status: EventStatus
    reason: str | None


@dataclass(frozen=True, slots=True)
class TurnCompleted:
    """`turn_completed`: the turn is over and in the ledger."""

    turn_wall_time_ms: float
    session_open: bool


@dataclass(frozen=True, slots=True)
class ErrorOutput:
    """`error`: the turn failed, or was refused; a stable code, and a redacted message."""

    code: str
    message: str


Output = AnswerDelta | AnswerCompleted | EventDetected | EventStatusChanged | TurnCompleted | ErrorOutput
