"""Lanes as Markdown tables, the same in a results section, a pull request and a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from discovercall.foundation.artifacts import UNREPORTED
from discovercall.report.markdown import code, table
from discovercall.report.model import Lane
from discovercall.report.numbers import DASH, percent_interval, share
from discovercall.report.wording import METRICS, PROVENANCE, lane_name


def headline_line(lane: Lane) -> str:
    """Strict success of a lane with its headline interval, as a list item."""
    return (
        f"- {lane_name(lane.lane)} {code(lane.model)}: strict success **{share(lane.success)}**,"
        f" 95% over tasks {percent_interval(lane.headline_95)}"
    )


def result_table(lanes: Sequence[Lane]) -> list[str]:
    """All rates with counts and intervals, a column a lane."""
    rows = [
        ["**Strict workflow success**", *(f"**{share(lane.success)}**" for lane in lanes)],
        ["95% over tasks (headline)", *(percent_interval(lane.headline_95) for lane in lanes)],
        ["95% bootstrap (method v2)", *(percent_interval(lane.bootstrap_95) for lane in lanes)],
        *([label, *(share(lane.counts[field]) for lane in lanes)] for label, field in METRICS),
    ]
    header = ["", *(f"{lane_name(lane.lane)}<br>{code(lane.model)}" for lane in lanes)]
    return table(header, rows, right=range(1, len(header)))


def failure_table(lanes: Sequence[Lane], label: Callable[[Lane], str]) -> list[str]:
    """Strict failures by stage, reason and task; `label` names a lane in a cell."""
    rows = [
        [
            label(lane),
            failure.stage,
            code(failure.reason) if failure.reason else DASH,
            str(failure.count),
            ", ".join(f"{code(task)} {count}" for task, count in failure.tasks.items()),
        ]
        for lane in lanes
        for failure in lane.failures
    ]
    if not rows:
        return ["No strict failure."]
    return table(["Lane", "First failed gate", "Reason", "Trials", "Tasks (trials)"], rows, right=(3,))


def provenance_rows(lanes: Sequence[Lane]) -> list[list[str]]:
    """Where the records come from, a column a lane after the labels."""
    rows = [[label, *(_provenance(lane, field) for lane in lanes)] for label, field in PROVENANCE]
    return [*rows, ["Records SHA-256", *(code(lane.runs_sha256 or "") for lane in lanes)]]


def _provenance(lane: Lane, field: str) -> str:
    value = str(lane.provenance.get(field, ""))
    return f"{UNREPORTED} (not pinned)" if value == UNREPORTED else code(value)
