"""Reads the tools of all configured servers into a catalog."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from discovercall.foundation.clocks import Clock
from discovercall.gateway.catalog import Server, Tool
from discovercall.gateway.downstream import CallTimeoutError, DownstreamError
from discovercall.gateway.index_file import is_indexable
from discovercall.gateway.store import Catalog

TIME_LIMIT = "timeouts.discovery_ms"
"""The setting of the configuration."""
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
    """What an index run found at one server.

    Attributes:
        tools: how many it has in the catalog now.
        error: why it could not be read; None where it was.
        left_out: tools that were listed under a name that can't be used, or that JSON can't say.
    """

    server_id: str
    tools: int
    error: str | None = None
    left_out: int = 0

    def to_json(self) -> dict[str, Any]:
        """The document's form."""
        report: dict[str, Any] = {
            "serverId": self.server_id,
            "status": "offline" if self.error else "online",
            "tools": self.tools,
        }
        left_out = {"leftOut": self.left_out} if self.left_out else {}
        return report | left_out | ({"error": self.error} if self.error else {})


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
        except CallTimeoutError as error:
            return CallTimeoutError(f"{error}: {TIME_LIMIT} is {round(timeout_s * 1000)}")
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
        kept = [tool for tool in answer if is_indexable(tool)]
        catalog.put_tools(kept, indexed_at=now)
        reports.append(ServerReport(server_id, len(kept), left_out=len(answer) - len(kept)))
    catalog.last_indexed_at = now
    return reports
