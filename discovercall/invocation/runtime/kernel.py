"""The event kernel: checks detected events, runs their handlers side by side, keeps results in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any

from discovercall.invocation.runtime.events import (
    DetectedEvent,
    EventDefinition,
    EventRegistry,
    EventStatus,
    Result,
)
from discovercall.invocation.runtime.timing import Monotonic

MAX_EVENTS_PER_TURN = 4


@dataclass(slots=True)
class EventOutcome:
    """What became of one detected event.

    Attributes:
        ordinal: its place in the order of detection, from 0.
        event: as detected.
        definition: None where the name is not known.
        status: where it stands.
        reason: a stable word for a status that is no success.
        result: what the handler returned.
        handler_latency_ms: how long the handler took; None where it did not run.
    """

    ordinal: int
    event: DetectedEvent
    definition: EventDefinition | None
    status: EventStatus
    reason: str | None = None
    result: Result | None = None
    handler_latency_ms: float | None = None


@dataclass(frozen=True, slots=True)
class StatusChange:
    """An event has a new status."""

    outcome: EventOutcome
    status: EventStatus


class EventKernel:
    """Carries out events.

    Args:
        registry: the events that are enabled.
        monotonic: the clock that handlers are timed with.
        max_events: events of one turn; what comes beyond is rejected.
    """

    def __init__(
        self, registry: EventRegistry, monotonic: Monotonic, max_events: int = MAX_EVENTS_PER_TURN
    ) -> None:
        self.registry = registry
        self._monotonic = monotonic
        self._max_events = max_events

    def dispatch(self, events: Sequence[DetectedEvent]) -> Dispatch:
        """Check the events of one turn; their handlers start with `Dispatch.changes`."""
        outcomes = [self._check(ordinal, event) for ordinal, event in enumerate(events)]
        return Dispatch(outcomes, self._monotonic)

    def _check(self, ordinal: int, event: DetectedEvent) -> EventOutcome:
        definition = self.registry.get(event.name)
        reason = None
        if ordinal >= self._max_events:
            reason = "too_many_events"
        elif definition is None:
            reason = "unknown_event"
        elif event.arguments is None or not self.registry.fits(event.name, event.arguments):
            reason = "invalid_arguments"
        status = EventStatus.ACCEPTED if reason is None else EventStatus.REJECTED
        return EventOutcome(ordinal, event, definition, status, reason)


class Dispatch:
    """The events of one turn on their way.

    Args:
        outcomes: checked, in the order of detection.
        monotonic: the clock that handlers are timed with.
    """

    def __init__(self, outcomes: Sequence[EventOutcome], monotonic: Monotonic) -> None:
        self.outcomes = tuple(outcomes)
        self.completed: list[EventOutcome] = []
        self._monotonic = monotonic

    @property
    def results(self) -> Sequence[EventOutcome]:
        """All outcomes in the order of detection, whatever the order of completion."""
        return self.outcomes

    async def changes(self) -> AsyncGenerator[StatusChange]:
        """Run the handlers; yields accepted and rejected in order of detection, then ends as they come.

        Closing the generator cancels the handlers that still run.
        """
        checked = [StatusChange(outcome, outcome.status) for outcome in self.outcomes]
        changes: asyncio.Queue[StatusChange] = asyncio.Queue()
        tasks = [
            asyncio.create_task(self._carry_out(outcome, outcome.definition, changes))
            for outcome in self.outcomes
            if outcome.definition is not None and outcome.status is EventStatus.ACCEPTED
        ]
        try:
            for change in checked:
                yield change
            for _ in tasks:
                yield await changes.get()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _carry_out(
        self, outcome: EventOutcome, definition: EventDefinition, changes: asyncio.Queue[StatusChange]
    ) -> None:
        started = self._monotonic()
        try:
            status, reason, result = await _ended(definition, outcome.event.arguments or {})
        finally:
            outcome.handler_latency_ms = (self._monotonic() - started) * 1000
        outcome.status, outcome.reason, outcome.result = status, reason, result
        self.completed.append(outcome)
        changes.put_nowait(StatusChange(outcome, status))


async def _ended(
    definition: EventDefinition, arguments: dict[str, Any]
) -> tuple[EventStatus, str | None, Result | None]:
    limit = asyncio.timeout(definition.time_limit_s)
    try:
        async with limit:
            return EventStatus.SUCCEEDED, None, await definition.handler(arguments)
    except TimeoutError:
        if limit.expired():
            return EventStatus.TIMED_OUT, "time_limit", None
        return EventStatus.FAILED, "handler_error", None
    except Exception:
        # What a handler says in its exception may hold anything, so it is not passed on.
        return EventStatus.FAILED, "handler_error", None
