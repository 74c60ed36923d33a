"""A summary as tables on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from discovercall.report.numbers import decimal, percent, percent_interval


def plain(text: str) -> Text:
    """Text from a record or a task, shown as it is: no markup in it counts, no control character gets out."""
    return Text("".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text))


_ROWS = (
    ("Selection grounded", "selection_grounded_rate"),
    ("Inspection grounded", "inspection_grounded_rate"),
    ("Required parameters", "required_parameter_accuracy"),
    ("Constraints", "constraint_accuracy"),
    ("Call success (of calls)", "call_success_rate"),
    ("Result non-empty (of successful calls)", "result_nonempty_rate"),
)


def print_summary(summary: Mapping[str, Any], console: Console | None = None) -> None:
    """Print success with its intervals, component metrics and failures by gate, a column per model."""
    console = console or Console()
    models = summary["models"]
    extras = summary["discovercall"]["models"]
    console.print(f"Strict workflow success ({summary['methodology']})", style="italic", highlight=False)
    table = Table()
    table.add_column("")
    for model in models:
        table.add_column(plain(f"{model['model']}\n{model['lane']}"), justify="right")
    table.add_row("Strict success", *(percent(m["workflow_success_rate"]) for m in models), style="bold")
    table.add_row(
        "  95% over tasks (headline)", *(percent_interval(e["workflow_success_headline_95"]) for e in extras)
    )
    table.add_row(
        "  95% bootstrap (v2)",
        *(percent_interval(m["workflow_success_task_cluster_bootstrap_95"]) for m in models),
    )
    table.add_row("Tasks × trials", *(f"{m['tasks']} × {m['trials_per_task']}" for m in models))
    table.add_row(
        "Completed / called", *(f"{m['completed']} / {m['executed']} of {m['runs']}" for m in models)
    )
    for label, field in _ROWS:
        table.add_row(label, *(percent(m[field]) for m in models))
    table.add_row("Design effect of trials", *(decimal(e["design_effect"]) for e in extras))
    console.print(table)
    _print_failures(models, console)
    console.print(
        "The interval covers a population of such tasks; no interval here covers effects that a whole run"
        " shares, such as the day or the catalog's state.",
        style="dim",
    )


def _print_failures(models: list[Mapping[str, Any]], console: Console) -> None:
    stages = list(dict.fromkeys(stage for model in models for stage in model["failures_by_stage"]))
    if not stages:
        console.print("No strict failure.")
        return
    console.print("Failures by first failed gate", style="italic")
    table = Table()
    table.add_column("Stage")
    for model in models:
        table.add_column(plain(model["model"]), justify="right")
    for stage in stages:
        table.add_row(plain(stage), *(str(model["failures_by_stage"].get(stage, 0)) for model in models))
    console.print(table)
    reasons = list(dict.fromkeys(reason for model in models for reason in model["failures_by_reason"]))
    for reason in reasons:
        counts = ", ".join(
            f"{model['model']} {model['failures_by_reason'][reason]}"
            for model in models
            if reason in model["failures_by_reason"]
        )
        console.print(plain(f"  {reason}: {counts}"))
