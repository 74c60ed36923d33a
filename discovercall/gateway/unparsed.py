"""Messages that the MCP SDK can't read: an error for the request that they belong to, at once.

The SDK drops them, and whoever waits for the answer waits for the whole time limit.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

from discovercall.gateway.message_limit import CUT_MARK, TOO_LONG

INVALID_ANSWER = "the server's answer is no valid MCP message"
INVALID_REQUEST = "the message is no valid MCP message"
_ID = re.compile(r'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")')


@contextlib.asynccontextmanager
async def answers_checked(transport: AbstractAsyncContextManager[Any]) -> AsyncIterator[tuple[Any, Any]]:
    """A client's transport whose unreadable answers arrive as errors."""
    async with transport as (read, write), _relayed(read, None) as checked:
        yield checked, write


@contextlib.asynccontextmanager
async def requests_checked(transport: AbstractAsyncContextManager[Any]) -> AsyncIterator[tuple[Any, Any]]:
    """A server's transport whose unreadable requests are answered with errors."""
    async with transport as (read, write), _relayed(read, write) as checked:
        yield checked, write


@contextlib.asynccontextmanager
async def _relayed(read: Any, peer: Any) -> AsyncIterator[Any]:
    import anyio

    send, receive = anyio.create_memory_object_stream[Any](0)

    async def relay() -> None:
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async with send:
                async for item in read:
                    if not isinstance(item, Exception):
                        await send.send(item)
                    elif peer is not None:
                        await peer.send(_error(request_id(item), INVALID_REQUEST))
                    elif (number := request_id(item)) is not None:
                        told = TOO_LONG if _is_cut(item) else INVALID_ANSWER
                        await send.send(_error(number, told))

    async with anyio.create_task_group() as group:
        group.start_soon(relay)
        try:
            yield receive
        finally:
            group.cancel_scope.cancel()
            receive.close()


def request_id(error: Exception) -> int | str | None:
    """The id in the line that an error is about; None where it holds none."""
    for text in _inputs(error):
        try:
            value = json.loads(text) if isinstance(text, str) else text
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            number = value.get("id")
            return number if isinstance(number, (int, str)) and not isinstance(number, bool) else None
        if isinstance(text, str) and text.lstrip().startswith("{") and (found := _ID.search(text)):
            number = found[1]
            return number[1:-1] if number.startswith('"') else int(number)
    return None


def _is_cut(error: Exception) -> bool:
    return any(isinstance(text, str) and text[-200:].rstrip().endswith(CUT_MARK) for text in _inputs(error))


def _inputs(error: Exception) -> Iterator[Any]:
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        for problem in error.errors(include_url=False, include_context=False):
            yield problem["input"]


def _error(number: int | str | None, message: str) -> Any:
    from mcp.shared.message import SessionMessage
    from mcp.types import PARSE_ERROR, ErrorData, JSONRPCError

    return SessionMessage(
        JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=PARSE_ERROR, message=message))
    )
