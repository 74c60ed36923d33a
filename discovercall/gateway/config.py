"""`gateway.toml`: which MCP servers the gateway speaks to, and its limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from discovercall.foundation.base_url import is_loopback
from discovercall.foundation.errors import InputError
from discovercall.foundation.models import NotBlank, StrictModel, check
from discovercall.foundation.toml_file import read_toml
from discovercall.gateway.settings import BrokerSettings, Fusion

SemanticMode = Literal["auto", "off", "require"]
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SERVER_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_Milliseconds = Annotated[int, Field(ge=1, le=3_600_000)]


class _ServerFile(StrictModel):
    command: NotBlank | None = None
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    cwd: NotBlank | None = None
    url: NotBlank | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    enabled: bool = True


class _BudgetsFile(StrictModel):
    max_results: Annotated[int, Field(ge=1, le=50)] = 5
    include_full_schemas: bool = False
    max_result_bytes: Annotated[int, Field(ge=0)] = 65_536


class _TimeoutsFile(StrictModel):
    call_ms: _Milliseconds = 60_000
    discovery_ms: _Milliseconds = 5_000


class _CacheFile(StrictModel):
    enabled: bool = True
    seconds: Annotated[int, Field(ge=0)] = 300
    entries: Annotated[int, Field(ge=1)] = 1024


class _SearchFile(StrictModel):
    semantic: SemanticMode = "auto"
    fusion: Fusion = "bank"
    scores: bool = False


class _McpFile(StrictModel):
    list_servers: bool = True


class _File(StrictModel):
    servers: dict[str, dict[str, object]] = Field(default_factory=dict)
    index: NotBlank | None = None
    budgets: _BudgetsFile = Field(default_factory=_BudgetsFile)
    timeouts: _TimeoutsFile = Field(default_factory=_TimeoutsFile)
    cache: _CacheFile = Field(default_factory=_CacheFile)
    search: _SearchFile = Field(default_factory=_SearchFile)
    mcp: _McpFile = Field(default_factory=_McpFile)


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One MCP server: a program that speaks over its standard streams, or an address.

    Attributes:
        command: program and arguments; empty for a server at `url`.
        env: variables that the program gets beside the usual few (PATH, HOME and such).
        cwd: where the program starts; None for the folder of the configuration.
        headers: sent with each request to `url`.
        unresolved: variables that the configuration refers to and that are not set.
    """

    server_id: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] | None = None
    cwd: Path | None = None
    url: str | None = None
    headers: Mapping[str, str] | None = None
    enabled: bool = True
    unresolved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """Of the cache in front of a broker; an entry of 0 seconds is never served."""

    enabled: bool = True
    seconds: int = 300
    entries: int = 1024


@dataclass(frozen=True, slots=True)
class GatewayConfig:
    """A checked `gateway.toml`.

    Attributes:
        index_path: where `gateway index` keeps what it read.
        vectors_path: where vectors are kept between processes.
        list_servers: tell MCP clients which servers there are.
        secrets: values of headers and variables, for masking.
    """

    path: Path
    servers: tuple[ServerConfig, ...]
    settings: BrokerSettings
    cache: CacheSettings
    semantic: SemanticMode
    index_path: Path
    vectors_path: Path
    list_servers: bool
    secrets: tuple[str, ...]

    @property
    def disabled(self) -> frozenset[str]:
        """Ids of servers that are configured and switched off."""
        return frozenset(server.server_id for server in self.servers if not server.enabled)


def load_config(path: Path, environment: Mapping[str, str]) -> GatewayConfig:
    """Read and check a configuration.

    Args:
        path: the TOML file.
        environment: what `${NAME}` in headers and variables stands for.

    Raises:
        InputError: names the file, the field and what is right.
    """
    file = check(_File, read_toml(path), str(path))
    folder = path.resolve().parent
    servers = tuple(
        _server(server_id, entry, folder, environment, f"{path}: servers.{server_id}")
        for server_id, entry in sorted(file.servers.items())
    )
    index_path = folder / (file.index or f"{path.stem}.index.json")
    if index_path.suffix != ".json" or index_path.resolve() == path.resolve():
        raise InputError(
            f"{file.index} would be replaced", where=f"{path}: index", fix="name a file of its own, *.json"
        )
    settings = BrokerSettings(
        max_results=file.budgets.max_results,
        include_full_schemas=file.budgets.include_full_schemas,
        max_result_bytes=file.budgets.max_result_bytes,
        call_timeout_ms=file.timeouts.call_ms,
        discovery_timeout_ms=file.timeouts.discovery_ms,
        fusion=file.search.fusion,
        scores=file.search.scores,
    )
    return GatewayConfig(
        path=path,
        servers=servers,
        settings=settings,
        cache=CacheSettings(file.cache.enabled, file.cache.seconds, file.cache.entries),
        semantic=file.search.semantic,
        index_path=index_path,
        vectors_path=index_path.with_suffix(".vectors.npz"),
        list_servers=file.mcp.list_servers,
        secrets=tuple(_secrets(servers)),
    )


def _server(
    server_id: str, entry: object, folder: Path, environment: Mapping[str, str], where: str
) -> ServerConfig:
    if not _SERVER_ID.fullmatch(server_id):
        raise InputError(
            f"{server_id} is no server id", where=where, fix="use letters, digits, - and _, without a dot"
        )
    file = check(_ServerFile, entry, where)
    if (file.command is None) == (file.url is None):
        raise InputError("needs either command or url", where=where, fix="give one of them")
    missing: list[str] = []
    server = ServerConfig(server_id=server_id, enabled=file.enabled)
    if file.url is not None:
        if file.args or file.env or file.cwd:
            raise InputError("args, env and cwd go with command", where=where, fix="leave them out with url")
        if not file.url.startswith(("http://", "https://")):
            raise InputError(f"url: {file.url} is no http address", where=where)
        if file.headers and file.url.startswith("http://") and not is_loopback(file.url):
            raise InputError(
                "headers: would go out in clear, for url begins with http://",
                where=where,
                fix="use https, or http to localhost, 127.0.0.1 or [::1]",
            )
        headers = {name: _filled(text, environment, missing) for name, text in file.headers.items()}
        return replace(server, url=file.url, headers=headers, unresolved=tuple(missing))
    if file.headers:
        raise InputError("headers: goes with url", where=where, fix="leave it out with command")
    env = {name: _filled(text, environment, missing) for name, text in file.env.items()}
    cwd = folder / file.cwd if file.cwd else folder
    command = (str(file.command), *file.args)
    return replace(server, command=command, env=env, cwd=cwd, unresolved=tuple(missing))


def _filled(text: str, environment: Mapping[str, str], missing: list[str]) -> str:
    def put_in(match: re.Match[str]) -> str:
        value = environment.get(match[1])
        if value is None:
            missing.append(match[1])
            return match[0]
        return value

    return _REFERENCE.sub(put_in, text)


def _secrets(servers: tuple[ServerConfig, ...]) -> list[str]:
    """Values to mask: each whole, and the part after a scheme such as Bearer."""
    found: list[str] = []
    for server in servers:
        for value in (*(server.env or {}).values(), *(server.headers or {}).values()):
            if value and not _REFERENCE.search(value):
                found += [value, *value.split(" ")[1:]]
    return found
