"""A downstream in memory that records what reaches it and can be in any mood."""

from collections.abc import Callable, Mapping
from typing import Any

from discovercall.gateway.arguments import check_arguments
from discovercall.gateway.catalog import Tool
from discovercall.gateway.downstream import CallRefusedError, DownstreamResult


class Recording:
    """Serves tools; validates arguments itself, like a real server.

    `errors` are raised on connecting to a server, `answers` give a tool's result or raise.
    """

    def __init__(self, tools: list[Tool] | tuple[Tool, ...]) -> None:
        self.live: dict[str, Mapping[str, Any]] = {tool.tool_ref: tool.input_schema for tool in tools}
        self.errors: dict[str, Exception] = {}
        self.answers: dict[str, Callable[[Mapping[str, Any]], DownstreamResult]] = {}
        self.connected: list[str] = []
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        self.closed = False

    def connect(self, server_id: str, timeout_s: float) -> "_Session":
        self.connected.append(server_id)
        if server_id in self.errors:
            raise self.errors[server_id]
        return _Session(self, server_id)

    def close(self) -> None:
        self.closed = True


class _Session:
    def __init__(self, downstream: Recording, server_id: str) -> None:
        self._downstream, self._server_id = downstream, server_id

    def live_schema(self, name: str) -> Mapping[str, Any] | None:
        return self._downstream.live.get(f"{self._server_id}.{name}")

    def call(self, name: str, arguments: Mapping[str, Any]) -> DownstreamResult:
        ref = f"{self._server_id}.{name}"
        self._downstream.calls.append((ref, dict(arguments)))
        problems = check_arguments(self._downstream.live[ref], arguments)
        if problems:
            raise CallRefusedError("; ".join(problem.message for problem in problems))
        answer = self._downstream.answers.get(ref)
        return answer(arguments) if answer else DownstreamResult(text=(f"{name} done",))
