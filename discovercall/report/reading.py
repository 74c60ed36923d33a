"""The plain objects that commands print as JSON, read back as the report model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from discovercall.report.model import (
    Comparability,
    Count,
    Failure,
    Gap,
    Gate,
    Interval,
    Lane,
    Run,
    Spent,
    TaskSuccesses,
)


def run_of(report: Run | Mapping[str, Any]) -> Run:
    """A run from what `cadence document --format json` prints, or as it is."""
    if isinstance(report, Run):
        return report
    gap, spent = report["gap"], report["spent"]
    return Run(
        rehearsal=report["rehearsal"],
        release_sha=report["release_sha"],
        date=report["date"],
        methodology=report["methodology"],
        task_set_version=report["task_set"]["version"],
        tasks=report["tasks"],
        trials=report["trials"],
        records_per_lane=report["records_per_lane"],
        lanes=tuple(lane_of(lane) for lane in report["lanes"]),
        gap=None if gap is None else gap_of(gap),
        gap_refused=report["gap_refused"],
        comparability=comparability_of(report["comparability"]),
        successes_by_task=tuple(
            TaskSuccesses(task["task"], tuple(task["successes"])) for task in report["successes_by_task"]
        ),
        plan_digest=report["plan_digest"],
        bundle_sha256=report["bundle_sha256"],
        spent=None if spent is None else Spent(**spent),
    )


def lane_of(lane: Mapping[str, Any]) -> Lane:
    """A lane from its plain object."""
    return Lane(
        lane=lane["lane"],
        stem=lane["stem"],
        model=lane["model"],
        counts={name: None if c is None else Count(c[0], c[1]) for name, c in lane["counts"].items()},
        required_parameter_accuracy=lane["required_parameter_accuracy"],
        constraint_accuracy=lane["constraint_accuracy"],
        headline_95=interval_of(lane["headline_95"]),
        bootstrap_95=interval_of(lane["bootstrap_95"]),
        design_effect=lane["design_effect"],
        failures=tuple(Failure(**failure) for failure in lane["failures"]),
        gates=tuple(Gate(name, left) for name, left in lane["gates"]),
        provenance=lane["provenance"],
        runs_sha256=lane["runs_sha256"],
    )


def lane_json(lane: Lane) -> dict[str, Any]:
    """The plain object of a lane, the inverse of `lane_of`."""
    plain = {field.name: getattr(lane, field.name) for field in fields(lane)}
    return {
        **plain,
        "counts": {name: None if c is None else [c.passed, c.of] for name, c in lane.counts.items()},
        "headline_95": None if lane.headline_95 is None else list(lane.headline_95),
        "bootstrap_95": None if lane.bootstrap_95 is None else list(lane.bootstrap_95),
        "failures": [
            {"stage": f.stage, "reason": f.reason, "count": f.count, "tasks": dict(f.tasks)}
            for f in lane.failures
        ],
        "gates": [[gate.name, gate.left] for gate in lane.gates],
        "provenance": dict(lane.provenance),
    }


def gap_of(gap: Gap | Mapping[str, Any]) -> Gap:
    """A gap from the plain object of `compare --format json`, or as it is."""
    if isinstance(gap, Gap):
        return gap
    return Gap(
        points=gap["points"],
        interval_95=_two(gap["interval_95"]),
        p_value=gap["p_value"],
        differing_tasks=gap["differing_tasks"],
        differing_tasks_needed=gap["differing_tasks_needed"],
        better=tuple(gap["better"]),
        equal=tuple(gap["equal"]),
        worse=tuple(gap["worse"]),
        smallest_detectable=gap["smallest_detectable"],
        tasks_needed_for_5_points=gap["tasks_needed_for_5_points"],
    )


def comparability_of(found: Comparability | Mapping[str, Any]) -> Comparability:
    """A comparability from the plain object of `compare --format json`, or as it is."""
    if isinstance(found, Comparability):
        return found
    return Comparability(
        same_discovery=found["same_discovery"],
        unknown_trials=found["unknown_trials"],
        trials=found["trials"],
        differing_trials=found["differing_trials"],
        differing_tasks=tuple(found["differing_tasks"]),
        mean_overlap=found["mean_overlap"],
    )


def interval_of(limits: Sequence[float] | None) -> Interval | None:
    """An interval from a list of two limits."""
    return None if limits is None else _two(limits)


def _two(limits: Sequence[float]) -> Interval:
    low, high = limits
    return low, high
