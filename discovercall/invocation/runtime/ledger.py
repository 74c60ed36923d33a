"""Writes one turn into the session store as it happens."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from discovercall.foundation.json_text import compact
from discovercall.invocation.runtime.chat import ChatClient, ChatError, Finish, Message, StreamItem, Usage
from discovercall.invocation.runtime.directive import DirectiveState
from discovercall.invocation.runtime.events import EventStatus
from discovercall.invocation.runtime.kernel import EventOutcome, StatusChange
from discovercall.invocation.runtime.modes import AgentRole
from discovercall.invocation.runtime.outputs import AnswerKind
from discovercall.invocation.runtime.store import SessionStore
from discovercall.invocation.runtime.timing import Monotonic

_NAME_LIMIT = 64


class TurnLedger:
    """The rows of one turn; the turn begins with the ledger.

    Answers and ends of events share one count of steps, which says afterwards what came first.

    Args:
        store: the session store.
        session_id: the session.
        text: what the user says.
        monotonic: the clock of the turn's times.
    """

    def __init__(self, store: SessionStore, session_id: str, text: str, monotonic: Monotonic) -> None:
        self._store = store
        self._monotonic = monotonic
        self._step = 0
        self._answers = 0
        self._visible = False
        self._started = monotonic()
        self._turn = store.insert("turns", session_id=session_id, input=text, status="running")

    async def call(
        self,
        client: ChatClient,
        role: AgentRole,
        messages: Sequence[Message],
        tools: Sequence[Any] | None = None,
        **parameters: Any,
    ) -> AsyncGenerator[StreamItem]:
        """Make a model call that is kept with its tokens and its finish reason."""
        row = {"id": self._store.insert("model_calls", turn_id=self._turn, role=role.value, status="running")}
        finish: str | None = None
        usage: Usage | None = None
        status = "running"
        try:
            async with contextlib.aclosing(client.stream(messages, tools, **parameters)) as items:
                async for item in items:
                    if isinstance(item, Finish):
                        finish = item.reason
                    elif isinstance(item, Usage):
                        usage = item
                    yield item
            status = "completed"
        except ChatError:
            status = "failed"
            raise
        finally:
            tokens = usage or Usage(None, None, None, None)
            self._store.update(
                "model_calls",
                row,
                status=status,
                finish_reason=finish,
                prompt_tokens=tokens.prompt,
                completion_tokens=tokens.completion,
                total_tokens=tokens.total,
                cached_tokens=tokens.cached,
            )

    def next_answer(self) -> int:
        """The number of the answer that begins."""
        return self._answers

    def shown(self) -> None:
        """Visible text was given out; the first time counts."""
        if not self._visible:
            self._visible = True
            self._update(first_visible_ms=self._elapsed_ms())

    def answered(self, kind: AnswerKind, text: str) -> None:
        """An answer is whole."""
        self._store.insert(
            "answers",
            turn_id=self._turn,
            ordinal=self._answers,
            kind=kind.value,
            text=text,
            completed_step=self._next_step(),
        )
        self._answers += 1

    def directive(self, directive: DirectiveState | None, fallback: DirectiveState | None) -> None:
        """How the events were detected."""
        self._update(
            directive=None if directive is None else directive.value,
            fallback=None if fallback is None else fallback.value,
        )

    def detected(self, outcome: EventOutcome) -> None:
        """An event was detected and checked."""
        event = outcome.event
        self._store.insert(
            "events",
            turn_id=self._turn,
            ordinal=outcome.ordinal,
            name=event.name[:_NAME_LIMIT],
            source=event.source.value,
            arguments=None if event.arguments is None else compact(event.arguments),
            status=outcome.status.value,
            reason=outcome.reason,
            accepted=outcome.status is EventStatus.ACCEPTED,
        )

    def changed(self, change: StatusChange) -> None:
        """An event has a new status."""
        if change.status in (EventStatus.ACCEPTED, EventStatus.REJECTED):
            return
        self._store.update(
            "events",
            {"turn_id": self._turn, "ordinal": change.outcome.ordinal},
            status=change.status.value,
            reason=change.outcome.reason,
            handler_latency_ms=change.outcome.handler_latency_ms,
            completed_step=self._next_step(),
        )

    def results(self, outcomes: Sequence[EventOutcome]) -> None:
        """The results are in, in this order."""
        for place, outcome in enumerate(outcomes):
            self._store.update(
                "events", {"turn_id": self._turn, "ordinal": outcome.ordinal}, result_place=place
            )

    def completed(self) -> float:
        """The turn is over; returns its wall time in milliseconds."""
        return self._end("completed")

    def failed(self, code: str, message: str) -> None:
        """The turn failed."""
        self._end("failed")
        self._update(error_code=code, error_message=message)

    def abandoned(self) -> None:
        """Nobody listens any more."""
        self._end("abandoned")

    def _end(self, status: str) -> float:
        elapsed = self._elapsed_ms()
        self._update(status=status, turn_wall_time_ms=elapsed)
        return elapsed

    def _elapsed_ms(self) -> float:
        return (self._monotonic() - self._started) * 1000

    def _next_step(self) -> int:
        self._step += 1
        return self._step

    def _update(self, **values: Any) -> None:
        self._store.update("turns", {"id": self._turn}, **values)
