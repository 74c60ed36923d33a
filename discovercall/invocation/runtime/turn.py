"""One turn: the first answer, the events that it brings about, and what becomes of their results."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence

from discovercall.invocation.runtime.events import DetectedEvent, EventStatus, ResultPolicy
from discovercall.invocation.runtime.kernel import Dispatch, EventKernel, EventOutcome
from discovercall.invocation.runtime.ledger import TurnLedger
from discovercall.invocation.runtime.modes import Agent
from discovercall.invocation.runtime.outputs import (
    AnswerCompleted,
    AnswerDelta,
    AnswerKind,
    EventDetected,
    EventStatusChanged,
    Output,
)

_FAILED = "That did not work."


class Turn:
    """A turn in its steps; what was given out is in the ledger before.

    Args:
        agent: answers and detects.
        kernel: carries events out.
        ledger: of this turn.
        end_session: called when an event has ended the session.
    """

    def __init__(
        self, agent: Agent, kernel: EventKernel, ledger: TurnLedger, end_session: Callable[[], None]
    ) -> None:
        self.agent = agent
        self.kernel = kernel
        self.ledger = ledger
        self.end_session = end_session
        self.spoken: list[str] = []
        self.dispatch: Dispatch = kernel.dispatch(())

    async def outputs(self) -> AsyncGenerator[Output]:
        """Everything up to the end of the turn. The first answer is whole before a handler starts.

        Raises:
            ChatError: a model call failed.
        """
        for step in (self.first_answer, self.events, self.results):
            async with contextlib.aclosing(step()) as outputs:
                async for output in outputs:
                    yield output

    async def first_answer(self) -> AsyncGenerator[Output]:
        """The model's answer to the user's words."""
        async with contextlib.aclosing(self.speak(AnswerKind.MODEL, self.agent.answer())) as outputs:
            async for output in outputs:
                yield output

    async def events(self) -> AsyncGenerator[Output]:
        """Detection, and the handlers."""
        detected: Sequence[DetectedEvent] = await self.agent.detect()
        self.ledger.directive(self.agent.directive, self.agent.fallback)
        self.dispatch = self.kernel.dispatch(detected)
        for outcome in self.dispatch.outcomes:
            self.ledger.detected(outcome)
            yield EventDetected(outcome.ordinal, outcome.event.name, outcome.event.source)
        async with contextlib.aclosing(self.dispatch.changes()) as changes:
            async for change in changes:
                self.ledger.changed(change)
                outcome = change.outcome
                reason = outcome.reason if change.status is outcome.status else None
                yield EventStatusChanged(outcome.ordinal, outcome.event.name, change.status, reason)
        self.ledger.results(self.dispatch.results)

    async def results(self) -> AsyncGenerator[Output]:
        """What the policies make of the results: sentences, a second answer, the end of the session."""
        for sentence in self.sentences():
            async with contextlib.aclosing(self.speak(AnswerKind.TEMPLATE, _once(sentence))) as outputs:
                async for output in outputs:
                    yield output
        if self.needs_follow_up():
            texts = self.agent.follow_up(self.dispatch.results)
            async with contextlib.aclosing(self.speak(AnswerKind.MODEL, texts)) as outputs:
                async for output in outputs:
                    yield output
        if any(outcome.status is EventStatus.SUCCEEDED for outcome in self._ran(ResultPolicy.TERMINAL)):
            self.end_session()

    def sentences(self) -> list[str]:
        """One fixed sentence for each event of the policy `template` that ran."""
        return [_sentence(outcome) for outcome in self._ran(ResultPolicy.TEMPLATE)]

    def needs_follow_up(self) -> bool:
        """True where an event ran whose result the model is to tell."""
        return bool(self._ran(ResultPolicy.MODEL_FOLLOWUP))

    async def speak(self, kind: AnswerKind, texts: AsyncGenerator[str]) -> AsyncGenerator[Output]:
        """Give out one answer piece by piece; blank text alone is no answer."""
        number = self.ledger.next_answer()
        said = ""
        async with contextlib.aclosing(texts):
            async for text in texts:
                visible = text if said else text.lstrip()
                if visible:
                    said += visible
                    self.ledger.shown()
                    yield AnswerDelta(number, visible)
        if said:
            self.ledger.answered(kind, said)
            self.spoken.append(said)
            yield AnswerCompleted(number, kind, said)

    def _ran(self, policy: ResultPolicy) -> list[EventOutcome]:
        return [
            outcome
            for outcome in self.dispatch.results
            if outcome.status is not EventStatus.REJECTED
            and outcome.definition is not None
            and outcome.definition.policy is policy
        ]


def _sentence(outcome: EventOutcome) -> str:
    definition = outcome.definition
    if outcome.result is None or definition is None or definition.template is None:
        return _FAILED
    return definition.template(outcome.event.arguments or {}, outcome.result)


async def _once(text: str) -> AsyncGenerator[str]:
    yield text
