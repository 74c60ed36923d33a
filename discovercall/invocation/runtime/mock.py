"""A chat client without a model: replays a fixed stream for each kind of call. It opens no socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from discovercall.invocation.runtime.chat import (
    ChatError,
    Finish,
    Message,
    ReasoningDelta,
    StreamItem,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from discovercall.invocation.runtime.modes import AgentRole
from discovercall.invocation.runtime.prompts import EVENT_AGENT_OPENING, FOLLOW_UP_SYSTEM

Script = Mapping[AgentRole, Sequence[StreamItem]]
"""What each kind of call is answered with."""


class MockChatClient:
    """Answers by what a call is for, as told from its messages, the way a model would.

    Args:
        script: the streams of one case in one mode.
    """

    def __init__(self, script: Script) -> None:
        self._script = script

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[Any] | None = None, **parameters: Any
    ) -> AsyncGenerator[StreamItem]:
        """See `ChatClient.stream`."""
        del tools, parameters
        role = role_of(messages)
        if role not in self._script:
            raise ChatError("mock_without_answer", f"the mock has no answer for a call of {role.value}")
        for item in self._script[role]:
            await asyncio.sleep(0)
            yield item

    async def aclose(self) -> None:
        """Nothing to let go of."""


def role_of(messages: Sequence[Message]) -> AgentRole:
    """What a call is for."""
    system = str(messages[0]["content"])
    if system == FOLLOW_UP_SYSTEM or messages[-1]["role"] == "tool":
        return AgentRole.FOLLOW_UP
    return AgentRole.EVENT_AGENT if system.startswith(EVENT_AGENT_OPENING) else AgentRole.CHAT_AGENT


def stream_item(value: Mapping[str, Any]) -> StreamItem:
    """One item of a script: `{"text": …}`, `{"reasoning": true}`, `{"tool_call": {…}}`, `{"usage": {…}}` or
    `{"finish": …}`.

    Raises:
        KeyError, TypeError: it is none of these.
    """
    if "text" in value:
        return TextDelta(value["text"])
    if "reasoning" in value:
        return ReasoningDelta()
    if "tool_call" in value:
        call = value["tool_call"]
        return ToolCallDelta(call["index"], call.get("id"), call.get("name"), call.get("arguments", ""))
    if "usage" in value:
        return Usage(**value["usage"])
    return Finish(value["finish"])
