"""What `gateway index` read, kept in a file: servers, tools, and when."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from discovercall.foundation.ecma_json import JsonError, loads
from discovercall.foundation.errors import InputError
from discovercall.foundation.files import write_atomic
from discovercall.foundation.json_text import compact, pretty
from discovercall.foundation.jsonl import read_text
from discovercall.foundation.models import NotBlank, StrictModel, check
from discovercall.foundation.shown import plain
from discovercall.gateway.catalog import Server, ServerStatus, Tool
from discovercall.gateway.config import GatewayConfig
from discovercall.gateway.masking import ToolMask
from discovercall.gateway.store import Catalog, CatalogUnreadableError

VERSION = 1
MAX_DEPTH = 200
"""Levels of a tool's schema."""
MAX_NAME = 256
"""Characters of a tool's name."""


class _ServerFile(StrictModel):
    id: NotBlank
    status: Literal["online", "offline", "unknown"]


class _ToolFile(StrictModel):
    serverId: NotBlank
    name: NotBlank
    title: str
    description: str
    inputSchema: dict[str, Any]
    readOnly: bool
    aliases: list[str] = Field(default_factory=list)
    freshness: Literal["fresh", "stale"]
    lastIndexedAt: float | int | None = None


class _File(StrictModel):
    version: Literal[1]
    indexedAt: float | int | None = None
    servers: list[_ServerFile]
    tools: list[_ToolFile]


def read_index(config: GatewayConfig) -> Catalog:
    """The catalog of a configuration: its servers, and the tools that the last index run found.

    Servers that are no longer configured are left out with their tools; without a file there are no tools.

    Raises:
        CatalogUnreadableError: the file is there and can't be used.
    """
    catalog = Catalog()
    for server in config.servers:
        catalog.put_server(Server(server.server_id, "unknown", server.enabled))
    if not config.index_path.exists():
        return catalog
    try:
        text, _ = read_text(config.index_path)
        file = check(_File, loads(text), str(config.index_path))
    except (InputError, JsonError) as error:
        raise CatalogUnreadableError(f"The index {config.index_path} cannot be used: {error}") from None
    statuses: dict[str, ServerStatus] = {server.id: server.status for server in file.servers}
    for server in config.servers:
        status = statuses.get(server.server_id, "unknown")
        catalog.put_server(Server(server.server_id, status, server.enabled))
    mask = ToolMask(config.secrets)  # the file may be older than a secret
    for entry in file.tools:
        if _is_too_deep(entry.inputSchema):
            raise CatalogUnreadableError(f"The index {config.index_path} is nested too deeply.")
        if catalog.server(entry.serverId) is None or entry.serverId in config.disabled:
            continue
        tool = Tool(
            tool_ref=f"{entry.serverId}.{entry.name}",
            server_id=entry.serverId,
            name=entry.name,
            title=mask.text(entry.title),
            description=mask.text(entry.description),
            input_schema=mask.schema(entry.inputSchema),
            read_only=entry.readOnly,
            server_status=statuses.get(entry.serverId, "unknown"),
            aliases=tuple(entry.aliases),
        )
        catalog.put_tools([tool], freshness=entry.freshness, indexed_at=entry.lastIndexedAt)
    catalog.last_indexed_at = file.indexedAt
    return catalog


def write_index(path: Path, catalog: Catalog) -> None:
    """Write a catalog whole or not at all, and only what `read_index` accepts.

    Raises:
        InputError: the file can't be written.
    """
    value = {
        "version": VERSION,
        "indexedAt": catalog.last_indexed_at,
        "servers": [{"id": server.server_id, "status": server.status} for server in catalog.servers()],
        "tools": [
            _record(entry.tool) | {"freshness": entry.freshness, "lastIndexedAt": entry.last_indexed_at}
            for entry in catalog.entries()
        ],
    }
    text = pretty(value) + "\n"
    try:
        check(_File, loads(text), str(path))
    except JsonError as error:
        raise InputError(f"could not be read again ({error})", where=str(path)) from None
    try:
        write_atomic(path, text.encode())
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror or error})", where=str(path)) from None


def is_indexable(tool: Tool) -> bool:
    """Whether a tool can be kept in an index and called by its reference: its name is neither blank nor over
    `MAX_NAME` characters and holds no control or format character, its schema is at most
    `MAX_DEPTH` deep, and JSON can say its record."""
    if len(tool.name) > MAX_NAME or plain(tool.name) != tool.name or _is_too_deep(tool.input_schema):
        return False
    try:
        check(_ToolFile, loads(compact(_record(tool) | {"freshness": "fresh"})), tool.server_id)
    except (InputError, JsonError, ValueError):
        return False
    return True


def _is_too_deep(schema: Any) -> bool:
    level = [schema]
    for _ in range(MAX_DEPTH):
        level = [part for value in level for part in _parts(value)]
        if not level:
            return False
    return True


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _record(tool: Tool) -> dict[str, Any]:
    return {
        "serverId": tool.server_id,
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": dict(tool.input_schema),
        "readOnly": tool.read_only,
        "aliases": list(tool.aliases),
    }


class IndexFile:
    """A catalog that follows its file: read again when the file changes.

    Args:
        config: names the file and the servers.
        follow: False for one that stays as it was first read.
    """

    def __init__(self, config: GatewayConfig, *, follow: bool = True) -> None:
        self._config = config
        self._follow = follow
        self._seen: tuple[int, int, int] | None = None
        self._catalog: Catalog | None = None

    def current(self) -> Catalog:
        """The catalog of the file as it is now.

        Raises:
            CatalogUnreadableError: the file is there and can't be used.
        """
        if self._catalog is not None and not self._follow:
            return self._catalog
        try:
            state = self._config.index_path.stat()
            seen = (state.st_mtime_ns, state.st_size, state.st_ino)
        except OSError:
            seen = (0, 0, 0)
        if self._catalog is None or seen != self._seen:
            self._catalog = read_index(self._config)
            self._seen = seen
        return self._catalog
