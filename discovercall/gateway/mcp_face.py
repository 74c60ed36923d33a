"""The broker as an MCP server with exactly three tools."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from discovercall.foundation.json_text import compact
from discovercall.gateway.cache import BrokerLike
from discovercall.gateway.keys import BearerKey
from discovercall.gateway.operations import (
    OPERATIONS,
    carry_out,
    definitions,
    instructions,
    server_ids,
)
from discovercall.gateway.results import Answer, CallResult, Operation
from discovercall.gateway.unparsed import requests_checked

if TYPE_CHECKING:
    from mcp.server import Server
    from starlette.types import ASGIApp, Receive, Scope, Send

NAME = "discovercall"
PATH = "/mcp"


@dataclass(frozen=True, slots=True)
class Rendered:
    """An answer as MCP content: text blocks, whether it is an error, and metadata that clients may ignore."""

    blocks: tuple[str, ...]
    is_error: bool
    meta: dict[str, Any]


def render(answer: Answer) -> Rendered:
    """What a client gets for an answer.

    A result of callTool is bare: its text byte for byte, or its JSON, compact. Notices and the age of a
    cached answer are a second block. Everything else is one block of compact JSON.
    """
    if not isinstance(answer, CallResult):
        return Rendered((compact(answer.to_json()),), not answer.ok, {})
    payload = answer.result if answer.text else compact(answer.result)
    notices = [f"[{NAME}] {notice}" for notice in answer.notices]
    if answer.cached_age_seconds is not None:
        notices.append(f"[{NAME}] cachedAgeSeconds: {answer.cached_age_seconds}")
    blocks = (payload, "\n".join(notices)) if notices else (payload,)
    return Rendered(blocks, False, {"toolRef": answer.tool_ref, "resultSummary": answer.summary})


def build_server(broker: BrokerLike, *, version: str, list_servers: bool = True) -> Server[Any]:
    """The MCP server of a broker.

    Args:
        broker: answers; used from worker threads.
        version: what the server says of itself.
        list_servers: name the servers behind the broker in what clients read first.
    """
    import anyio
    from mcp import MCPError
    from mcp.server import Server
    from mcp.types import (
        INVALID_PARAMS,
        CallToolRequestParams,
        CallToolResult,
        ListToolsResult,
        TextContent,
        Tool,
    )

    def names() -> list[str]:
        return server_ids(broker.source) if list_servers else []

    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(
            tools=[
                Tool(name=tool["name"], description=tool["description"], inputSchema=tool["inputSchema"])
                for tool in definitions(names())
            ]
        )

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        operation: Operation | None = next((name for name in OPERATIONS if name == params.name), None)
        if operation is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name[:80]}")
        work = partial(carry_out, broker, operation, params.arguments or {})
        rendered = render(await anyio.to_thread.run_sync(work, abandon_on_cancel=True))
        return CallToolResult(
            content=[TextContent(type="text", text=block) for block in rendered.blocks],
            isError=rendered.is_error,
            **({"_meta": rendered.meta} if rendered.meta else {}),
        )

    return Server(
        NAME,
        version=version,
        instructions=instructions(names()),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve_stdio(broker: BrokerLike, *, version: str, list_servers: bool = True) -> None:
    """Serve one client over the standard streams until it closes them."""
    import anyio
    from mcp import stdio_server

    async def run() -> None:
        server = build_server(broker, version=version, list_servers=list_servers)
        async with requests_checked(stdio_server()) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)


def serve_http(
    broker: BrokerLike,
    listener: socket.socket,
    *,
    api_key: str,
    version: str,
    list_servers: bool = True,
    on_stop: Callable[[], None] = lambda: None,
) -> None:
    """Serve over streamable HTTP in the foreground until SIGINT or SIGTERM.

    Args:
        broker: answers.
        listener: a listening socket on a loopback address.
        api_key: the bearer key that clients must send, for the tools behind the broker act for its owner.
        version: what the server says of itself.
        list_servers: name the servers behind the broker.
        on_stop: called once when the server has stopped, also after a signal.

    Raises:
        KeyboardInterrupt: after a clean stop by SIGINT.
    """
    from discovercall.gateway.foreground import SignalledServer, quiet_config

    server = build_server(broker, version=version, list_servers=list_servers)
    application = BearerOnly(server.streamable_http_app(streamable_http_path=PATH), api_key)
    SignalledServer(quiet_config(application, lifespan="on"), on_stop).run_foreground(listener)


class BearerOnly:
    """ASGI middleware that lets nothing through without the key."""

    def __init__(self, application: ASGIApp, api_key: str) -> None:
        self._application = application
        self._key = BearerKey(api_key)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401, or pass the request on."""
        if scope["type"] == "http" and not self._key.is_in(scope["headers"]):
            headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"the bearer key is missing or wrong"})
            return
        await self._application(scope, receive, send)
