"""A runtime that goes wrong fails the cases that are there to catch it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from discovercall.invocation.runtime.events import EventSource, EventStatus, ResultPolicy
from discovercall.invocation.runtime.kernel import Dispatch
from discovercall.invocation.runtime.ledger import TurnLedger
from discovercall.invocation.runtime.modes import ChatAgentTools, DualAgent
from discovercall.invocation.runtime.outputs import AnswerKind
from discovercall.invocation.runtime.runtime import AgentRuntime
from discovercall.invocation.runtime.turn import Turn
from tests.invocation.running import MODES, run_mock

Patch = Callable[[pytest.MonkeyPatch], None]


def answer_after_events(patch: pytest.MonkeyPatch) -> None:
    async def outputs(self: Turn) -> AsyncGenerator[Any]:
        texts = [text async for text in self.agent.answer()]

        async def again() -> AsyncGenerator[str]:
            for text in texts:
                yield text

        async for output in self.events():
            yield output
        async for output in self.speak(AnswerKind.MODEL, again()):
            yield output
        async for output in self.results():
            yield output

    patch.setattr(Turn, "outputs", outputs)


def template_before_answer(patch: pytest.MonkeyPatch) -> None:
    async def outputs(self: Turn) -> AsyncGenerator[Any]:
        texts = [text async for text in self.agent.answer()]

        async def again() -> AsyncGenerator[str]:
            for text in texts:
                yield text

        async for output in self.events():
            yield output
        async for output in self.results():
            yield output
        async for output in self.speak(AnswerKind.MODEL, again()):
            yield output

    patch.setattr(Turn, "outputs", outputs)


def answer_given_out_late(patch: pytest.MonkeyPatch) -> None:
    """The ledger is right, but the listener gets the first answer after the events."""
    original = Turn.outputs

    async def outputs(self: Turn) -> AsyncGenerator[Any]:
        everything = [output async for output in original(self)]
        answers = [output for output in everything if hasattr(output, "answer")]
        for output in [output for output in everything if output not in answers] + answers:
            yield output

    patch.setattr(Turn, "outputs", outputs)


def follow_up_for_silent(patch: pytest.MonkeyPatch) -> None:
    original = Turn.needs_follow_up
    patch.setattr(
        Turn, "needs_follow_up", lambda self: original(self) or bool(self._ran(ResultPolicy.SILENT))
    )


def two_templates(patch: pytest.MonkeyPatch) -> None:
    original = Turn.sentences
    patch.setattr(Turn, "sentences", lambda self: original(self) * 2)


def no_template(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Turn, "sentences", lambda self: [])


def no_second_answer(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Turn, "needs_follow_up", lambda self: False)


def no_fallback(patch: pytest.MonkeyPatch) -> None:
    async def fall_back(self: DualAgent) -> list[Any]:
        return []

    patch.setattr(DualAgent, "fall_back", fall_back)


def completion_order(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Dispatch, "results", property(lambda self: self.completed))


def session_left_open(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AgentRuntime, "_end_session", lambda self: None)


def session_said_to_be_ended(patch: pytest.MonkeyPatch) -> None:
    """The database says terminal, but the session goes on."""
    original = AgentRuntime._end_session

    def end(self: AgentRuntime) -> None:
        original(self)
        self._state = "open"

    patch.setattr(AgentRuntime, "_end_session", end)


def wrong_source(patch: pytest.MonkeyPatch) -> None:
    for agent in (DualAgent, ChatAgentTools):
        original = agent.detect

        async def detect(self: Any, original: Any = original) -> list[Any]:
            import dataclasses

            wrong = {
                EventSource.CHAT_AGENT: EventSource.EVENT_AGENT,
                EventSource.EVENT_AGENT: EventSource.CHAT_AGENT,
                EventSource.TOOL_CALL: EventSource.CHAT_AGENT,
            }
            found = await original(self)
            return [dataclasses.replace(event, source=wrong[event.source]) for event in found]

        patch.setattr(agent, "detect", detect)


def events_twice(patch: pytest.MonkeyPatch) -> None:
    for agent in (DualAgent, ChatAgentTools):
        original = agent.detect

        async def detect(self: Any, original: Any = original) -> list[Any]:
            return list(await original(self)) * 2

        patch.setattr(agent, "detect", detect)


def status_kept_back(patch: pytest.MonkeyPatch) -> None:
    original = TurnLedger.changed

    def changed(self: TurnLedger, change: Any) -> None:
        if change.status is not EventStatus.SUCCEEDED:
            original(self, change)

    patch.setattr(TurnLedger, "changed", changed)


EVENTFUL = {
    "device_volume_silent",
    "calendar_schedule_template",
    "web_search_two_answers",
    "session_terminate",
    "parallel_volume_schedule",
}
BOTH = set(MODES)
DUAL = {"dual_agent"}


@pytest.mark.parametrize(
    ("mutation", "cases", "modes", "checks"),
    [
        (answer_after_events, EVENTFUL - {"session_terminate"}, BOTH, {"first answer"}),
        (template_before_answer, {"calendar_schedule_template"}, BOTH, {"answers", "first answer"}),
        (answer_given_out_late, EVENTFUL, BOTH, {"first answer given out"}),
        (follow_up_for_silent, {"device_volume_silent"}, BOTH, {"answers", "model calls"}),
        (two_templates, {"calendar_schedule_template", "parallel_volume_schedule"}, BOTH, {"answers"}),
        (no_template, {"calendar_schedule_template", "parallel_volume_schedule"}, BOTH, {"answers"}),
        (no_second_answer, {"web_search_two_answers"}, BOTH, {"answers", "model calls"}),
        (no_fallback, {"web_search_two_answers", "session_terminate"}, DUAL, {"events", "model calls"}),
        (completion_order, {"parallel_volume_schedule"}, BOTH, {"order of results"}),
        (session_left_open, {"session_terminate"}, BOTH, {"session"}),
        (session_said_to_be_ended, {"session_terminate"}, BOTH, {"a further send"}),
        (wrong_source, EVENTFUL, BOTH, {"event source"}),
        (events_twice, EVENTFUL - {"web_search_two_answers"}, BOTH, {"events"}),
        (status_kept_back, EVENTFUL, BOTH, {"event status", "event status outputs"}),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_mutation_fails_the_cases_that_should_catch_it(
    monkeypatch: pytest.MonkeyPatch, mutation: Patch, cases: set[str], modes: set[str], checks: set[str]
) -> None:
    mutation(monkeypatch)
    runs = run_mock()
    failed = {(run.case, run.mode) for run in runs if not run.passed}
    expected = {(case, mode) for case in cases for mode in modes}
    assert expected <= failed
    for run in runs:
        if (run.case, run.mode) in expected:
            assert run.error is None
            assert checks <= {failure.check for failure in run.failures}
            assert all(failure.expected != failure.saw for failure in run.failures)
        elif run.case == "ordinary_chat":
            assert run.passed


def test_a_failure_names_what_was_expected_and_what_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    two_templates(monkeypatch)
    (run,) = run_mock(cases=("calendar_schedule_template",), modes=("dual_agent",))
    (failure,) = run.failures
    assert (failure.check, failure.expected, failure.saw) == (
        "answers",
        "model, template",
        "model, template, template",
    )
