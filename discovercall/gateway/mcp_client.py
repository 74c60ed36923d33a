"""Real MCP servers behind the broker: programs over standard streams and servers over HTTP.

Connections live in an event loop in a thread of their own and are kept open; the broker's side is plain,
blocking and safe to use from several threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any, TypeVar

from discovercall.adapter.family import starting_own_child
from discovercall.gateway.catalog import Tool
from discovercall.gateway.config import ServerConfig
from discovercall.gateway.downstream import (
    AuthRefusedError,
    CallRefusedError,
    CallTimeoutError,
    DownstreamError,
    DownstreamResult,
    ServerOfflineError,
    Session,
    TransportLostError,
)
from discovercall.gateway.masking import ToolMask
from discovercall.gateway.message_limit import (
    ENCODED,
    LINE_ENCODING,
    MESSAGE_LIMIT,
    TOO_LONG,
    limit_body,
)
from discovercall.gateway.sdk_log import keep_sdk_log_short
from discovercall.gateway.unparsed import INVALID_ANSWER, answers_checked

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult
    from mcp.types import Tool as McpTool

ResultT = TypeVar("ResultT")

_CLOSE_LIMIT_S = 10.0
_LIST_AGE_S = 30.0
_MAX_PAGES = 1_000
_MAX_LIST_BYTES = 4 * MESSAGE_LIMIT
_SHOWN = 400  # characters of a foreign message
_LAST_BYTES = 65_536
_REFUSING = (401, 403)
_CLOSED = -32000  # MCP's code for a connection that ended under a request


class McpDownstream:
    """Connects to the servers of a configuration.

    Args:
        servers: what is configured; disabled ones are not connected to.
        secrets: values that nothing may show that a server says of itself.
    """

    def __init__(self, servers: Sequence[ServerConfig], secrets: Iterable[str] = ()) -> None:
        self.mask = ToolMask(secrets)
        keep_sdk_log_short(self.mask.message)
        self._configs = {server.server_id: server for server in servers if server.enabled}
        self._open: dict[str, _Connection] = {}
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def connect(self, server_id: str, timeout_s: float) -> Session:
        """A session on the open connection, or on a new one; all of its steps end within the time limit.

        Raises:
            DownstreamError: no session.
        """
        return _Session(self, server_id, time.monotonic() + timeout_s)

    def tools(self, server_id: str, timeout_s: float) -> list[Tool]:
        """All tools of a server, read anew.

        Raises:
            DownstreamError: they can't be read.
        """
        deadline = time.monotonic() + timeout_s
        connection = self.connection(server_id, deadline)
        listed = self.run(connection.list_tools(fresh=True), deadline, connection)
        return [
            # A key in a name can't be masked, for calls need the name: such a tool counts as nameless.
            replace(read, name="") if self.mask.hides(read.name) else read
            for read in (as_tool(server_id, tool, self.mask) for tool in listed.values())
        ]

    def close(self) -> None:
        """Close all connections, which ends the programs that were started."""
        with self._lock:
            loop, thread = self._loop, self._thread
            connections, self._open = list(self._open.values()), {}
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        future = asyncio.run_coroutine_threadsafe(_close_all(connections), loop)
        with contextlib.suppress(Exception):
            future.result(_CLOSE_LIMIT_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_CLOSE_LIMIT_S)

    def connection(self, server_id: str, deadline: float) -> _Connection:
        """The open connection to a server, made when there is none."""
        config = self._configs.get(server_id)
        if config is None:
            raise ServerOfflineError(f"{server_id} is not configured")
        if config.unresolved:
            raise AuthRefusedError(f"the variable {config.unresolved[0]} is not set")
        with self._lock:
            connection = self._open.get(server_id)
            if connection is None or connection.ended:
                connection = self._open[server_id] = _Connection(config, self._running_loop(), self.mask)
        self.run(connection.wait_until_ready(), deadline, connection, connecting=True)
        return connection

    def run(
        self,
        steps: Coroutine[Any, Any, ResultT],
        deadline: float,
        connection: _Connection,
        *,
        connecting: bool = False,
    ) -> ResultT:
        """Carry steps out in the loop until the deadline.

        Raises:
            DownstreamError: what went wrong, in the broker's terms.
        """
        future = asyncio.run_coroutine_threadsafe(steps, connection.loop)
        try:
            return future.result(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            future.cancel()
            if connecting:
                self._drop(connection)
            raise CallTimeoutError("the time limit ran out") from None
        except DownstreamError:
            self._drop_if_ended(connection)
            raise
        except Exception as error:
            failure = _failure(error, connection, connecting=connecting)
            if not isinstance(failure, CallRefusedError):
                self._drop(connection)
            raise failure from None

    def _drop_if_ended(self, connection: _Connection) -> None:
        if connection.ended:
            self._drop(connection)

    def _drop(self, connection: _Connection) -> None:
        with self._lock:
            if self._open.get(connection.config.server_id) is connection:
                del self._open[connection.config.server_id]
        connection.end()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._loop.run_forever, name="mcp-connections", daemon=True
            )
            self._thread.start()
        return self._loop


class _Session:
    def __init__(self, downstream: McpDownstream, server_id: str, deadline: float) -> None:
        self._downstream = downstream
        self._deadline = deadline
        self._connection = downstream.connection(server_id, deadline)

    def live_schema(self, name: str) -> Mapping[str, Any] | None:
        steps = self._connection.list_tools()
        try:
            tools = self._downstream.run(steps, self._deadline, self._connection)
        except TransportLostError as error:
            raise ServerOfflineError(str(error)) from None  # nothing was executed yet
        tool = tools.get(name)
        return None if tool is None else self._downstream.mask.schema(tool.input_schema)

    def call(self, name: str, arguments: Mapping[str, Any]) -> DownstreamResult:
        steps = self._connection.call(name, dict(arguments))
        return as_result(self._downstream.run(steps, self._deadline, self._connection))


class _Connection:
    """One client, held open by a task of the loop until it is told to stop."""

    def __init__(self, config: ServerConfig, loop: asyncio.AbstractEventLoop, mask: ToolMask) -> None:
        self.config = config
        self.mask = mask
        self.loop = loop
        self.stop = asyncio.Event()
        self.ended = False
        self._log: IO[str] | None = None
        self._last_words = ""
        self.refused_status: int | None = None
        self._ready: asyncio.Future[Client] = loop.create_future()
        self._tools: dict[str, McpTool] | None = None
        self._listed_at = 0.0
        self._listing = asyncio.Lock()
        self.task = asyncio.run_coroutine_threadsafe(self._hold(), loop)

    async def _hold(self) -> None:
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
            self._log = log
            try:
                async with _client(self, log) as client:
                    if not self._ready.done():
                        self._ready.set_result(client)
                    await self.stop.wait()
            except Exception as error:
                self._last_words = self.last_words()
                if not self._ready.done():
                    self._ready.set_exception(error)
                    self._ready.exception()  # it may be that nobody waits any more
            finally:
                self.ended = True
                self._log = None
                if not self._ready.done():
                    self._ready.cancel()

    def end(self) -> None:
        """Close the connection soon, also one that is still being made."""
        if self._ready.done():
            self.loop.call_soon_threadsafe(self.stop.set)
        else:
            self.task.cancel()

    async def wait_until_ready(self) -> None:
        await asyncio.shield(self._ready)

    async def list_tools(self, *, fresh: bool = False) -> dict[str, McpTool]:
        """The server's tools by name; a list that is neither old nor called off by the server is kept."""
        client = await asyncio.shield(self._ready)
        async with self._listing:
            old = time.monotonic() - self._listed_at > _LIST_AGE_S
            if self._tools is None or fresh or old:
                self._listed_at = time.monotonic()
                self._tools = await _all_tools(client)
            return self._tools

    async def call(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        client = await asyncio.shield(self._ready)
        return await client.call_tool(name, arguments)

    async def on_response(self, response: Any) -> None:
        """Note a refusal, for the SDK's own error does not say which status it got; limit the body."""
        limit_body(response)
        if response.status_code in _REFUSING:
            self.refused_status = response.status_code

    async def on_message(self, message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self._tools = None

    def last_words(self) -> str:
        """The last line that the program wrote to its error stream, secrets masked."""
        log = self._log
        if log is None:
            return self._last_words
        try:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - _LAST_BYTES))
            text = log.read()
        except (OSError, ValueError):
            return self._last_words
        lines = self.mask.message(text).splitlines()
        if size > _LAST_BYTES:
            lines = lines[1:]  # its start, which may be that of a secret, is missing
        said = [line.strip() for line in lines if line.strip()]
        return said[-1][:_SHOWN] if said else ""


