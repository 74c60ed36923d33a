"""Answers that no ASGI response can give: resets, silence, bodies that stop half-way."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, cast

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

_TRANSPORT = "discovercall.transport"
_LINGER_ZERO = struct.pack("ii", 1, 0)  # close sends RST instead of FIN
_DISCONNECT_WAIT_S = 1.0


class TransportProtocol(H11Protocol):
    """HTTP/1.1 protocol that hands the application the connection's transport, in its scope."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Called by the event loop for each new connection."""
        super().connection_made(transport)
        inner = cast("Callable[[Any, Receive, Send], Awaitable[None]]", self.app)

        async def with_transport(scope: Any, receive: Receive, send: Send) -> None:
            await inner({**scope, _TRANSPORT: transport}, receive, send)

        self.app = cast("Any", with_transport)


async def pause(seconds: float, *until: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    """Wait for a time, or until the first of some events happens."""
    if seconds <= 0:
        return
    waiters = [asyncio.ensure_future(wait()) for wait in until]
    try:
        await asyncio.wait(waiters, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiters:
            waiter.cancel()
        await asyncio.gather(*waiters, return_exceptions=True)


class _RawResponse(Response):
    """A response that ends by cutting the connection.

    Args:
        stopping: set when the server stops; ends any silence.
    """

    def __init__(self, stopping: asyncio.Event) -> None:
        super().__init__()
        self._stopping = stopping

    async def _silence(self, seconds: float, receive: Receive) -> None:
        await pause(seconds, self._stopping.wait, cast("Callable[[], Coroutine[Any, Any, Any]]", receive))

    async def _gone(self, receive: Receive) -> None:
        """Until the server knows that the connection is closed; it would answer 500 otherwise."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DISCONNECT_WAIT_S):
                while (await receive())["type"] != "http.disconnect":
                    pass


class ResetResponse(_RawResponse):
    """No answer: the connection ends with a TCP reset."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        transport = scope[_TRANSPORT]
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
        transport.abort()
        await self._gone(receive)


class HangResponse(_RawResponse):
    """Silence, then the connection is closed without an answer."""

    def __init__(self, seconds: float, stopping: asyncio.Event) -> None:
        super().__init__(stopping)
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._silence(self._seconds, receive)
        scope[_TRANSPORT].close()
        await self._gone(receive)


class StalledBodyResponse(_RawResponse):
    """Status, headers and the first half of the body; then silence, then the connection is closed."""

    def __init__(
        self, status: int, body: bytes, headers: Mapping[str, str], seconds: float, stopping: asyncio.Event
    ) -> None:
        super().__init__(stopping)
        self._status, self._body, self._seconds = status, body, seconds
        self._fields = {**headers, "content-length": str(len(body))}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self._fields.items()]
        await send({"type": "http.response.start", "status": self._status, "headers": raw})
        half = self._body[: max(1, len(self._body) // 2)]
        await send({"type": "http.response.body", "body": half, "more_body": True})
        await self._silence(self._seconds, receive)
        scope[_TRANSPORT].close()
        await self._gone(receive)
