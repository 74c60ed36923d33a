"""`discovercall adapters`: which adapters come along, and what each may see."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from discovercall.cli.formats import Format, print_json
from discovercall.foundation.errors import InputError


def adapters(
    revision: Annotated[
        str | None,
        typer.Option(help="Print only the revision of this adapter: what --adapter-revision is by default."),
    ] = None,
    adapter_arg: Annotated[
        list[str] | None,
        typer.Option(help="Argument for the adapter, with --revision; repeatable, may begin with dashes."),
    ] = None,
    format: Annotated[Format, typer.Option(help="What is printed.")] = Format.HUMAN,
) -> None:
    """List the bundled adapters and the variables that each declares."""
    if revision is not None:
        _print_revision(revision, tuple(adapter_arg or ()), format)
        return
    if adapter_arg:
        raise InputError("goes with --revision only", where="--adapter-arg")
    _print_list(format)


def _print_revision(name: str, arguments: tuple[str, ...], format: Format) -> None:
    from discovercall.adapter.bundled import bundled_adapter, bundled_adapters
    from discovercall.adapter.environment import adapter_environment
    from discovercall.adapter.identity import identify
    from discovercall.contract.provenance import resolve_toolkit_revision
    from discovercall.foundation.revision import installed_revision

    adapter = bundled_adapter(name)
    if adapter is None:
        raise InputError(
            f"{name!r} is no bundled adapter",
            where="--revision",
            fix=f"one of {', '.join(bundled_adapters())}",
        )
    environment = adapter_environment(os.environ, adapter.environment, ())
    identity = identify(adapter, arguments, environment, where="--revision")
    toolkit = resolve_toolkit_revision(installed_revision(), given=None, github_sha=None, rehearsal=True)
    if toolkit.warning:
        typer.echo(f"discovercall: {toolkit.warning}", err=True)
    text = identity.revision(toolkit.toolkit_revision)
    if format is Format.JSON:
        print_json({"schema_version": 1, "name": adapter.name, "revision": text})
    else:
        typer.echo(text)


def _print_list(format: Format) -> None:
    from discovercall.adapter.bundled import bundled_adapters
    from discovercall.adapter.environment import ALLOWED_NAMES

    found = bundled_adapters().values()
    if format is Format.JSON:
        print_json(
            {
                "schema_version": 1,
                "allowed": sorted(ALLOWED_NAMES),
                "adapters": [
                    {
                        "name": adapter.name,
                        "lane": adapter.lane,
                        "description": adapter.description,
                        "environment": list(adapter.environment),
                        "old_name_of": adapter.old_name_of,
                    }
                    for adapter in found
                ],
            }
        )
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Bundled adapters", title_justify="left")
    for heading in ("Name", "Lane", "What it is", "Environment it declares"):
        table.add_column(heading, overflow="fold")
    for adapter in found:
        what = adapter.description
        if adapter.old_name_of:
            what = f"old name of {adapter.old_name_of}"
        table.add_row(adapter.name, adapter.lane, what, "\n".join(adapter.environment) or "–")
    console = Console()
    console.print(table)
    console.print(
        f"Every adapter also sees, where set: {', '.join(sorted(ALLOWED_NAMES))}, LC_*. Nothing else, unless"
        " --adapter-env names it.",
        highlight=False,
    )
