"""`discovercall gateway`: search, describe and call tools; index MCP servers; serve the broker."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from discovercall.cli import gateway_serve
from discovercall.cli.formats import print_json
from discovercall.cli.gateway_broker import (
    CatalogOption,
    ConfigOption,
    FormatOption,
    GatewayFormat,
    Semantic,
    SemanticOption,
    opened,
    read_config,
    read_world,
    say_embedding,
    show,
)
from discovercall.foundation.errors import EXIT_NO, InputError

app = typer.Typer(help="Find, describe and call tools of a world or of MCP servers.", no_args_is_help=True)


class Face(StrEnum):
    """What `gateway serve` offers: the capability API, or MCP over HTTP or the standard streams."""

    API = "api"
    MCP_HTTP = "mcp-http"
    MCP_STDIO = "mcp-stdio"


@app.command()
def serve(
    face: Annotated[
        Face, typer.Option(help="The capability API, or MCP over HTTP or standard streams.")
    ] = Face.API,
    host: Annotated[str, typer.Option(help="Loopback address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8765,
    catalog: CatalogOption = None,
    config: ConfigOption = None,
    semantic: SemanticOption = None,
    faults: Annotated[
        Path | None, typer.Option(help="JSON list of faults to commit (API only).", metavar="FILE")
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option(help="Append a line for each request on arrival (API only).", metavar="FILE"),
    ] = None,
    api_key_file: Annotated[
        Path | None,
        typer.Option(help="Key that clients must send; created when absent.", metavar="FILE"),
    ] = None,
) -> None:
    """Serve the tools on this machine, until Ctrl-C."""
    from discovercall.gateway.faults import load_faults

    if face is not Face.API and (faults or journal):
        raise InputError("goes with --face api", where="--faults" if faults else "--journal")
    plan = load_faults(faults) if faults else ()
    if face is Face.API and config is None:
        if semantic not in (None, Semantic.OFF):
            raise InputError(
                "goes with --config or --face mcp-…",
                where="--semantic",
                fix="this API searches by words alone",
            )
        gateway_serve.serve_world(catalog, host, port, plan, journal, api_key_file)
        return
    with opened(catalog, config, semantic) as assembly:
        if face is Face.MCP_STDIO:
            gateway_serve.serve_stdio(assembly, config)
        elif face is Face.MCP_HTTP:
            gateway_serve.serve_mcp(assembly, config, host, port, api_key_file)
        else:
            gateway_serve.serve_broker(assembly, host, port, plan, journal, api_key_file)


@app.command()
def find(
    query: Annotated[str, typer.Argument(help="What the tool should do.")],
    limit: Annotated[
        int | None,
        typer.Option(help="How many tools to name; else as configured, or 5.", min=1, max=50),
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Add the numbers behind the decision.")] = False,
    catalog: CatalogOption = None,
    config: ConfigOption = None,
    semantic: SemanticOption = None,
    format: FormatOption = GatewayFormat.HUMAN,
) -> None:
    """Find the tool for a request."""
    with opened(catalog, config, semantic, limit=limit, scores=scores) as assembly:
        typer.echo(f"Search: {assembly.search}", err=True)
        show(assembly.broker.find(query), format)


@app.command()
def describe(
    tool_ref: Annotated[str, typer.Argument(help="server.tool, as `find` gave it.")],
    catalog: CatalogOption = None,
    config: ConfigOption = None,
    format: FormatOption = GatewayFormat.HUMAN,
) -> None:
    """Show one tool with its exact schema."""
    with opened(catalog, config, Semantic.OFF) as assembly:
        show(assembly.broker.describe(tool_ref), format)


@app.command()
def call(
    tool_ref: Annotated[str, typer.Argument(help="server.tool, as `find` gave it.")],
    arguments: Annotated[str, typer.Option("--json", help="Arguments as a JSON object.")] = "{}",
    catalog: CatalogOption = None,
    config: ConfigOption = None,
    format: FormatOption = GatewayFormat.HUMAN,
) -> None:
    """Execute one tool once."""
    from discovercall.gateway.operations import parsed_arguments
    from discovercall.gateway.results import Failure

    given = parsed_arguments(arguments, tool_ref)
    if isinstance(given, Failure):
        show(given, format)
        return
    with opened(catalog, config, Semantic.OFF) as assembly:
        show(assembly.broker.call(tool_ref, given), format)


@app.command("list")
def list_tools(
    catalog: CatalogOption = None,
    config: ConfigOption = None,
    format: FormatOption = GatewayFormat.HUMAN,
) -> None:
    """List the tools of the catalog."""
    from discovercall.gateway.listing import list_document
    from discovercall.gateway.store import CatalogUnreadableError

    with opened(catalog, config, Semantic.OFF) as assembly:
        digest = None if config else read_world(catalog).digest
        try:
            document = list_document(assembly.plain, digest, time.time())
        except CatalogUnreadableError as error:
            show(assembly.plain.unreadable(error), format)
            return
    if format is GatewayFormat.JSON:
        print_json(document)
        return
    if format is GatewayFormat.CONCISE:
        typer.echo(f"{len(document['tools'])} tools")
        return
    marks = {True: "reads", False: "changes"}
    _print_table(
        ("TOOL", "TITLE", "EFFECT", "SERVER"),
        [
            (row["toolRef"], row["title"], marks[bool(row["readOnly"])], row["serverStatus"])
            for row in document["tools"]
        ],
    )


@app.command()
def index(
    config: Annotated[
        Path, typer.Option("--config", help="gateway.toml with MCP servers.", metavar="FILE")
    ] = Path("gateway.toml"),
    semantic: SemanticOption = None,
    format: FormatOption = GatewayFormat.HUMAN,
) -> None:
    """Read the tools of all configured MCP servers.

    Exit code 1 when one of them can't be read.
    """
    from discovercall.gateway.listing import run_index
    from discovercall.gateway.rendering import index_lines

    result = run_index(read_config(config), semantic=semantic.value if semantic else None, busy=say_embedding)
    if format is GatewayFormat.JSON:
        print_json(result.to_json())
    else:
        lines = index_lines(result)
        typer.echo("\n".join(lines if format is GatewayFormat.HUMAN else lines[-1:]))
    if not result.complete:
        raise typer.Exit(EXIT_NO)


def _print_table(header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    from discovercall.foundation.shown import shown_line

    lines = [header, *([shown_line(str(cell)) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
