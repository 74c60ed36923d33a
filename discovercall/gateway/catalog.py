"""The world that the gateway offers: servers and their tools, read once from a reviewed JSON file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from discovercall.foundation.digests import sha256_hex, sha256_of_json
from discovercall.foundation.errors import InputError
from discovercall.foundation.json_file import read_json
from discovercall.foundation.models import NotBlank, StrictModel, check
from discovercall.foundation.resources import resource_path

ServerStatus = Literal["online", "offline", "unknown"]
SUPPORTED_VERSION = 1


@dataclass(frozen=True, slots=True)
class Server:
    """A downstream server; only an online one that the configuration does not switch off can be called."""

    server_id: str
    status: ServerStatus = "online"
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool of a server. `tool_ref` is `server_id` + "." + `name`; `aliases` are further words for it."""

    tool_ref: str
    server_id: str
    name: str
    title: str
    description: str
    input_schema: Mapping[str, Any] = field(hash=False)
    read_only: bool = False
    server_status: ServerStatus = "online"
    aliases: tuple[str, ...] = ()

    @property
    def callable_now(self) -> bool:
        """True when its server is online."""
        return self.server_status == "online"

    @property
    def schema_hash(self) -> str:
        """SHA-256 of the compact JSON text of the input schema."""
        return sha256_of_json(dict(self.input_schema))


@dataclass(frozen=True)
class World:
    """A whole catalog. `tools` are sorted by tool reference; `digest` is SHA-256 of the file's bytes."""

    version: int
    description: str
    servers: tuple[Server, ...]
    tools: tuple[Tool, ...]
    digest: str

    @cached_property
    def by_ref(self) -> Mapping[str, Tool]:
        """The tools by their reference."""
        return {tool.tool_ref: tool for tool in self.tools}


def split_tool_ref(tool_ref: str) -> tuple[str, str] | None:
    """Server id and downstream name, split at the first dot; None when either side is empty."""
    server_id, _, name = tool_ref.partition(".")
    return (server_id, name) if server_id and name else None


def properties_of(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The declared properties of an object schema; one that is no object counts as an empty definition."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {name: value if isinstance(value, Mapping) else {} for name, value in properties.items()}


class _ServerFile(StrictModel):
    id: NotBlank
    status: str = "online"


class _ToolFile(StrictModel):
    toolRef: NotBlank
    serverId: NotBlank
    name: NotBlank
    title: str
    description: str
    inputSchema: dict[str, Any]
    readOnly: bool = False


class _WorldFile(StrictModel):
    version: int
    description: str = ""
    servers: list[Any] = Field(default_factory=list)
    tools: list[Any]


def default_world_path() -> Path:
    """Where the world that comes with the toolkit lies."""
    return resource_path("tasks", "gateway", "catalog", "world.json")


def load_world(path: Path) -> World:
    """Read and check a world file.

    Raises:
        InputError: for the first problem; names the file, the tool or server, the field and what is right.
    """
    value, data = read_json(path)
    return parse_world(value, where=str(path), digest=sha256_hex(data))


def parse_world(value: Any, *, where: str, digest: str | None = None) -> World:
    """Check a parsed world.

    Args:
        value: the parsed JSON document.
        where: the name of the file, for messages.
        digest: SHA-256 of the file's bytes; without it, of the value's compact JSON.

    Raises:
        InputError: for the first problem.
    """
    document = check(_WorldFile, value, where)
    if document.version != SUPPORTED_VERSION:
        raise InputError(
            f"version: {document.version} is not supported", where=where, fix=f"use {SUPPORTED_VERSION}"
        )
    servers = _servers(document.servers, where)
    if not document.tools:
        raise InputError("tools: the catalog has no tool", where=where, fix="list at least one tool")
    tools: dict[str, Tool] = {}
    for index, entry in enumerate(document.tools):
        tool = _tool(entry, servers, f"{where}: {_tool_label(entry, index)}")
        if tool.tool_ref in tools:
            raise InputError(
                f"toolRef: {tool.tool_ref} is listed twice",
                where=f"{where}: {_tool_label(entry, index)}",
                fix="each tool has a toolRef of its own",
            )
        tools[tool.tool_ref] = tool
    return World(
        version=document.version,
        description=document.description,
        servers=tuple(servers.values()),
        tools=tuple(tools[ref] for ref in sorted(tools)),
        digest=digest or sha256_of_json(value),
    )


def _servers(entries: list[Any], where: str) -> dict[str, Server]:
    servers: dict[str, Server] = {}
    for index, entry in enumerate(entries):
        label = f"{where}: servers[{index}]"
        checked = check(_ServerFile, entry, label)
        if checked.id in servers:
            raise InputError(f"id: {checked.id} is listed twice", where=label)
        if "." in checked.id:
            raise InputError(
                f"id: {checked.id} has a dot", where=label, fix="a toolRef is split at its first dot"
            )
        servers[checked.id] = Server(checked.id, _status(checked.status))
    return servers


def _status(text: str) -> ServerStatus:
    known: dict[str, ServerStatus] = {"offline": "offline", "unknown": "unknown"}
    return known.get(text, "online")


def _tool_label(entry: Any, index: int) -> str:
    ref = entry.get("toolRef") if isinstance(entry, dict) else None
    return f"tool {ref} (tools[{index}])" if isinstance(ref, str) and ref else f"tools[{index}]"


def _tool(entry: Any, servers: Mapping[str, Server], where: str) -> Tool:
    checked = check(_ToolFile, entry, where)
    expected = f"{checked.serverId}.{checked.name}"
    if checked.toolRef != expected:
        raise InputError("toolRef: must be serverId.name", where=where, fix=f"expected {expected}")
    if "." in checked.serverId:
        raise InputError(
            f"serverId: {checked.serverId} has a dot",
            where=where,
            fix=f"expected {checked.serverId.partition('.')[0]}, for a toolRef is split at its first dot",
        )
    # A file that lists no servers at all says nothing of their state; one that lists some lists all.
    if servers and checked.serverId not in servers:
        raise InputError(
            f"serverId: {checked.serverId} is not among the servers",
            where=where,
            fix="expected one of " + ", ".join(sorted(servers)),
        )
    _check_schema(checked.inputSchema, where)
    server = servers.get(checked.serverId)
    return Tool(
        tool_ref=checked.toolRef,
        server_id=checked.serverId,
        name=checked.name,
        title=checked.title,
        description=checked.description,
        input_schema=checked.inputSchema,
        read_only=checked.readOnly,
        server_status=server.status if server else "online",
    )


def _check_schema(schema: Mapping[str, Any], where: str) -> None:
    """What the gateway relies on; whether it is a whole JSON Schema is for the world's own test."""
    if schema.get("type", "object") != "object":
        raise InputError("inputSchema.type: must be object", where=where, fix="expected object")
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or not all(isinstance(value, dict) for value in properties.values()):
        raise InputError("inputSchema.properties: must be a JSON object of objects", where=where)
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise InputError("inputSchema.required: must be a list of names", where=where)
    unknown = [name for name in required if name not in properties]
    if unknown:
        raise InputError(
            f"inputSchema.required: {unknown[0]} is not declared",
            where=where,
            fix="name declared properties only",
        )
