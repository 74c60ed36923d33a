"""Reads the tools of all configured servers into a catalog."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from discovercall.foundation.clocks import Clock
from discovercall.gateway.catalog import Server, Tool
from discovercall.gateway.downstream import DownstreamError
from discovercall.gateway.store import Catalog

_AT_ONCE = 4


class ToolLister(Protocol):
    """What an index run needs of the servers."""

    def tools(self, server_id: str, timeout_s: float) -> list[Tool]:
        """All tools of a server.

        Raises:
            DownstreamError: they can't be read.
        """


@dataclass(frozen=True, slots=True)
class ServerReport:
    """What an index run found at one server; `error` is None where it was read."""

    server_id: str
    tools: int
    error: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The document's form."""
        report: dict[str, Any] = {
            "serverId": self.server_id,
            "status": "offline" if self.error else "online",
            "tools": self.tools,
        }
        return report | ({"error": self.error} if self.error else {})


def index_servers(
    server_ids: Sequence[str],
    lister: ToolLister,
    catalog: Catalog,
    *,
    timeout_s: float,
    clock: Clock,
    redact: Callable[[str], str],
) -> list[ServerReport]:
    """Bring a catalog up to date.

    A server that can't be read keeps the tools that it had, as stale, and counts as offline; one that can
    replaces them.

    Args:
        server_ids: the servers to read.
        lister: reads them.
        catalog: is changed.
        timeout_s: limit per server, in seconds.
        clock: seconds since the Unix epoch.
        redact: masks secrets in what a server says.
    """

    def read(server_id: str) -> list[Tool] | DownstreamError:
        try:
            return lister.tools(server_id, timeout_s)
        except DownstreamError as error:
            return error

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = list(pool.map(read, server_ids))
    now = clock()
    reports = []
    for server_id, answer in zip(server_ids, answers, strict=True):
        known = catalog.entries_of(server_id)
        if isinstance(answer, DownstreamError):
            for entry in known:
                catalog.put_tools([entry.tool], freshness="stale", indexed_at=entry.last_indexed_at)
            catalog.put_server(Server(server_id, "offline"))
            reports.append(ServerReport(server_id, len(known), redact(str(answer))))
            continue
        catalog.delete_tools([entry.tool.tool_ref for entry in known])
        catalog.put_server(Server(server_id, "online"))
        catalog.put_tools(answer, indexed_at=now)
        reports.append(ServerReport(server_id, len(answer)))
    catalog.last_indexed_at = now
    return reports
