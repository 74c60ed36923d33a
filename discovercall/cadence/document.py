"""What there is to say of one run, as a plain object: every count is counted in the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discovercall.cadence.bundle import Spent
from discovercall.cadence.evidence import LaneResult, Results
from discovercall.cadence.plan import Inputs
from discovercall.contract.comparison import Side, comparability, compare_runs
from discovercall.foundation.errors import RefusedError
from discovercall.publication.lanes import lane_of_scores
from discovercall.report.reading import lane_json

Score = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known of a run beside its pairs.

    Attributes:
        plan_digest: of the approved plan; None where nobody knows it.
        bundle_sha256: digest of the bundle; None where it came by another way.
        spent: None where nobody knows it.
    """

    release_sha: str
    date: str
    version: str
    branch: str
    plan_digest: str | None = None
    bundle_sha256: str | None = None
    spent: Spent | None = None


def release_report(results: Results, inputs: Inputs, facts: RunFacts) -> dict[str, Any]:
    """The report model that the results section, the pull request's body and the headline pages render.

    Args:
        results: both lanes, validated.
        inputs: task set and configuration.
        facts: what is known beside.
    """
    reference, configured = results.lanes
    sides = [Side(str(lane.summary["models"][0]["model"]), lane.records) for lane in results.lanes]
    gap, refusal = _gap(inputs, sides)
    entry = reference.summary["models"][0]
    return {
        "schema_version": 1,
        "rehearsal": results.rehearsal,
        "release_sha": facts.release_sha,
        "date": facts.date,
        "branch": facts.branch,
        "repository_url": None,  # never filled; the report keeps its fields
        "plan_digest": facts.plan_digest,
        "bundle_sha256": facts.bundle_sha256,
        "spent": None
        if facts.spent is None
        else {
            "attempt": facts.spent.attempt,
            "accepted_attempts": facts.spent.accepted_attempts,
            "billed_calls": facts.spent.billed_calls,
            "credits": facts.spent.credits,
        },
        "methodology": reference.summary["methodology"],
        "task_set": {
            "version": facts.version,
            "file": inputs.config.task_set,
            "sha256": inputs.task_set.sha256,
        },
        "tasks": entry["tasks"],
        "trials": entry["trials_per_task"],
        "records_per_lane": entry["runs"],
        "lanes": [_lane(lane) for lane in results.lanes],
        "gap": gap,
        "gap_refused": refusal,
        "comparability": comparability(reference.records, configured.records),
        "successes_by_task": _successes(results.lanes),
    }


def _gap(inputs: Inputs, sides: Sequence[Side]) -> tuple[dict[str, Any] | None, str | None]:
    """The gap, reference minus configured model; None with the reason where it is unknown."""
    try:
        compared = compare_runs(inputs.task_set.raw, *sides, task_set_sha256=inputs.task_set.sha256)
    except RefusedError as error:
        return None, str(error)
    found: dict[str, Any] = compared["gap"]
    return found, None


def _lane(lane: LaneResult) -> dict[str, Any]:
    summary = lane.summary
    return lane_json(
        lane_of_scores(
            summary["models"][0],
            summary["discovercall"]["models"][0],
            summary["records"],
            lane=lane.lane,
            stem=lane.stem,
            runs_sha256=summary["discovercall"]["runs_sha256"],
        )
    )


def _successes(lanes: Sequence[LaneResult]) -> list[dict[str, Any]]:
    """Strict successes of each task, a number a lane; None where one is unknown."""
    found: dict[str, list[int | None]] = {}
    for index, lane in enumerate(lanes):
        for score in lane.summary["records"]:
            counts = found.setdefault(score["task_id"], [0] * len(lanes))
            known, outcome = counts[index], score["workflow_success"]
            counts[index] = None if known is None or outcome is None else known + outcome
    return [{"task": task, "successes": counts} for task, counts in found.items()]
