"""Lists a catalog, and brings that of a configuration up to date."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from discovercall.foundation.clocks import Clock
from discovercall.foundation.redaction import Redactor, with_encoded
from discovercall.gateway.assembly import load_encoder
from discovercall.gateway.broker import Broker
from discovercall.gateway.catalog import Tool
from discovercall.gateway.config import GatewayConfig, SemanticMode
from discovercall.gateway.index_file import read_index, write_index
from discovercall.gateway.indexing import ServerReport, index_servers
from discovercall.gateway.mcp_client import McpDownstream
from discovercall.gateway.store import Catalog, CatalogUnreadableError
from discovercall.gateway.strict import NotStrictError, strict_schema


@dataclass(frozen=True, slots=True)
class IndexRun:
    """What an index run did: its document, and whether every enabled server was read."""

    servers: tuple[ServerReport, ...]
    not_strict: tuple[NotStrictError, ...]
    forced_null: dict[str, tuple[str, ...]]
    search: str
    index_path: str

    @property
    def complete(self) -> bool:
        """True when every enabled server was read."""
        return not any(server.error for server in self.servers)

    def to_json(self) -> dict[str, Any]:
        """The whole document."""
        return {
            "ok": self.complete,
            "index": self.index_path,
            "search": self.search,
            "servers": [server.to_json() for server in self.servers],
            "notStrict": [
                {"toolRef": error.tool_ref, "path": error.path, "why": error.why} for error in self.not_strict
            ],
            "forcedNull": [
                {"toolRef": ref, "paths": list(paths)} for ref, paths in sorted(self.forced_null.items())
            ],
        }


def list_document(broker: Broker, digest: str | None, now: float) -> dict[str, Any]:
    """All tools with their state.

    Args:
        broker: whose catalog it is.
        digest: of the world file; None for an index of servers.
        now: seconds since the Unix epoch, for the age.

    Raises:
        CatalogUnreadableError: the catalog can't be read.
    """
    catalog = broker.source.current()
    rows = [
        {
            "toolRef": entry.tool.tool_ref,
            "title": entry.tool.title,
            "readOnly": entry.tool.read_only,
            "serverStatus": entry.tool.server_status,
            "freshness": entry.freshness,
        }
        for entry in catalog.entries()
    ]
    head = {"catalogDigest": digest} if digest else {}
    return {**head, "catalogStats": catalog.stats(now).to_json(), "tools": rows}


def run_index(
    config: GatewayConfig,
    *,
    semantic: SemanticMode | None = None,
    clock: Clock = time.time,
    busy: Callable[[], None] | None = None,
) -> IndexRun:
    """Read all enabled servers, write the index file, and prepare the vectors that searches need.

    Args:
        config: the configuration.
        semantic: instead of what the configuration says.
        clock: seconds since the Unix epoch.
        busy: called before so many texts are embedded that it takes seconds.

    Raises:
        InputError: the index can't be written, or the model is required and can't be used.
    """
    encoder, search = load_encoder(
        semantic or config.semantic, config.vectors_path, busy, fusion=config.settings.fusion
    )
    try:
        catalog = read_index(config)
    except CatalogUnreadableError:
        catalog = Catalog()  # what can't be read is replaced
    downstream = McpDownstream(config.servers, config.secrets)
    try:
        reports = index_servers(
            [server.server_id for server in config.servers if server.enabled],
            downstream,
            catalog,
            timeout_s=config.settings.discovery_timeout_ms / 1000,
            clock=clock,
            redact=Redactor(with_encoded(config.secrets)),
        )
    finally:
        downstream.close()
    write_index(config.index_path, catalog)
    tools = catalog.tools()
    if encoder is not None and config.settings.fusion == "bank":
        from discovercall.gateway.discovery import DiscoveryRanker

        DiscoveryRanker(tools, encoder=encoder)  # fills the file of vectors
    refused, forced = strictness(tools)
    return IndexRun(tuple(reports), tuple(refused), forced, search, str(config.index_path))


def strictness(tools: Sequence[Tool]) -> tuple[list[NotStrictError], dict[str, tuple[str, ...]]]:
    """Tools without a strict schema, and by reference the optional parts of others that can only be null."""
    refused: list[NotStrictError] = []
    forced: dict[str, tuple[str, ...]] = {}
    for tool in tools:
        try:
            compiled = strict_schema(tool.input_schema, tool_ref=tool.tool_ref)
        except NotStrictError as error:
            refused.append(error)
        else:
            if compiled.forced_null:
                forced[tool.tool_ref] = compiled.forced_null
    return refused, forced