@contextlib.asynccontextmanager
async def _client(connection: _Connection, log: IO[str]) -> AsyncIterator[Client]:
    from mcp import Client, StdioServerParameters, stdio_client

    config = connection.config
    if config.url is None:
        program = StdioServerParameters(
            command=config.command[0],
            args=list(config.command[1:]),
            env=dict(config.env or {}),
            cwd=config.cwd,
            encoding=LINE_ENCODING,
        )
        transport = answers_checked(stdio_client(program, errlog=log))  # type: ignore[arg-type]
        async with contextlib.AsyncExitStack() as stack:
            with starting_own_child():
                client = await stack.enter_async_context(
                    Client(transport, message_handler=connection.on_message, cache=None)
                )
            yield client
        return
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async with httpx2.AsyncClient(
        headers={"Accept-Encoding": "identity", **(config.headers or {})},
        timeout=httpx2.Timeout(None, connect=30.0),
        event_hooks={"response": [connection.on_response]},
    ) as http:
        remote = streamable_http_client(config.url, http_client=http)
        async with Client(remote, message_handler=connection.on_message, cache=None) as client:
            yield client


async def _all_tools(client: Client) -> dict[str, McpTool]:
    found: dict[str, McpTool] = {}
    cursor: str | None = None
    size = 0
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        found.update((tool.name, tool) for tool in page.tools)
        size += sum(len(tool.model_dump_json()) for tool in page.tools)
        if size > _MAX_LIST_BYTES:
            raise CallRefusedError(f"the list of tools is over {_MAX_LIST_BYTES} bytes")
        cursor = page.next_cursor
        if not cursor:
            return found
    raise CallRefusedError(f"the list of tools has more than {_MAX_PAGES} pages")


