"""Where a run's capability API is: a real one with a key, or the embedded gateway over a world or servers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from discovercall.contract.execution import Connection
from discovercall.contract.options import PreparedRun, RunOptions
from discovercall.foundation.errors import InputError

if TYPE_CHECKING:
    from discovercall.gateway.capability_api import CapabilityApi
    from discovercall.gateway.catalog import World


@contextlib.contextmanager
def connected(
    prepared: PreparedRun, options: RunOptions, environment: Mapping[str, str], key: str | None = None
) -> Iterator[Connection]:
    """The connection of a run; the embedded gateway lives as long as the context.

    Args:
        environment: where settings and keys are looked up.
        key: the catalog key, where it has been read; a pipe gives it once only.

    Raises:
        InputError: no usable key, an unusable catalog, or other servers than when the plan was made.
    """
    if options.gateway is not None:
        planned = prepared.plan.api_definition_sha256
        with _over_servers(options.gateway, environment, planned) as api, _embedded(api) as (url, own):
            yield Connection(url, own, options.concurrency, options.requests_per_minute)
        return
    if not options.sandbox:
        from discovercall.adapter.exposure import find_exposure
        from discovercall.adapter.isolation import mask_argument
        from discovercall.contract.credentials import read_api_key

        key = key or read_api_key(options.api_key_file, environment)
        if options.api_key_file is not None:
            mask_argument(options.api_key_file)
        yield Connection(
            prepared.base_url,
            key,
            options.concurrency,
            options.requests_per_minute,
            find_exposure(key, options.api_key_file),
        )
        return
    from discovercall.gateway.catalog import default_world_path, load_world

    with _embedded(load_world(default_world_path())) as (url, own):
        yield Connection(url, own, options.concurrency, options.requests_per_minute)


@contextlib.contextmanager
def _embedded(tools: World | CapabilityApi) -> Iterator[tuple[str, str]]:
    """Base URL and key of a gateway in this process."""
    import secrets

    from discovercall.gateway.server import EmbeddedGateway

    key = secrets.token_urlsafe(24)
    with EmbeddedGateway(tools, api_key=key) as gateway:
        yield gateway.base_url, key


@contextlib.contextmanager
def _over_servers(path: Path, environment: Mapping[str, str], planned: str | None) -> Iterator[CapabilityApi]:
    """The capability API over the MCP servers of a configuration, as they were last indexed.

    Args:
        planned: digest of both in the plan; None for any.
    """
    import typer

    from discovercall.gateway.assembly import assemble
    from discovercall.gateway.capability_api import CapabilityApi
    from discovercall.gateway.config import load_config
    from discovercall.gateway.definition import definition_sha256
    from discovercall.gateway.listing import strictness
    from discovercall.gateway.store import CatalogUnreadableError

    config = load_config(path, environment)
    assembly = assemble(config, follow=False)  # one run, one catalog
    remedy = f"run `discovercall gateway index --config {path}` first"
    try:
        try:
            tools = assembly.plain.source.current().tools()
        except CatalogUnreadableError as error:
            raise InputError(str(error), where="--gateway", fix=remedy) from None
        if planned is not None and definition_sha256(config) != planned:
            raise InputError(
                "it or its index changed since the plan was made", where=str(path), fix="start again"
            )
        if not tools:
            raise InputError("the index holds no tools", where=str(path), fix=remedy)
        typer.echo(f"{len(tools)} tools over MCP; search: {assembly.search}", err=True)
        for refusal in strictness(tools)[0]:
            typer.echo(f"Never called, for it has no strict schema: {refusal}", err=True)
        yield CapabilityApi(assembly.plain)
    finally:
        assembly.broker.close()
