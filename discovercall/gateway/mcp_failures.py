"""Why a step over an MCP connection failed, in the broker's terms."""

from __future__ import annotations

from discovercall.gateway.downstream import (
    AuthRefusedError,
    CallRefusedError,
    DownstreamError,
    ServerOfflineError,
    TransportLostError,
)
from discovercall.gateway.mcp_connection import Connection
from discovercall.gateway.message_limit import ENCODED, TOO_LONG
from discovercall.gateway.unparsed import INVALID_ANSWER

_SHOWN = 400  # characters of a foreign message
_CLOSED = -32000  # MCP's code for a connection that ended under a request


def failure_of(error: BaseException, connection: Connection, *, connecting: bool) -> DownstreamError:
    """What an error means, secrets masked.

    Args:
        error: what the SDK raised.
        connection: where.
        connecting: whether nothing can have been executed yet.
    """
    from mcp import MCPError

    causes = _causes(error)
    if connection.refused_status is not None:
        return AuthRefusedError(f"HTTP status {connection.refused_status}")
    said = next((str(cause) for cause in causes if str(cause)), type(error).__name__)
    told = connection.mask.message(said)[:_SHOWN]  # once cut, a secret would no longer be known as one
    for limit in (TOO_LONG, ENCODED):
        if any(limit in str(cause) for cause in causes):
            return ServerOfflineError(limit) if connecting else TransportLostError(limit)
    if any(_is_unreadable(cause) for cause in causes):
        return ServerOfflineError(INVALID_ANSWER) if connecting else CallRefusedError(INVALID_ANSWER)
    for cause in causes:
        if isinstance(cause, MCPError) and not connecting and cause.code != _CLOSED:
            return CallRefusedError(f"{told} (code {cause.code})")
    words = connection.last_words()
    detail = f"{told}; it said: {words}" if words else told
    return ServerOfflineError(detail) if connecting else TransportLostError(detail)


def _is_unreadable(error: BaseException) -> bool:
    """Whether the SDK could not read an answer; what it says then holds parts of the answer, already cut."""
    from mcp import MCPError
    from mcp.types import PARSE_ERROR
    from pydantic import ValidationError

    if isinstance(error, MCPError):
        said = str(error)
        return error.code == PARSE_ERROR and (said == INVALID_ANSWER or said.startswith("Failed to parse "))
    return isinstance(error, ValidationError)


def _causes(error: BaseException) -> list[BaseException]:
    """An error, what it groups and what it came from."""
    found: list[BaseException] = []
    waiting = [error]
    while waiting and len(found) < 32:
        current = waiting.pop(0)
        if current in found:
            continue
        found.append(current)
        if isinstance(current, BaseExceptionGroup):
            waiting += list(current.exceptions)
        waiting += [e for e in (current.__cause__, current.__context__) if e is not None]
    # Groups only repeat how many they hold.
    return [e for e in found if not isinstance(e, BaseExceptionGroup)] or found