async def _close_all(connections: Sequence[_Connection]) -> None:
    for connection in connections:
        connection.end()
    await asyncio.gather(
        *(asyncio.wrap_future(connection.task) for connection in connections), return_exceptions=True
    )


def as_tool(server_id: str, tool: McpTool, mask: ToolMask) -> Tool:
    """A server's tool as the catalog keeps it, secrets masked; it reads only where the server says so."""
    hints = tool.annotations
    title = tool.title or (hints.title if hints else None) or ""
    return Tool(
        tool_ref=f"{server_id}.{tool.name}",
        server_id=server_id,
        name=tool.name,
        title=mask.text(title),
        description=mask.text(tool.description or ""),
        input_schema=mask.schema(tool.input_schema),
        read_only=bool(hints and hints.read_only_hint is True),
    )


def as_result(result: CallToolResult) -> DownstreamResult:
    """A call's answer: its text, its structured content, and what had to be left out."""
    text: list[str] = []
    left_out: list[str] = []
    for block in result.content:
        if block.type == "text":
            text.append(block.text)
        elif block.type == "resource" and isinstance(getattr(block.resource, "text", None), str):
            text.append(str(getattr(block.resource, "text", "")))
        elif block.type == "resource_link":
            text.append(f"{block.name}: {block.uri}")
        else:
            left_out.append(block.type)
    return DownstreamResult(tuple(text), result.structured_content, bool(result.is_error), tuple(left_out))


def _failure(error: BaseException, connection: _Connection, *, connecting: bool) -> DownstreamError:
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
