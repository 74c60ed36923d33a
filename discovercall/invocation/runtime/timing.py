"""Times the calls of any chat client."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from discovercall.invocation.runtime.chat import (
    ChatClient,
    Message,
    ReasoningDelta,
    StreamItem,
    TextDelta,
    ToolCallDelta,
    Usage,
)

Monotonic = Callable[[], float]
"""Seconds on a clock that never goes back."""


@dataclass(slots=True)
class CallTiming:
    """Moments of one call, in seconds on the wrapper's clock.

    Attributes:
        started: before the request was sent.
        first_token: the first item that carries something of the model's: text, reasoning or a tool call.
            None where there was none.
        ended: when the stream ended, in whatever way; None while it is open.
        usage: the last that the provider told.
    """

    started: float
    first_token: float | None = None
    ended: float | None = None
    usage: Usage | None = None

    @property
    def first_token_ms(self) -> float | None:
        """Milliseconds from the start to the first token."""
        return None if self.first_token is None else (self.first_token - self.started) * 1000

    @property
    def elapsed_ms(self) -> float | None:
        """Milliseconds from start to end."""
        return None if self.ended is None else (self.ended - self.started) * 1000


class TimedChatClient:
    """A chat client that passes on what another one yields and keeps the times in `calls`.

    Args:
        client: the client that is timed.
        monotonic: the clock.
    """

    def __init__(self, client: ChatClient, monotonic: Monotonic) -> None:
        self._client = client
        self._monotonic = monotonic
        self.calls: list[CallTiming] = []

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[Any] | None = None, **parameters: Any
    ) -> AsyncGenerator[StreamItem]:
        """See `ChatClient.stream`."""
        timing = CallTiming(self._monotonic())
        self.calls.append(timing)
        try:
            async with contextlib.aclosing(self._client.stream(messages, tools, **parameters)) as items:
                async for item in items:
                    if timing.first_token is None and isinstance(
                        item, TextDelta | ReasoningDelta | ToolCallDelta
                    ):
                        timing.first_token = self._monotonic()
                    if isinstance(item, Usage):
                        timing.usage = item
                    yield item
        finally:
            timing.ended = self._monotonic()

    async def aclose(self) -> None:
        """Close the client."""
        await self._client.aclose()
