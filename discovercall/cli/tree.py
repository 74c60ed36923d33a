"""The command tree as a table: the module of a command is imported only when that command is used.

To add a command, write its module and add a row to `COMMANDS`; nothing else is registered anywhere.
"""

from __future__ import annotations

import gc
import os
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand

_NEW_OBJECTS = 50_000
# Commands without linear algebra: the threads that numpy starts for it would only spin, and cost a third.
_ONE_THREAD = frozenset(("score", "publish", "validate", "compare", "report"))


class Entry(NamedTuple):
    """A command or group.

    Attributes:
        module: Module in `discovercall.cli`.
        member: Its function, or its `typer.Typer` for a group.
        help: First paragraph of its own help, repeated here so that the overview needs no import.
    """

    module: str
    member: str
    help: str


# In the order in which the overview shows them. A test holds each text equal to the command's own help.
COMMANDS = {
    "demo": Entry(
        "demo",
        "demo",
        "Run two lanes on the sandbox and score them: no key, no network.",
    ),
    "run": Entry("run", "run", "Run lanes over a task set; keep private records and a ledger."),
    "score": Entry("score", "score", "Score records: rates, intervals, failures by gate."),
    "publish": Entry(
        "publish",
        "publish",
        "Turn private records into pairs of files that may be public.",
    ),
    "validate": Entry(
        "validate",
        "validate",
        "Check committed files, or a task set, a policy, or a pair.",
    ),
    "compare": Entry(
        "compare",
        "compare",
        "Compare two runs: gap, exact test, interval, and their basis.",
    ),
    "report": Entry(
        "report",
        "report",
        "Show published results: headline, tasks, failures, trend.",
    ),
    "adapters": Entry(
        "adapters", "adapters", "List the bundled adapters and the variables that each declares."
    ),
    "doctor": Entry(
        "doctor",
        "doctor",
        "Say what adapters and the gateway lack here; nothing is sent.",
    ),
    "ledger": Entry("ledger", "ledger", "Print the spend ledger of a run: planned, done, billed, unknown."),
    "cadence": Entry(
        "cadence",
        "app",
        "Measure a release: planned, approved, run once, proposed.",
    ),
    "gateway": Entry("gateway", "app", "Find, describe and call tools of a world or of MCP servers."),
    "eval": Entry("eval", "app", "Measure the gateway over a labelled corpus, against thresholds."),
    "invoke": Entry("invoke", "app", "Run the same scenarios in two agent designs on one model."),
}


def register(app: typer.Typer) -> None:
    """Add every command of the table to the program."""
    for name, entry in COMMANDS.items():
        app.command(name, cls=LazyCommand, help=entry.help)(_not_loaded)


def load(name: str) -> Any:
    """The command itself, its module imported."""
    entry = COMMANDS[name]
    member = getattr(import_module(f"discovercall.cli.{entry.module}"), entry.member)
    holder = typer.Typer(rich_markup_mode=None)
    if isinstance(member, typer.Typer):
        holder.add_typer(member, name=name)
    else:
        holder.command(name)(member)
    return typer.main.get_group(holder).commands[name]


class LazyCommand(TyperCommand):
    """Stands in the overview for a command, and gives way to it when it is used."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the command itself, so that its options are parsed, and its function is called."""
        if self.name in _ONE_THREAD:
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        context = load(str(self.name)).make_context(info_name, args, parent, **extra)
        # Imports and records make many objects and little garbage: looking for it at the usual 700 is costly.
        gc.set_threshold(_NEW_OBJECTS)
        gc.enable()
        return context


def _not_loaded() -> None:
    raise AssertionError("a LazyCommand is never invoked")  # pragma: no cover
