"""`discovercall ledger`: what a run planned, did, was billed for, and does not know."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discovercall.cli.formats import Format, print_json


def ledger(
    output: Annotated[Path, typer.Argument(help="The run's output file, or its journal.")],
    format: Annotated[Format, typer.Option(help="What is printed.")] = Format.HUMAN,
) -> None:
    """Print the spend ledger of a run: planned, done, billed, unknown."""
    from discovercall.contract.journal import find_journal
    from discovercall.contract.ledger import read_ledger
    from discovercall.contract.spend import credit_sum
    from discovercall.foundation.shown import shown_line

    path = find_journal(output)
    book = read_ledger(path)
    report = {
        "schema_version": 1,
        "journal": str(path),
        "planned": book.planned,
        "done": len(book.records),
        "billed": len(book.drafts),
        "unknown": len(book.unknown),
        "credits": credit_sum(book.prices.values()),
        "limits": book.limits,
        "unknown_trials": [key.to_json() for key in book.unknown],
    }
    if format is Format.JSON:
        print_json(report)
        return
    typer.echo(shown_line(str(path)))
    typer.echo(f"planned  {book.planned} records")
    typer.echo(f"done     {len(book.records)}")
    calls, credits = book.limits["max_billed_calls"], book.limits.get("max_credits")
    most = "" if credits is None else f" of at most {credits:g}"
    typer.echo(
        f"billed   {len(book.drafts)} calls of at most {calls}; {report['credits']:g} credits known{most}"
    )
    typer.echo(f"unknown  {len(book.unknown)} calls that were sent and never answered")
    for key in book.unknown:
        typer.echo(f"  task {shown_line(key.task_id)}, trial {key.trial}, lane {key.lane + 1}")
