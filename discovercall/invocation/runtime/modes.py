"""The two agent designs. An agent serves one turn: it answers, detects events and follows up."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from discovercall.foundation.ecma_json import JsonError, loads
from discovercall.invocation.runtime.chat import Message, StreamItem, TextDelta, ToolCallDelta
from discovercall.invocation.runtime.directive import (
    DirectiveFilter,
    DirectiveState,
    Proposal,
    read_directive,
)
from discovercall.invocation.runtime.events import DetectedEvent, EventRegistry, EventSource
from discovercall.invocation.runtime.kernel import EventOutcome
from discovercall.invocation.runtime.prompts import (
    FOLLOW_UP_SYSTEM,
    dual_agent_system,
    event_agent_system,
    function_tools,
    results_message,
    tool_messages,
    tools_system,
)


class ModeName(StrEnum):
    """An agent design."""

    DUAL_AGENT = "dual_agent"
    CHAT_AGENT_TOOLS = "chat_agent_tools"


class AgentRole(StrEnum):
    """What a model call is for; a follow-up is the ChatAgent's, too."""

    CHAT_AGENT = "chat_agent"
    EVENT_AGENT = "event_agent"
    FOLLOW_UP = "follow_up"


Ask = Callable[..., AsyncGenerator[StreamItem]]
"""Makes a recorded model call: `ask(role, messages, tools=None, **parameters)`."""


@dataclass(frozen=True, slots=True)
class TurnInput:
    """What an agent works with in a turn.

    Args:
        history: the conversation before, without a system message.
        text: what the user says.
        registry: the events that are enabled.
        ask: makes model calls.
        parameters: request parameters of every call.
    """

    history: tuple[Message, ...]
    text: str
    registry: EventRegistry
    ask: Ask
    parameters: Mapping[str, Any]

    def messages(self, system: str) -> list[Message]:
        """The conversation up to the user's words."""
        return [
            {"role": "system", "content": system},
            *self.history,
            {"role": "user", "content": self.text},
        ]


class Agent(Protocol):
    """One agent design in one turn.

    Attributes:
        directive: what became of the directive block; None in a mode without.
        fallback: what the EventAgent's answer was like; None where it was not asked.
    """

    directive: DirectiveState | None
    fallback: DirectiveState | None

    def answer(self) -> AsyncGenerator[str]:
        """The visible text of the first answer, piece by piece."""
        ...

    async def detect(self) -> list[DetectedEvent]:
        """The events of the turn, after the answer has been read to its end."""
        ...

    def follow_up(self, outcomes: Sequence[EventOutcome]) -> AsyncGenerator[str]:
        """The visible text of a second answer, from all results in order of detection."""
        ...


class DualAgent:
    """The ChatAgent's answer ends with a directive; where that is unusable, the EventAgent is asked."""

    def __init__(self, turn: TurnInput) -> None:
        self._turn = turn
        self._filter = DirectiveFilter()
        self._visible = ""
        self.directive: DirectiveState | None = None
        self.fallback: DirectiveState | None = None

    async def answer(self) -> AsyncGenerator[str]:
        """See `Agent.answer`."""
        messages = self._turn.messages(dual_agent_system(self._turn.registry))
        reply = self._turn.ask(AgentRole.CHAT_AGENT, messages, **self._turn.parameters)
        async with contextlib.aclosing(_shown(reply, self._filter)) as texts:
            async for text in texts:
                self._visible += text
                yield text

    async def detect(self) -> list[DetectedEvent]:
        """See `Agent.detect`."""
        self.directive, proposals = self._filter.read()
        if self.directive is DirectiveState.USABLE:
            return _detected(proposals, EventSource.CHAT_AGENT)
        return await self.fall_back()

    async def fall_back(self) -> list[DetectedEvent]:
        """Ask the EventAgent about the same input."""
        messages = self._turn.messages(event_agent_system(self._turn.registry))
        parameters = {**self._turn.parameters, "response_format": {"type": "json_object"}}
        text = ""
        async with contextlib.aclosing(
            self._turn.ask(AgentRole.EVENT_AGENT, messages, **parameters)
        ) as items:
            async for item in items:
                if isinstance(item, TextDelta):
                    text += item.text
        self.fallback, proposals = read_directive(text)
        return _detected(proposals, EventSource.EVENT_AGENT)

    async def follow_up(self, outcomes: Sequence[EventOutcome]) -> AsyncGenerator[str]:
        """See `Agent.follow_up`. A directive in the second answer is not shown and not carried out."""
        messages = [
            *self._turn.messages(FOLLOW_UP_SYSTEM),
            {"role": "assistant", "content": self._visible},
            results_message(outcomes),
        ]
        reply = self._turn.ask(AgentRole.FOLLOW_UP, messages, **self._turn.parameters)
        async with contextlib.aclosing(_shown(reply, DirectiveFilter())) as texts:
            async for text in texts:
                yield text


