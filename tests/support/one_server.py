"""A configuration of one MCP server and its index, as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from discovercall.gateway.config import load_config
from discovercall.gateway.definition import definition_sha256

SERVER = {"command": "/bin/one", "args": ["a"], "env": {"TOKEN": "${SECRET}"}}


def index(path: Path, at: int = 1, **changes: Any) -> None:
    """Write an index of one tool."""
    entry = {
        "serverId": "desk",
        "name": "list_notes",
        "title": "",
        "description": "List all notes.",
        "inputSchema": {"type": "object", "properties": {}},
        "readOnly": True,
        "freshness": "fresh",
        "lastIndexedAt": at,
    }
    servers = [{"id": "desk", "status": "online"}]
    content = {"version": 1, "indexedAt": at, "servers": servers, "tools": [entry | changes]}
    path.with_name("gateway.index.json").write_text(json.dumps(content))


def configure(folder: Path, server: dict[str, Any] = SERVER, more: str = "") -> Path:
    """Write a configuration of one server, and its index."""
    path = folder / "gateway.toml"
    tables = {name: value for name, value in server.items() if isinstance(value, dict)}
    plain = {name: value for name, value in server.items() if name not in tables}
    text = ["[servers.desk]", *(f"{name} = {json.dumps(value)}" for name, value in plain.items())]
    for table, members in tables.items():
        text += [f"[servers.desk.{table}]", *(f"{n} = {json.dumps(v)}" for n, v in members.items())]
    path.write_text("\n".join([*text, more, ""]))
    index(path)
    return path


def digest(path: Path, **environment: str) -> str:
    """The digest of a configuration's definition."""
    return definition_sha256(load_config(path, environment))
