"""`discovercall adapters`: which adapters come along, and what each may see."""

from __future__ import annotations

from typing import Annotated

import typer

from discovercall.cli.formats import Format, print_json


def adapters(format: Annotated[Format, typer.Option(help="What is printed.")] = Format.HUMAN) -> None:
    """List the bundled adapters and the environment names that each declares."""
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
        table.add_row(adapter.name, adapter.lane, what, ", ".join(adapter.environment) or "–")
    console = Console()
    console.print(table)
    console.print(
        f"Every adapter also sees, where set: {', '.join(sorted(ALLOWED_NAMES))}, LC_*. Nothing else, unless"
        " --adapter-env names it.",
        highlight=False,
    )
