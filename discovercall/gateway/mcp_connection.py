"""One open connection to an MCP server: over the standard streams of a program, or over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from discovercall.adapter.family import starting_own_child
from discovercall.gateway.config import ServerConfig
from discovercall.gateway.downstream import CallRefusedError
from discovercall.gateway.error_log import ErrorLog
from discovercall.gateway.masking import ToolMask
from discovercall.gateway.message_limit import LINE_ENCODING, MESSAGE_LIMIT, limit_body
from discovercall.gateway.unparsed import answers_checked

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult
    from mcp.types import Tool as McpTool

_LIST_AGE_S = 30.0
_MAX_PAGES = 1_000
_MAX_LIST_BYTES = 4 * MESSAGE_LIMIT
_TRIM_EVERY_S = 1.0
_REFUSING = (401, 403)


class Connection:
    """One client, held open by a task of the loop until it is told to stop.

    Attributes:
        has_ended: set in the loop once it is closed and its program, where it has one, has ended.
    """

    def __init__(self, config: ServerConfig, loop: asyncio.AbstractEventLoop, mask: ToolMask) -> None:
        self.config = config
        self.mask = mask
        self.loop = loop
        self.stop = asyncio.Event()
        self.ended = False
        self._log = ErrorLog()
        self.refused_status: int | None = None
        self._ready: asyncio.Future[Client] = loop.create_future()
        self._tools: dict[str, McpTool] | None = None
        self._listed_at = 0.0
        self._listing = asyncio.Lock()
        self._holding: asyncio.Task[None] | None = None
        self.has_ended = asyncio.Event()
        self._cancelled = False
        loop.call_soon_threadsafe(self._open)

    def _open(self) -> None:
        self._holding = self.loop.create_task(self._hold())
        self._holding.add_done_callback(lambda _: self.has_ended.set())

    async def _hold(self) -> None:
        trimming = self.loop.create_task(self._trim())
        try:
            async with _client(self, self._log.stream) as client:
                if not self._ready.done():
                    self._ready.set_result(client)
                await self.stop.wait()
        except Exception as error:
            if not self._ready.done():
                self._ready.set_exception(error)
                self._ready.exception()  # it may be that nobody waits any more
        finally:
            self.ended = True
            trimming.cancel()
            self._log.close(self.mask)
            if not self._ready.done():
                self._ready.cancel()

    async def _trim(self) -> None:
        while True:
            self._log.trim()
            await asyncio.sleep(_TRIM_EVERY_S)

    def end(self) -> None:
        """Close the connection soon, also one that is still being made."""
        self.loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        self.stop.set()
        # Once only: a second time would break off the SDK's own ending of the program.
        if self._holding is not None and not self._ready.done() and not self._cancelled:
            self._cancelled = True
            self._holding.cancel()

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
        return self._log.last_line(self.mask)


@contextlib.asynccontextmanager
async def _client(connection: Connection, log: IO[str]) -> AsyncIterator[Client]:
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


async def close_all(connections: Sequence[Connection]) -> None:
    """Close connections and wait until their programs have ended."""
    for connection in connections:
        connection.end()
    await asyncio.gather(*(connection.has_ended.wait() for connection in connections))
