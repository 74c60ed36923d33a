"""What a run over MCP servers is planned with: one digest of the servers, the settings and their index."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from discovercall.foundation.digests import sha256_hex, sha256_of_json
from discovercall.foundation.ecma_json import decode
from discovercall.foundation.files import read_input
from discovercall.gateway.config import GatewayConfig

_TIMES = ("indexedAt", "lastIndexedAt")


def definition_sha256(config: GatewayConfig) -> str:
    """Digest of which servers a configuration reaches, how, and what their index holds.

    Values of variables and headers are secrets and not part of it, nor is when the index was made.
    """
    servers = [
        {
            "id": server.server_id,
            "command": list(server.command),
            "cwd": None if server.cwd is None else str(server.cwd),
            "env": sorted(server.env or {}),
            "url": server.url,
            "headers": sorted(server.headers or {}),
            "enabled": server.enabled,
        }
        for server in config.servers
    ]
    settings = asdict(config.settings) | {"semantic": config.semantic}
    return sha256_of_json(
        {"servers": servers, "settings": settings, "index": _index_sha256(config.index_path)}
    )


def _index_sha256(path: Path) -> str | None:
    """Digest of an index but for its times; of its bytes where it is unusable, None where there is none."""
    try:
        data = read_input(path)
    except OSError:
        return None
    try:
        return sha256_of_json(_without_times(decode(data)))
    except ValueError:
        return sha256_hex(data)


def _without_times(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kept = {name: member for name, member in value.items() if name not in _TIMES}
    if isinstance(kept.get("tools"), list):
        kept["tools"] = [_without_times(tool) for tool in kept["tools"]]
    return kept
