"""Real MCP servers behind the broker: programs over standard streams and servers over HTTP.

Connections live in an event loop in a thread of their own and are kept open; the broker's side is plain,
blocking and safe to use from several threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from discovercall.gateway.catalog import Tool
from discovercall.gateway.config import ServerConfig
from discovercall.gateway.downstream import (
    CallRefusedError,
    CallTimeoutError,
    CredentialsMissingError,
    DownstreamError,
    DownstreamResult,
    ServerOfflineError,
    Session,
    TransportLostError,
)
from discovercall.gateway.masking import ToolMask
from discovercall.gateway.mcp_connection import Connection, close_all
from discovercall.gateway.mcp_failures import failure_of
from discovercall.gateway.mcp_values import as_result, as_tool
from discovercall.gateway.sdk_log import keep_sdk_log_short

ResultT = TypeVar("ResultT")

_CLOSE_LIMIT_S = 10.0


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
        self._open: dict[str, Connection] = {}
        self._ending: list[Connection] = []
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
            connections = [*self._open.values(), *self._ending]
            self._open, self._ending = {}, []
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        future = asyncio.run_coroutine_threadsafe(close_all(connections), loop)
        with contextlib.suppress(Exception):
            future.result(_CLOSE_LIMIT_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_CLOSE_LIMIT_S)
        if not thread.is_alive():
            loop.close()

    def connection(self, server_id: str, deadline: float) -> Connection:
        """The open connection to a server, made when there is none."""
        config = self._configs.get(server_id)
        if config is None:
            raise ServerOfflineError(f"{server_id} is not configured")
        if config.unresolved:
            raise CredentialsMissingError(f"the variable {config.unresolved[0]} is not set")
        with self._lock:
            connection = self._open.get(server_id)
            if connection is None or connection.ended:
                connection = self._open[server_id] = Connection(config, self._running_loop(), self.mask)
        self.run(connection.wait_until_ready(), deadline, connection, connecting=True)
        return connection

    def run(
        self,
        steps: Coroutine[Any, Any, ResultT],
        deadline: float,
        connection: Connection,
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
            failure = failure_of(error, connection, connecting=connecting)
            if not isinstance(failure, CallRefusedError):
                self._drop(connection)
            raise failure from None

    def _drop_if_ended(self, connection: Connection) -> None:
        if connection.ended:
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        with self._lock:
            if self._open.get(connection.config.server_id) is connection:
                del self._open[connection.config.server_id]
                self._ending = [one for one in self._ending if not one.has_ended.is_set()]
                self._ending.append(connection)
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
