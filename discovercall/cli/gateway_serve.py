"""How `discovercall gateway serve` starts each face, and what it tells a person."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from discovercall.cli.gateway_broker import read_config, read_world
from discovercall.foundation.errors import EXIT_INTERRUPTED, InputError

if TYPE_CHECKING:
    from discovercall.gateway.assembly import Assembly
    from discovercall.gateway.faults import Fault


def serve_world(
    catalog: Path | None,
    host: str,
    port: int,
    faults: tuple[Fault, ...],
    journal: Path | None,
    key_file: Path | None,
) -> None:
    """Offer a world as the capability API, with made-up results."""
    from discovercall.gateway.server import base_url, listen, serve

    world = read_world(catalog)
    with contextlib.closing(listen(host, port)) as listener, _key(key_file) as (key, path, forget):
        url = base_url(listener)
        typer.echo(f"{len(world.tools)} tools of {len(world.servers)} servers at {url}")
        _tell_key(path, key_file)
        _tell_run(url, path, faults)
        _until_stopped(
            lambda: serve(world, listener, api_key=key, faults=faults, journal=journal, on_stop=forget)
        )


def serve_broker(
    assembly: Assembly,
    host: str,
    port: int,
    faults: tuple[Fault, ...],
    journal: Path | None,
    key_file: Path | None,
) -> None:
    """Offer the tools of MCP servers as the capability API."""
    from discovercall.gateway.capability_api import CapabilityApi
    from discovercall.gateway.server import base_url, listen, serve

    api = CapabilityApi(assembly.plain)
    tools, servers = api.size()
    with contextlib.closing(listen(host, port)) as listener, _key(key_file) as (key, path, forget):
        url = base_url(listener)
        typer.echo(f"{tools} tools of {servers} servers at {url}; calls reach the real servers")
        typer.echo(f"Search: {assembly.search}")
        _tell_key(path, key_file)
        _tell_run(url, path, faults)
        _until_stopped(
            lambda: serve(
                api,
                listener,
                api_key=key,
                faults=faults,
                journal=journal,
                on_stop=lambda: _stopped(assembly, forget),
            )
        )


def serve_mcp(assembly: Assembly, config: Path | None, host: str, port: int, key_file: Path | None) -> None:
    """Offer the broker over MCP by HTTP."""
    from discovercall import __version__
    from discovercall.gateway.mcp_face import PATH, serve_http
    from discovercall.gateway.server import listen

    _need_mcp()
    with contextlib.closing(listen(host, port)) as listener, _key(key_file) as (key, path, forget):
        address, taken = listener.getsockname()[:2]
        where = f"[{address}]" if ":" in address else address
        typer.echo(f"MCP at http://{where}:{taken}{PATH}; send Authorization: Bearer and the key")
        typer.echo(f"Search: {assembly.search}")
        _tell_key(path, key_file)
        typer.echo("Stop with Ctrl-C.")
        _until_stopped(
            lambda: serve_http(
                assembly.broker,
                listener,
                api_key=key,
                version=__version__,
                list_servers=_lists_servers(config),
                on_stop=lambda: _stopped(assembly, forget),
            )
        )


def serve_stdio(assembly: Assembly, config: Path | None) -> None:
    """Offer the broker over MCP on the standard streams."""
    from discovercall import __version__
    from discovercall.gateway.mcp_face import serve_stdio

    _need_mcp()
    typer.echo(f"Search: {assembly.search}", err=True)
    serve_stdio(assembly.broker, version=__version__, list_servers=_lists_servers(config))


def _need_mcp() -> None:
    import importlib.util

    if importlib.util.find_spec("mcp") is None:
        raise InputError("the MCP SDK is not installed", fix="pip install 'discovercall[mcp]'")


def _lists_servers(config: Path | None) -> bool:
    return config is None or read_config(config).list_servers


def _tell_key(path: Path, key_file: Path | None) -> None:
    typer.echo(f"Key: {path} (only you can read it{'' if key_file else '; gone after the stop'})")


def _tell_run(url: str, path: Path, faults: tuple[Fault, ...]) -> None:
    typer.echo(
        f"Try: discovercall run --api-base-url {url} --api-key-file {path} --tasks tasks/v4.jsonl"
        " --adapter first-result --model first-result --lane configured-model --execute"
        " --output /tmp/run.jsonl"
    )
    if faults:
        typer.echo(f"Faults: {len(faults)}")
    typer.echo("Stop with Ctrl-C.")


def _stopped(assembly: Assembly, forget: Callable[[], None]) -> None:
    """What has to be done right away: after SIGTERM the process ends without coming back."""
    forget()
    assembly.broker.close()


def _until_stopped(serving: Callable[[], None]) -> None:
    try:
        serving()
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_INTERRUPTED) from None


@contextlib.contextmanager
def _key(path: Path | None) -> Iterator[tuple[str, Path, Callable[[], None]]]:
    """The key, its file, and what forgets a key that was made for this one service."""
    from discovercall.gateway.keys import new_key, read_key, write_key

    if path is not None and path.exists():
        yield read_key(path), path, lambda: None
        return
    key = new_key()
    if path is not None:
        write_key(path, key)
        yield key, path, lambda: None
        return
    folder = Path(tempfile.mkdtemp(prefix="discovercall-gateway-"))

    def forget() -> None:
        shutil.rmtree(folder, ignore_errors=True)

    try:
        write_key(folder / "api-key", key)
        yield key, folder / "api-key", forget
    finally:
        forget()
