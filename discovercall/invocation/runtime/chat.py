"""What a chat model is to the runtime: one call is a stream of typed items."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Message = dict[str, Any]
"""A message of the chat-completions format: `role`, `content`, and what tool calls need."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text, never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A sign that the model is reasoning. What it reasons is neither shown nor kept."""


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a tool call: `arguments` of one `index` are joined; id and name come once."""

    index: int
    id: str | None
    name: str | None
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call as the provider counts them; None where it does not say."""

    prompt: int | None
    completion: int | None
    total: int | None
    cached: int | None


@dataclass(frozen=True, slots=True)
class Finish:
    """Why the model stopped."""

    reason: str


StreamItem = TextDelta | ReasoningDelta | ToolCallDelta | Usage | Finish


class ChatError(Exception):
    """A model call that failed.

    Args:
        code: a stable word for what happened.
        message: what happened, redacted and short.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(f"{code}: {message}")


class ChatClient(Protocol):
    """A model that can be asked; every call is made once, never repeated."""

    def stream(
        self, messages: Sequence[Message], tools: Sequence[Any] | None = None, **parameters: Any
    ) -> AsyncGenerator[StreamItem]:
        """Ask and yield the answer as it comes; the generator has to be closed.

        Args:
            messages: the conversation.
            tools: function tools of the chat-completions format.
            parameters: further fields of the request.

        Raises:
            ChatError: the call failed; what was yielded before stays valid.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...
