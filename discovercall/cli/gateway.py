"""`discovercall gateway`: serve the tool catalog, list it, search it."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discovercall.cli.formats import Format, print_json

if TYPE_CHECKING:
    from discovercall.gateway.catalog import World

app = typer.Typer(help="The tool catalog: serve it, list it, search it.", no_args_is_help=True)

_Catalog = Annotated[
    Path | None,
    typer.Option(help="World file; default: the one that comes with the toolkit.", metavar="FILE"),
]


_FormatOption = Annotated[Format, typer.Option("--format", help="What is printed.")]


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Loopback address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8765,
    catalog: _Catalog = None,
    faults: Annotated[
        Path | None, typer.Option(help="JSON list of faults to commit.", metavar="FILE")
    ] = None,
    journal: Annotated[
        Path | None, typer.Option(help="Append a line for each request on arrival.", metavar="FILE")
    ] = None,
    api_key_file: Annotated[
        Path | None,
        typer.Option(help="Key that clients must send; created when absent.", metavar="FILE"),
    ] = None,
) -> None:
    """Serve the catalog as a capability API on this machine, until Ctrl-C."""
    from discovercall.gateway.faults import load_faults
    from discovercall.gateway.server import base_url, listen
    from discovercall.gateway.server import serve as serve_world

    world = _world(catalog)
    plan = load_faults(faults) if faults else ()
    with contextlib.closing(listen(host, port)) as listener:
        key, key_file, forget = _key(api_key_file)
        url = base_url(listener)
        typer.echo(f"{len(world.tools)} tools of {len(world.servers)} servers at {url}")
        typer.echo(f"Key: {key_file} (only you can read it{'' if api_key_file else '; gone after the stop'})")
        typer.echo(
            f"Try: discovercall run --api-base-url {url} --api-key-file {key_file} --tasks tasks/v4.jsonl "
            "--adapter first-result --model first-result --lane configured-model --execute --output run.jsonl"
        )
        if plan:
            typer.echo(f"Faults: {len(plan)}")
        typer.echo("Stop with Ctrl-C.")
        try:
            serve_world(world, listener, api_key=key, faults=plan, journal=journal, on_stop=forget)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        finally:
            forget()


@app.command("list")
def list_tools(catalog: _Catalog = None, output_format: _FormatOption = Format.HUMAN) -> None:
    """List the tools of the catalog."""
    world = _world(catalog)
    rows = [
        {
            "toolRef": tool.tool_ref,
            "title": tool.title,
            "readOnly": tool.read_only,
            "serverStatus": tool.server_status,
        }
        for tool in world.tools
    ]
    if output_format is Format.JSON:
        print_json({"catalogDigest": world.digest, "tools": rows})
        return
    marks = {True: "reads", False: "changes"}
    _print_table(
        ("TOOL", "TITLE", "EFFECT", "SERVER"),
        [(row["toolRef"], row["title"], marks[bool(row["readOnly"])], row["serverStatus"]) for row in rows],
    )


@app.command()
def find(
    query: Annotated[str, typer.Argument(help="What the tool should do.")],
    limit: Annotated[int, typer.Option(help="How many to show.", min=1, max=100)] = 10,
    catalog: _Catalog = None,
    output_format: _FormatOption = Format.HUMAN,
) -> None:
    """Search the catalog by words."""
    from discovercall.gateway.lexical import LexicalIndex

    index = LexicalIndex(_world(catalog).tools)
    found = [entry for entry in index.rank(query, limit=limit) if entry.score > 0]
    rows = [
        {
            "toolRef": entry.tool.tool_ref,
            "title": entry.tool.title,
            "score": round(entry.score, 6),
            "reason": index.reason(query, entry.tool.tool_ref),
        }
        for entry in found
    ]
    if output_format is Format.JSON:
        print_json({"query": query, "results": rows})
    elif not rows:
        typer.echo("No tool shares a word with the query. Other words may find it; `gateway list` shows all.")
    else:
        shown = [(row["toolRef"], f"{row['score']:.3f}", row["reason"]) for row in rows]
        _print_table(("TOOL", "SCORE", "WHY"), shown)


def _world(path: Path | None) -> World:
    from discovercall.gateway.catalog import default_world_path, load_world

    return load_world(path or default_world_path())


def _key(path: Path | None) -> tuple[str, Path, Any]:
    """The key, its file, and what to do about the file in the end."""
    from discovercall.gateway.keys import new_key, read_key, write_key

    if path is not None and path.exists():
        return read_key(path), path, lambda: None
    key = new_key()
    if path is not None:
        write_key(path, key)
        return key, path, lambda: None
    folder = Path(tempfile.mkdtemp(prefix="discovercall-gateway-"))
    write_key(folder / "api-key", key)
    return key, folder / "api-key", lambda: shutil.rmtree(folder, ignore_errors=True)


def _print_table(header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    lines = [header, *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
