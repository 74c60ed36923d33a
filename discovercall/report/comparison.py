"""A comparison of two runs in words and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discovercall.report.model import Comparability, Gap
from discovercall.report.numbers import percent, percent_interval, points, points_interval
from discovercall.report.reading import comparability_of, gap_of

if TYPE_CHECKING:
    from rich.console import Console

LABELS = {
    "selection_grounded_rate": "Selection grounded",
    "inspection_grounded_rate": "Inspection grounded",
    "required_parameter_accuracy": "Required parameters",
    "constraint_accuracy": "Constraints",
    "call_success_rate": "Call success (of calls)",
    "result_nonempty_rate": "Result non-empty (of successful calls)",
}


def gap_sentence(gap: Gap | Mapping[str, Any]) -> str:
    """The gap with its interval and exact test; says where no test could have found anything."""
    gap = gap_of(gap)
    text = (
        f"A − B: {points(gap.points)}, 95% interval {points_interval(gap.interval_95)},"
        f" exact p = {gap.p_value:.3g}"
    )
    if not gap.could_differ:
        text += f". {gap.differing_tasks} task(s) differ; {needed_to_differ(gap.differing_tasks_needed)}"
    return text


def needed_to_differ(needed: int) -> str:
    """How many have to differ before the exact test can find anything."""
    return f"p ≤ .05 needs at least {needed} in one direction"


def gap_evidence(gap: Gap) -> str:
    """What a gap of two lanes rests on: its interval, and the exact test."""
    return f"95% {points_interval(gap.interval_95)}, exact sign-flip test over tasks p = {gap.p_value:.3g}"


def comparability_sentence(found: Comparability | Mapping[str, Any]) -> str:
    """What the discovery lists allow to be said about the gap."""
    found = comparability_of(found)
    if found.same_discovery is None:
        return (
            f"For {found.unknown_trials} of {found.trials} trials the records don't say what discovery"
            " listed: whether the catalogs were the same is unknown."
        )
    if found.same_discovery:
        return "Both runs saw the same discovery lists in every trial: the gap is a routing effect."
    tasks = ", ".join(found.differing_tasks)
    text = (
        f"The runs saw different catalogs: other discovery lists in {found.differing_trials} of"
        f" {found.trials} trials ({tasks}). The gap mixes routing with catalog drift."
    )
    if found.mean_overlap is not None:
        text += f" Where lists differ, they share {found.mean_overlap * 100:.0f}% of their tools on average."
    return text


def power_sentence(gap: Gap | Mapping[str, Any]) -> str:
    """What such a comparison can find at all."""
    gap = gap_of(gap)
    needed, smallest = gap.tasks_needed_for_5_points, gap.smallest_detectable
    parts = []
    if smallest is not None:
        parts.append(f"the smallest gap it would have found with 80% power is {smallest * 100:.1f} points")
    else:
        parts.append("with so few tasks no gap would have been found with 80% power")
    if needed is not None:
        parts.append(f"a gap of 5 points would take about {needed} tasks")
    return "; ".join(parts) + "."


def print_comparison(report: Mapping[str, Any], console: Console | None = None) -> None:
    """Print metrics side by side, the gap, the tasks it comes from, and what may be claimed."""
    from rich.console import Console
    from rich.table import Table

    from discovercall.report.terminal import plain

    console = console or Console()
    models, gap = report["models"], gap_of(report["gap"])
    table = Table()
    table.add_column("")
    for letter, model in zip("AB", models, strict=True):
        table.add_column(plain(f"{letter}: {model['model']}\n{model['lane']}"), justify="right")
    table.add_row("Strict success", *(percent(m["workflow_success_rate"]) for m in models), style="bold")
    table.add_row("  95% over tasks (headline)", *(percent_interval(m["headline_95"]) for m in models))
    table.add_row("Tasks × trials", *(f"{m['tasks']} × {m['trials_per_task']}" for m in models))
    for field, label in LABELS.items():
        table.add_row(label, *(percent(m[field]) for m in models))
    console.print(table)
    console.print(gap_sentence(gap), style="bold", highlight=False)
    for label, tasks in (("A better", gap.better), ("A worse", gap.worse)):
        if tasks:
            console.print(plain(f"{label} on {len(tasks)}: {', '.join(tasks)}"))
    console.print(f"Equal on {len(gap.equal)} task{'' if len(gap.equal) == 1 else 's'}.", highlight=False)
    console.print(f"Power: {power_sentence(gap)}", highlight=False)
    console.print(plain(comparability_sentence(report["comparability"])))
    console.print(
        "Both are samples of a population of such tasks; no interval covers effects that a whole run shares,"
        " such as the day.",
        style="dim",
    )
