"""Reads the chunks of a streamed chat completion, and what servers say when they refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from discovercall.foundation.ecma_json import JsonError, decode, loads
from discovercall.foundation.ecmascript import is_integer
from discovercall.foundation.token_usage import USAGE_FIELDS, chat_usage
from discovercall.invocation.runtime.chat import (
    ChatError,
    Finish,
    ReasoningDelta,
    StreamItem,
    TextDelta,
    ToolCallDelta,
    Usage,
)

_CODES = {401: "unauthorized", 403: "unauthorized", 429: "rate_limited"}
_REASONING_FIELDS = ("reasoning_content", "reasoning")
_WORD_LIMIT = 64
MAX_ANSWER = 2**18
"""Characters of text and of arguments that one answer may have."""


class ChunkReader:
    """Turns the data of server-sent events into stream items; one per call."""

    def __init__(self) -> None:
        self.finished = False
        self._refused = False
        self._visible = False
        self._calls: list[str | None] = []
        self._size = 0

    def items(self, data: str) -> Iterator[StreamItem]:
        """The items of one chunk.

        Raises:
            ChatError: the chunk is malformed, or is an error of the provider; the message is not redacted.
        """
        try:
            chunk = loads(data)
        except JsonError as error:
            raise _invalid(f"a chunk is not valid JSON ({error})") from None
        if not isinstance(chunk, dict):
            raise _invalid("a chunk is no JSON object")
        if chunk.get("error"):
            raise provider_error(None, chunk["error"])
        choices = chunk.get("choices")
        if choices is not None and not isinstance(choices, list):
            raise _invalid("choices is no list")
        for choice in choices or ():
            yield from self._choice(choice)
        usage = _usage(chunk.get("usage"))
        if usage is not None:
            yield usage

    def check_end(self) -> None:
        """To be called at the end of the stream.

        Raises:
            ChatError: the model refused, and said nothing else.
        """
        if self._refused and not self._visible:
            raise ChatError("refused", "the model refused to answer")

    def _choice(self, choice: Any) -> Iterator[StreamItem]:
        delta = choice.get("delta") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(delta, dict | None):
            raise _invalid("a choice is no object with a delta")
        if choice.get("index") not in (None, 0):
            return
        delta = delta or {}
        if any(delta.get(field) for field in _REASONING_FIELDS):
            yield ReasoningDelta()
        content = delta.get("content")
        if not isinstance(content, str | None):
            raise _invalid("content is no text")
        if content:
            self._visible = True
            self._grow(content)
            yield TextDelta(content)
        self._refused = self._refused or bool(delta.get("refusal"))
        calls = delta.get("tool_calls") or []
        if not isinstance(calls, list):
            raise _invalid("tool_calls is no list")
        for call in calls:
            yield self._tool_call(call)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.finished = True
            yield Finish(reason[:_WORD_LIMIT])

    def _tool_call(self, call: Any) -> ToolCallDelta:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict | None):
            raise _invalid("a tool call is no object with a function")
        name, arguments = (function or {}).get("name"), (function or {}).get("arguments")
        if not isinstance(name, str | None) or not isinstance(arguments, str | None):
            raise _invalid("a tool call's name or arguments are no text")
        call_id = call.get("id") if isinstance(call.get("id"), str) else None
        self._visible = True
        self._grow(arguments or "")
        return ToolCallDelta(self._index(call.get("index"), call_id), call_id, name or None, arguments or "")

    def _grow(self, text: str) -> None:
        self._size += len(text)
        if self._size > MAX_ANSWER:
            raise _invalid(f"the answer is longer than {MAX_ANSWER} characters")

    def _index(self, index: Any, call_id: str | None) -> int:
        if is_integer(index) and 0 <= index < 10_000:
            return int(index)
        # Some servers leave the index out: a new id begins a call, anything else goes on with the last.
        if not self._calls or (call_id and call_id != self._calls[-1]):
            self._calls.append(call_id)
        return len(self._calls) - 1


def provider_error(status: int | None, error: Any) -> ChatError:
    """The error that a server reports in its JSON; the message is not redacted.

    Args:
        status: of the response; None inside a stream.
        error: what stands under `error`.
    """
    found = error if isinstance(error, dict) else {"message": error}
    code = found.get("code")
    number = status if status is not None else (code if isinstance(code, int) else None)
    text = f"HTTP {status}" if status is not None else "the provider reports an error"
    if isinstance(code, str) and code:
        # In brackets: before a colon a code such as invalid_api_key would read as the name of a secret.
        text += f" ({code})"
    message = found.get("message")
    if isinstance(message, str) and message:
        text += f": {message}"
    return ChatError(_code(number), text)


def refusal(status: int, body: bytes, *, whole: bool) -> ChatError:
    """The error of a response that is no success; the message is not redacted.

    Args:
        status: of the response.
        body: its beginning.
        whole: whether that is all. Of a body that was cut nothing is told, for a secret in it may be cut too,
            and would no longer be recognised.
    """
    if 300 <= status < 400:
        return ChatError("request_refused", f"HTTP {status}: redirects are not followed")
    try:
        document = decode(body) if whole else None
    except JsonError:
        document = None
    return provider_error(status, document.get("error") if isinstance(document, dict) else None)


def _code(status: int | None) -> str:
    if status is None or status >= 500:
        return "provider_error"
    return _CODES.get(status, "request_refused")


def _usage(usage: Any) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    counts = chat_usage(usage, (*USAGE_FIELDS, "total_tokens"))
    return Usage(
        prompt=counts.get("prompt_tokens"),
        completion=counts.get("completion_tokens"),
        total=counts.get("total_tokens"),
        cached=counts.get("cached_tokens"),
    )


def _invalid(what: str) -> ChatError:
    return ChatError("invalid_stream", what)
