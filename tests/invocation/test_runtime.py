"""The runtime as its listener sees it: outputs in order, sessions, history, and ends before the end."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from discovercall.invocation.runner import ModelUnderTest
from discovercall.invocation.runtime.builtin import built_in_events
from discovercall.invocation.runtime.chat import (
    ChatError,
    Finish,
    ReasoningDelta,
    StreamItem,
    TextDelta,
    ToolCallDelta,
)
from discovercall.invocation.runtime.kernel import EventKernel
from discovercall.invocation.runtime.modes import ModeName
from discovercall.invocation.runtime.outputs import (
    AnswerCompleted,
    AnswerDelta,
    ErrorOutput,
    EventDetected,
    EventStatusChanged,
    Output,
    TurnCompleted,
)
from discovercall.invocation.runtime.runtime import AgentRuntime
from discovercall.invocation.runtime.store import SessionStore
from tests.invocation.running import run_mock

NONE = '<directive>{"events":[]}</directive>'
VOLUME = '<directive>{"events":[{"name":"device.volume.adjust","arguments":{"change":5}}]}</directive>'
SEARCH = '<directive>{"events":[{"name":"knowledge.web.search","arguments":{"query":"tide"}}]}</directive>'
BYE = '<directive>{"events":[{"name":"session.terminate"}]}</directive>'


class Scripted:
    """Answers its calls one after another; an exception in a script is raised."""

    def __init__(self, *answers: Sequence[StreamItem | Exception | float]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[list[Any], list[Any] | None, dict[str, Any]]] = []
        self.closed = 0

    async def stream(
        self, messages: Sequence[Any], tools: Sequence[Any] | None = None, **parameters: Any
    ) -> AsyncGenerator[StreamItem]:
        self.asked.append((list(messages), None if tools is None else list(tools), parameters))
        for item in self.answers[len(self.asked) - 1]:
            if isinstance(item, Exception):
                raise item
            if isinstance(item, float):
                await asyncio.sleep(item)
            else:
                yield item

    async def aclose(self) -> None:
        self.closed += 1


class Agent:
    """A runtime with a scripted model, and its store."""

    def __init__(self, folder: Path, mode: ModeName, *answers: Any) -> None:
        self.model = Scripted(*answers)
        self.store = SessionStore(folder / "s.sqlite3", str)
        numbers = itertools.count(1)
        self.runtime = AgentRuntime(
            client=self.model,
            kernel=EventKernel(built_in_events(), time.monotonic),
            mode=mode,
            store=self.store,
            parameters={"temperature": 0},
            clock=lambda: 0.0,
            monotonic=time.monotonic,
            new_id=lambda: f"s{next(numbers)}",
        )

    async def say(self, text: str = "Hi") -> list[Output]:
        async with aclosing(self.runtime.send(text)) as outputs:
            return [output async for output in outputs]


def answer(*texts: str) -> list[StreamItem]:
    return [*map(TextDelta, texts), Finish("stop")]


def kinds(outputs: Sequence[Output]) -> list[str]:
    return [type(output).__name__ for output in outputs]


def test_the_acknowledgement_reaches_the_user_before_the_handler_ends(tmp_path: Path) -> None:
    async def run() -> None:
        agent = Agent(tmp_path, ModeName.DUAL_AGENT, answer("On ", "it.", VOLUME))
        agent.runtime.start_session()
        async with aclosing(agent.runtime.send("Louder")) as stream:
            seen: list[Output] = []
            async for output in stream:
                seen.append(output)
                if isinstance(output, AnswerCompleted):
                    # The listener has it while nothing was even detected.
                    assert agent.store.audit("s1").events == ()
        assert kinds(seen) == [
            "AnswerDelta",
            "AnswerDelta",
            "AnswerCompleted",
            "EventDetected",
            "EventStatusChanged",
            "EventStatusChanged",
            "TurnCompleted",
        ]
        assert "".join(o.text for o in seen if isinstance(o, AnswerDelta)) == "On it."
        assert [o.status.value for o in seen if isinstance(o, EventStatusChanged)] == [
            "accepted",
            "succeeded",
        ]

    asyncio.run(run())


def test_a_terminal_session_refuses_and_a_new_one_starts_afresh(tmp_path: Path) -> None:
    async def run() -> None:
        agent = Agent(
            tmp_path, ModeName.DUAL_AGENT, answer("Hello.", NONE), answer("Bye.", BYE), answer("Hi.", NONE)
        )
        assert agent.runtime.start_session() == "s1"
        await agent.say("One")
        last = (await agent.say("Two"))[-1]
        assert isinstance(last, TurnCompleted)
        assert not last.session_open
        assert await agent.say("Three") == [ErrorOutput("session_terminal", "the session has ended")]
        assert len(agent.model.asked) == 2
        assert agent.runtime.start_session() == "s2"
        await agent.say("Four")
        assert [m["content"] for m in agent.model.asked[2][0][1:]] == ["Four"]
        assert [agent.store.audit(s).state for s in ("s1", "s2")] == ["terminal", "open"]

    asyncio.run(run())


def test_a_turn_knows_what_was_said_before(tmp_path: Path) -> None:
    async def run() -> None:
        agent = Agent(tmp_path, ModeName.DUAL_AGENT, answer("Hello.", NONE), answer("Fine.", NONE))
        agent.runtime.start_session()
        await agent.say("One")
        await agent.say("Two")
        messages = agent.model.asked[1][0]
        assert [(m["role"], m["content"]) for m in messages[1:]] == [
            ("user", "One"),
            ("assistant", "Hello."),
            ("user", "Two"),
        ]

    asyncio.run(run())


def test_without_a_session_and_during_a_turn_nothing_is_sent(tmp_path: Path) -> None:
    async def run() -> None:
        agent = Agent(tmp_path, ModeName.DUAL_AGENT, answer("Hello.", NONE))
        assert [o.code for o in await agent.say() if isinstance(o, ErrorOutput)] == ["no_session"]
        agent.runtime.start_session()
        async with aclosing(agent.runtime.send("One")) as stream:
            await anext(stream)
            assert [o.code for o in await agent.say() if isinstance(o, ErrorOutput)] == ["turn_in_progress"]
        assert len(agent.model.asked) == 1

    asyncio.run(run())


def test_a_turn_that_nobody_listens_to_is_abandoned_and_the_session_goes_on(tmp_path: Path) -> None:
    async def run() -> None:
        agent = Agent(tmp_path, ModeName.DUAL_AGENT, [TextDelta("Hm"), 60.0], answer("Hello.", NONE))
        agent.runtime.start_session()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await agent.say("One")
        assert isinstance((await agent.say("Two"))[-1], TurnCompleted)
        audit = agent.store.audit("s1")
        assert [turn.status for turn in audit.turns] == ["abandoned", "completed"]
        assert [call.status for call in audit.calls] == ["running", "completed"]
        assert [m["content"] for m in agent.model.asked[1][0][1:]] == ["Two"]

    asyncio.run(run())


def test_a_failed_call_ends_the_turn_with_its_error(tmp_path: Path) -> None:
    async def run() -> None:
        agent = Agent(tmp_path, ModeName.CHAT_AGENT_TOOLS, [TextDelta("Hm"), ChatError("x", "why")])
        agent.runtime.start_session()
        outputs = await agent.say()
        assert outputs[-1] == ErrorOutput("x", "why")
        audit = agent.store.audit("s1")
        assert [(t.status, t.error_code, t.error_message) for t in audit.turns] == [("failed", "x", "why")]
        assert audit.answers == ()
        await agent.runtime.aclose()
        assert agent.model.closed == 1

    asyncio.run(run())


def test_the_event_agent_is_asked_on_the_same_input_and_for_json(tmp_path: Path) -> None:
    async def run() -> None:
        search = '{"events":[{"name":"knowledge.web.search","arguments":{"query":"tide"}}]}'
        agent = Agent(
            tmp_path,
            ModeName.DUAL_AGENT,
            answer("Hello.", NONE),
            answer("Looking."),
            answer(search),
            answer("Found."),
        )
        agent.runtime.start_session()
        await agent.say("One")
        outputs = await agent.say("Two")
        (_, _, first), (_, tools, fallback), (_, _, follow_up) = agent.model.asked[1:]
        assert first == follow_up == {"temperature": 0}
        assert fallback == {"temperature": 0, "response_format": {"type": "json_object"}}
        assert tools is None
        assert agent.model.asked[2][0][1:] == agent.model.asked[1][0][1:]
        assert "JSON" in agent.model.asked[2][0][0]["content"]
        assert [(o.name, o.source.value) for o in outputs if isinstance(o, EventDetected)] == [
            ("knowledge.web.search", "event_agent")
        ]
        assert [o.text for o in outputs if isinstance(o, AnswerCompleted)] == ["Looking.", "Found."]

    asyncio.run(run())


def test_a_follow_up_gets_the_results_and_shows_no_directive(tmp_path: Path) -> None:
    async def run() -> None:
        agent = Agent(tmp_path, ModeName.DUAL_AGENT, answer("Looking.", SEARCH), answer("Found. ", VOLUME))
        agent.runtime.start_session()
        outputs = await agent.say("Tides?")
        assert [o.text for o in outputs if isinstance(o, AnswerCompleted)] == ["Looking.", "Found."]
        assert [o.name for o in outputs if isinstance(o, EventDetected)] == ["knowledge.web.search"]
        *_, told = agent.model.asked[1][0]
        assert "Tide tables" in told["content"]

    asyncio.run(run())


def test_tool_results_answer_their_calls_in_order(tmp_path: Path) -> None:
    async def run() -> None:
        agent = Agent(
            tmp_path,
            ModeName.CHAT_AGENT_TOOLS,
            [
                TextDelta("On it."),
                ToolCallDelta(0, "a", "device_volume_adjust", '{"change":'),
                ToolCallDelta(1, "b", "knowledge_web_search", '{"query":"tide"}'),
                ToolCallDelta(0, None, None, "5}"),
                ToolCallDelta(2, "c", "no_such", "{}"),
                ToolCallDelta(3, "d", "device_volume_adjust", "no JSON"),
                Finish("tool_calls"),
            ],
            answer("Found."),
        )
        agent.runtime.start_session()
        outputs = await agent.say()
        messages, tools, parameters = agent.model.asked[1]
        assert [m["tool_call_id"] for m in messages if m["role"] == "tool"] == ["a", "b", "c", "d"]
        assert parameters == {"temperature": 0, "tool_choice": "none"}
        assert tools == agent.model.asked[0][1]
        statuses = {event.name: event.status for event in agent.store.audit("s1").events[:3]}
        assert statuses == {
            "device.volume.adjust": "succeeded",
            "knowledge.web.search": "succeeded",
            "no_such": "rejected",
        }
        assert agent.store.audit("s1").events[3].reason == "invalid_arguments"
        assert [o.answer for o in outputs if isinstance(o, AnswerCompleted)] == [0, 1]

    asyncio.run(run())


def test_an_event_that_does_not_work_is_told_in_one_sentence(tmp_path: Path) -> None:
    block = (
        '<directive>{"events":[{"name":"calendar.schedule.create","arguments":'
        '{"title":"A","start":"2031-02-30T10:00","duration_minutes":5}}]}</directive>'
    )

    async def run() -> None:
        agent = Agent(tmp_path, ModeName.DUAL_AGENT, answer("On it.", block))
        agent.runtime.start_session()
        outputs = await agent.say()
        answers = [(o.kind.value, o.text) for o in outputs if isinstance(o, AnswerCompleted)]
        assert answers == [("model", "On it."), ("template", "That did not work.")]

    asyncio.run(run())


def test_blank_text_is_no_answer(tmp_path: Path) -> None:
    async def run() -> None:
        agent = Agent(tmp_path, ModeName.CHAT_AGENT_TOOLS, answer(" ", "\n"))
        agent.runtime.start_session()
        assert kinds(await agent.say()) == ["TurnCompleted"]
        assert agent.store.audit("s1").turns[0].first_visible_ms is None

    asyncio.run(run())


def test_reasoning_is_a_first_token_and_no_visible_text() -> None:
    class Clock:
        now = 0.0

    class Thinking(Scripted):
        async def stream(self, *arguments: Any, **parameters: Any) -> AsyncGenerator[StreamItem]:
            for item in (
                ReasoningDelta(),
                ReasoningDelta(),
                TextDelta(" \n"),
                TextDelta("Hello."),
                Finish("stop"),
            ):
                Clock.now += 1
                yield item

    (run,) = run_mock(
        cases=("ordinary_chat",),
        modes=("chat_agent_tools",),
        make_model=lambda case, mode: ModelUnderTest(Thinking(), None),
        monotonic=lambda: Clock.now,
    )
    assert run.passed
    # Seconds 1 and 2 bring reasoning, 3 white space, 4 the first text that can be seen, 5 the end.
    assert (run.first_token_ms, run.first_visible_ms) == (1000, 4000)
    assert (run.model_calls[0].elapsed_ms, run.turn_wall_time_ms) == (5000, 5000)