class ChatAgentTools:
    """One ChatAgent that has the events as function tools."""

    def __init__(self, turn: TurnInput) -> None:
        self._turn = turn
        self._visible = ""
        self._calls: dict[int, _ToolCall] = {}
        self._tools = function_tools(turn.registry)
        self.directive: DirectiveState | None = None
        self.fallback: DirectiveState | None = None

    async def answer(self) -> AsyncGenerator[str]:
        """See `Agent.answer`."""
        messages = self._turn.messages(tools_system())
        reply = self._turn.ask(AgentRole.CHAT_AGENT, messages, tools=self._tools, **self._turn.parameters)
        async with contextlib.aclosing(reply) as items:
            async for item in items:
                if isinstance(item, TextDelta):
                    self._visible += item.text
                    yield item.text
                elif isinstance(item, ToolCallDelta):
                    self._calls.setdefault(item.index, _ToolCall()).add(item)

    async def detect(self) -> list[DetectedEvent]:
        """See `Agent.detect`."""
        name_of = self._turn.registry.name_of_function
        return [
            DetectedEvent(name_of(call.name), call.parsed(), EventSource.TOOL_CALL, call.id)
            for call in self._ordered()
        ]

    async def follow_up(self, outcomes: Sequence[EventOutcome]) -> AsyncGenerator[str]:
        """See `Agent.follow_up`. The tools are named, as servers want it, but may not be called."""
        calls = self._ordered()
        ids = [call.id or f"call_{number}" for number, call in enumerate(calls)]
        asked = [
            {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call, call_id in zip(calls, ids, strict=True)
        ]
        messages = [
            *self._turn.messages(tools_system()),
            {"role": "assistant", "content": self._visible or None, "tool_calls": asked},
            *tool_messages(outcomes, ids),
        ]
        reply = self._turn.ask(
            AgentRole.FOLLOW_UP,
            messages,
            tools=self._tools,
            **{**self._turn.parameters, "tool_choice": "none"},
        )
        async with contextlib.aclosing(reply) as items:
            async for item in items:
                if isinstance(item, TextDelta):
                    yield item.text

    def _ordered(self) -> list[_ToolCall]:
        return [self._calls[index] for index in sorted(self._calls)]


AGENTS: Mapping[ModeName, Callable[[TurnInput], Agent]] = {
    ModeName.DUAL_AGENT: DualAgent,
    ModeName.CHAT_AGENT_TOOLS: ChatAgentTools,
}


@dataclass(slots=True)
class _ToolCall:
    id: str | None = None
    name: str = ""
    arguments: str = ""

    def add(self, delta: ToolCallDelta) -> None:
        # Some servers repeat id and name in every piece.
        self.id = self.id or delta.id
        self.name = self.name or delta.name or ""
        self.arguments += delta.arguments

    def parsed(self) -> dict[str, Any] | None:
        try:
            value = loads(self.arguments) if self.arguments.strip() else {}
        except JsonError:
            return None
        return value if isinstance(value, dict) else None


async def _shown(reply: AsyncGenerator[StreamItem], block: DirectiveFilter) -> AsyncGenerator[str]:
    async with contextlib.aclosing(reply) as items:
        async for item in items:
            if isinstance(item, TextDelta) and (text := block.feed(item.text)):
                yield text
    if rest := block.finish():
        yield rest


def _detected(proposals: Sequence[Proposal], source: EventSource) -> list[DetectedEvent]:
    return [DetectedEvent(proposal.name, proposal.arguments, source) for proposal in proposals]
