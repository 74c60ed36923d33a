"""What the broker knows of servers and tools right now: an in-memory store with its age and a generation."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from discovercall.gateway.catalog import Server, Tool, World

Freshness = Literal["fresh", "stale"]
_GENERATIONS = itertools.count(1)  # of all catalogs, so that a new one is never taken for an old


class CatalogUnreadableError(Exception):
    """The catalog cannot be read; the message is for people and holds no secret."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A cataloged tool with the state of its record.

    Attributes:
        tool: the tool; its `server_status` is that of the last index run.
        freshness: `stale` when the last index run could not read its server.
        last_indexed_at: seconds since the Unix epoch, or None when it was never read from a server.
    """

    tool: Tool
    freshness: Freshness = "fresh"
    last_indexed_at: float | None = None


@dataclass(frozen=True, slots=True)
class CatalogStats:
    """Counts of a catalog; the age is in whole seconds, None before the first index run."""

    configured_servers: int
    indexed_tools: int
    fresh_tools: int
    stale_tools: int
    age_seconds: int | None

    def to_json(self) -> dict[str, int]:
        """The document's form; the age only where there is one."""
        counts = {
            "configuredServers": self.configured_servers,
            "indexedTools": self.indexed_tools,
            "freshTools": self.fresh_tools,
            "staleTools": self.stale_tools,
        }
        return counts if self.age_seconds is None else counts | {"catalogAgeSeconds": self.age_seconds}


class CatalogSource(Protocol):
    """Where a broker gets its catalog; asked anew by every operation, so that a new index is seen at once."""

    def current(self) -> Catalog:
        """The catalog as it is now.

        Raises:
            CatalogUnreadableError: it can't be read.
        """


class Catalog:
    """Servers and tools, changed by index runs and read by the broker.

    `generation` changes with every change of what is in it, so that whatever was derived from it can tell.
    """

    def __init__(self) -> None:
        self.generation = next(_GENERATIONS)
        self._servers: dict[str, Server] = {}
        self._entries: dict[str, Entry] = {}
        self._by_server: dict[str, set[str]] = {}
        self._stale: set[str] = set()
        self._last_indexed_at: float | None = None

    @classmethod
    def of_world(cls, world: World, *, indexed_at: float | None = None) -> Catalog:
        """The catalog of a world file; its tools are fresh.

        Args:
            world: the checked world.
            indexed_at: when it counts as indexed, in seconds since the Unix epoch; None for never.
        """
        catalog = cls()
        for server in world.servers:
            catalog.put_server(server)
        for tool in world.tools:
            if tool.server_id not in catalog._servers:
                catalog.put_server(Server(tool.server_id))
        catalog.put_tools(world.tools, indexed_at=indexed_at)
        catalog.last_indexed_at = indexed_at
        return catalog

    def current(self) -> Catalog:
        """Itself: a store in memory is its own source."""
        return self

    @property
    def last_indexed_at(self) -> float | None:
        """End of the last index run in seconds since the Unix epoch; None when there never was one."""
        return self._last_indexed_at

    @last_indexed_at.setter
    def last_indexed_at(self, seconds: float | None) -> None:
        self._last_indexed_at = seconds
        self.generation = next(_GENERATIONS)

    def put_server(self, server: Server) -> None:
        """Add a server, or give a known one a new status, which its tools take over."""
        self._servers[server.server_id] = server
        for ref in self._by_server.get(server.server_id, ()):
            entry = self._entries[ref]
            tool = replace(entry.tool, server_status=server.status)
            self._entries[ref] = replace(entry, tool=tool)
        self.generation = next(_GENERATIONS)

    def put_tools(
        self, tools: Iterable[Tool], *, freshness: Freshness = "fresh", indexed_at: float | None = None
    ) -> None:
        """Add tools or replace those of the same reference."""
        for tool in tools:
            self._entries[tool.tool_ref] = Entry(tool, freshness, indexed_at)
            self._by_server.setdefault(tool.server_id, set()).add(tool.tool_ref)
            (self._stale.add if freshness == "stale" else self._stale.discard)(tool.tool_ref)
        self.generation = next(_GENERATIONS)

    def delete_tools(self, tool_refs: Iterable[str]) -> None:
        """Remove tools; unknown references are ignored."""
        for ref in tool_refs:
            entry = self._entries.pop(ref, None)
            self._stale.discard(ref)
            if entry is not None:
                self._by_server[entry.tool.server_id].discard(ref)
        self.generation = next(_GENERATIONS)

    def servers(self) -> list[Server]:
        """All servers by id."""
        return [self._servers[name] for name in sorted(self._servers)]

    def server(self, server_id: str) -> Server | None:
        """A server; None when it is not configured."""
        return self._servers.get(server_id)

    def entries(self) -> list[Entry]:
        """All tools by reference."""
        return [self._entries[ref] for ref in sorted(self._entries)]

    def tools(self) -> list[Tool]:
        """All tools by reference, without the state of their records."""
        return [entry.tool for entry in self.entries()]

    def tools_of(self, server_id: str) -> list[Tool]:
        """The tools of one server by reference."""
        return [entry.tool for entry in self.entries_of(server_id)]

    def entries_of(self, server_id: str) -> list[Entry]:
        """The entries of one server by reference."""
        return [self._entries[ref] for ref in sorted(self._by_server.get(server_id, ()))]

    def is_unread(self, server_id: str) -> bool:
        """Whether nothing is known of a server's tools: it has none, and no index run has read it."""
        server = self._servers.get(server_id)
        if server is None or self._by_server.get(server_id):
            return False
        return server.status != "online" or self._last_indexed_at is None

    def entry(self, tool_ref: str) -> Entry | None:
        """A tool; None when it is not in the catalog."""
        return self._entries.get(tool_ref)

    def stats(self, now: float) -> CatalogStats:
        """Counts and age at a moment in seconds since the Unix epoch."""
        stale = len(self._stale)
        age = None if self._last_indexed_at is None else max(0, int(now - self._last_indexed_at))
        return CatalogStats(len(self._servers), len(self._entries), len(self._entries) - stale, stale, age)
