"""`discovercall cadence`: plan, guard, run and propose the benchmark of a release."""

from __future__ import annotations

import typer

from discovercall.cli.cadence_plan import dispatch, guard, plan
from discovercall.cli.cadence_propose import document, headline, propose, recover
from discovercall.cli.cadence_run import run

app = typer.Typer(
    help="Measure a release: planned, approved, run once, proposed.",
    no_args_is_help=True,
)
for command in (plan, guard, run, document, propose, recover, dispatch, headline):
    app.command()(command)
