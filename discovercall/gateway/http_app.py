"""The capability API over HTTP: routes, authorization, journal, faults and revision headers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from discovercall.foundation.digests import sha256_of_json
from discovercall.foundation.ecma_json import JsonError, decode
from discovercall.foundation.json_text import compact_bytes
from discovercall.gateway.capability_api import CapabilityApi, Reply, failure
from discovercall.gateway.faults import Effect, FaultPlan, Operation
from discovercall.gateway.journal import RequestJournal
from discovercall.gateway.keys import BearerKey
from discovercall.gateway.wire import HangResponse, ResetResponse, StalledBodyResponse, pause

PREFIX = "/api/v1"
MAX_BODY_BYTES = 8 * 2**20
BODY_LIMIT_S = 30.0
_DISCARDED_BYTES = 2**20
_DISCARD_LIMIT_S = 1.0
_NAME_CHARACTERS = 256
_PATHS: dict[Operation, str] = {
    "search": "/search",
    "inspect": "/tools/by-ids",
    "execute": "/tools/execute",
}


class HttpFace:
    """Turns requests into operations of the capability API.

    Args:
        api: answers the operations.
        api_key: the only accepted bearer key.
        faults: what goes wrong on purpose.
        journal: takes a line for each request on arrival.
    """

    def __init__(self, api: CapabilityApi, api_key: str, faults: FaultPlan, journal: RequestJournal) -> None:
        self._api = api
        self._key = BearerKey(api_key)
        self._faults = faults
        self._journal = journal
        self.stopping = asyncio.Event()
        """To be set in the server's loop when it stops: ends waits that faults asked for."""

    def application(self) -> Starlette:
        """The ASGI application; it needs `wire.TransportProtocol` for its faults."""
        routes = [
            Route(PREFIX + path, self._endpoint(operation), methods=["POST"])
            for operation, path in _PATHS.items()
        ]
        routes.append(Route("/healthz", self._health, methods=["GET"]))
        return Starlette(routes=routes, exception_handlers={HTTPException: self._http_error})

    def _endpoint(self, operation: Operation) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await self._answer(operation, request)

        return endpoint

    async def _answer(self, operation: Operation, request: Request) -> Response:
        if not self._key.is_in(request.scope["headers"]):
            return await self._turned_away(operation, request)
        try:
            body = await _body(request)
        except _Refused as refused:
            return self._response(refused.reply)
        tool_id = request.query_params.get("tool_id") if operation == "execute" else None
        effect = self._faults.strike(operation, body, tool_id)
        self._journal.arrived(
            operation=operation,
            session_id=_bounded(body.get("session_id")) if isinstance(body, dict) else None,
            tool_id=_bounded(tool_id),
            parameters_sha256=_parameters_digest(body) if operation == "execute" else None,
            authorized=True,
            fault=_named(effect),
        )
        effect = effect or Effect()
        await pause(effect.latency_ms / 1000, self.stopping.wait)
        if effect.reset:
            return ResetResponse(self.stopping)
        if effect.hang_s is not None:
            return HangResponse(effect.hang_s, self.stopping)
        return self._response(await self._reply(operation, tool_id, body, effect), effect)

    async def _turned_away(self, operation: Operation, request: Request) -> Response:
        """The answer to a client without the key: nothing that it says is looked at or kept."""
        self._journal.turned_away(
            operation=operation,
            session_id=None,
            tool_id=None,
            parameters_sha256=None,
            authorized=False,
            fault=None,
        )
        await _discard(request)
        response = self._response(failure(401, "the Authorization header has no valid bearer key"))
        response.headers["connection"] = "close"  # what is still to come of the body is not waited for
        return response

    async def _reply(self, operation: Operation, tool_id: str | None, body: Any, effect: Effect) -> Reply:
        status = effect.status or (429 if effect.retry_after is not None else None)
        if status is not None:
            return failure(status, "scripted failure")
        if operation == "search":
            reply = self._api.search(body)
        elif operation == "inspect":
            reply = self._api.inspect(body)
        else:
            # A real server behind the gateway may take its time; others are answered meanwhile.
            reply = await asyncio.to_thread(self._api.execute, tool_id, body)
        return _emptied(reply, operation) if effect.empty else reply

    def _response(self, reply: Reply, effect: Effect | None = None) -> Response:
        effect = effect or Effect()
        body = compact_bytes(reply.payload)
        if effect.pad_bytes:
            body = body[:-1] + b',"padding":"' + b"x" * effect.pad_bytes + b'"}'
        if effect.bad_json:
            body = body[: len(body) // 2]
        headers = self._headers()
        if effect.retry_after is not None:
            value = effect.retry_after
            headers["retry-after"] = value if isinstance(value, str) else f"{value:g}"
        if effect.body_hang_s is not None:
            return StalledBodyResponse(reply.status, body, headers, effect.body_hang_s, self.stopping)
        return Response(body, reply.status, headers)

    def _headers(self) -> dict[str, str]:
        return {
            "content-type": "application/json",
            "x-qveris-api-version": self._api.api_version,
            "x-qveris-catalog-version": self._api.catalog_version,
        }

    async def _health(self, request: Request) -> Response:
        tools, servers = self._api.size()
        payload = {"status": "ok", "tools": tools, "servers": servers}
        return self._response(Reply(200, payload))

    async def _http_error(self, request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        paths = ", ".join(f"POST {PREFIX}{path}" for path in _PATHS.values())
        return self._response(failure(status, f"not an operation of this API; known are {paths}"))


class _Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        self.reply = failure(status, message)
        super().__init__(message)


async def _body(request: Request) -> Any:
    data = bytearray()
    try:
        async with asyncio.timeout(BODY_LIMIT_S):
            async for chunk in request.stream():
                data += chunk
                if len(data) > MAX_BODY_BYTES:
                    raise _Refused(413, f"the body is over {MAX_BODY_BYTES} bytes")
    except TimeoutError:
        raise _Refused(408, f"the body did not arrive within {BODY_LIMIT_S:g} s") from None
    except ClientDisconnect:
        raise _Refused(400, "the body was cut off") from None
    try:
        return decode(bytes(data))
    except JsonError as error:
        raise _Refused(400, f"the body is not JSON ({error})") from None


async def _discard(request: Request) -> None:
    """Take a small body off the wire, for a connection closed over unread bytes can lose the answer."""
    seen = 0
    with contextlib.suppress(TimeoutError, ClientDisconnect):
        async with asyncio.timeout(_DISCARD_LIMIT_S):
            async for chunk in request.stream():
                seen += len(chunk)
                if seen > _DISCARDED_BYTES:
                    return


def _bounded(text: Any) -> str | None:
    """A name as the journal keeps it; what is no text is not kept."""
    return text[:_NAME_CHARACTERS] if isinstance(text, str) else None


def _parameters_digest(body: Any) -> str | None:
    """Tells calls apart without keeping what was asked."""
    return sha256_of_json(body.get("parameters")) if isinstance(body, dict) else None


def _named(effect: Effect | None) -> str | None:
    """The name of the effect that decides the answer, for the journal."""
    if effect is None:
        return None
    idle = Effect()
    names = [name for name in Effect.__slots__ if getattr(effect, name) != getattr(idle, name)]
    return "+".join(names) or "none"


def _emptied(reply: Reply, operation: Operation) -> Reply:
    if operation == "execute":
        return Reply(reply.status, reply.payload | {"result": None})
    return Reply(reply.status, reply.payload | {"results": [], "total": 0})
