"""What there is to say of one run, as a plain object: every count is counted in the records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discovercall.cadence.bundle import Spent
from discovercall.cadence.evidence import LaneResult, Results
from discovercall.cadence.plan import Inputs
from discovercall.contract.comparison import Side, comparability, compare_runs
from discovercall.contract.summary import first_failure
from discovercall.foundation.errors import RefusedError

Score = Mapping[str, Any]
GATES = ("discover and select", "inspect", "parameterize", "call", "result")


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known of a run beside its pairs.

    Attributes:
        plan_digest: of the approved plan; None where nobody knows it.
        bundle_sha256: digest of the bundle; None where it came by another way.
        spent: None where nobody knows it.
        repository_url: for links; None without a repository.
    """

    release_sha: str
    date: str
    version: str
    branch: str
    plan_digest: str | None = None
    bundle_sha256: str | None = None
    spent: Spent | None = None
    repository_url: str | None = None


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
        "repository_url": facts.repository_url,
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
    entry, scores = lane.summary["models"][0], lane.summary["records"]
    extras = lane.summary["discovercall"]["models"][0]
    return {
        "lane": lane.lane,
        "stem": lane.stem,
        "model": entry["model"],
        "counts": _counts(scores),
        "required_parameter_accuracy": entry["required_parameter_accuracy"],
        "constraint_accuracy": entry["constraint_accuracy"],
        "headline_95": extras["workflow_success_headline_95"],
        "bootstrap_95": entry["workflow_success_task_cluster_bootstrap_95"],
        "design_effect": extras["design_effect"],
        "failures": _failures(scores),
        "gates": _gates(scores),
        "provenance": dict(lane.metadata),
        "runs_sha256": lane.summary["discovercall"]["runs_sha256"],
    }


def _counts(scores: Sequence[Score]) -> dict[str, list[int] | None]:
    """Numerator and denominator of each rate; None where one is unknown or has nothing to divide by."""
    everything = list(scores)
    called = [score for score in scores if score["call_success"] is not None]
    succeeded = [score for score in scores if score["call_success"] is True]
    unknown_results = any(score["result_nonempty"] is None for score in succeeded)
    unknown_success = any(score["workflow_success"] is None for score in scores)

    def count(field: str, among: Sequence[Score], wanted: object = True) -> list[int] | None:
        return [sum(score[field] == wanted for score in among), len(among)] if among else None

    return {
        "workflow_success": None if unknown_success else count("workflow_success", everything),
        "completed": count("completed", everything),
        "executed": count("executed", everything),
        "selection_grounded": count("selection_grounded", everything),
        "inspection_grounded": count("inspection_grounded", everything),
        "required_parameters_complete": count("required_parameter_accuracy", everything, 1),
        "constraints_met": count("constraint_accuracy", everything, 1),
        "call_success": count("call_success", called),
        "result_nonempty": None if unknown_results else count("result_nonempty", succeeded),
    }


def _failures(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """Strict failures by first failed gate and reason, the most frequent first, with their tasks."""
    found: dict[tuple[str, str | None], dict[str, int]] = {}
    for score in scores:
        failure = first_failure(score)
        if failure is not None:
            tasks = found.setdefault(failure, {})
            tasks[score["task_id"]] = tasks.get(score["task_id"], 0) + 1
    entries = [
        {"stage": stage, "reason": reason, "count": sum(tasks.values()), "tasks": tasks}
        for (stage, reason), tasks in found.items()
    ]
    return sorted(entries, key=lambda entry: (-entry["count"], entry["stage"], entry["reason"] or ""))


def _gates(scores: Sequence[Score]) -> list[list[Any]]:
    """How many trials passed each gate and all before it."""
    passed: tuple[Callable[[Score], bool], ...] = (
        lambda s: s["selection_grounded"] is True,
        lambda s: s["inspection_grounded"] is True,
        lambda s: s["required_parameter_accuracy"] == 1 and s["constraint_accuracy"] == 1,
        lambda s: s["call_success"] is True,
        lambda s: s["result_nonempty"] is True,
    )
    left = list(scores)
    gates: list[list[Any]] = []
    for name, test in zip(GATES, passed, strict=True):
        left = [score for score in left if test(score)]
        gates.append([name, len(left)])
    return gates


def _successes(lanes: Sequence[LaneResult]) -> list[dict[str, Any]]:
    """Strict successes of each task, a number a lane; None where one is unknown."""
    found: dict[str, list[int | None]] = {}
    for index, lane in enumerate(lanes):
        for score in lane.summary["records"]:
            counts = found.setdefault(score["task_id"], [0] * len(lanes))
            known, outcome = counts[index], score["workflow_success"]
            counts[index] = None if known is None or outcome is None else known + outcome
    return [{"task": task, "successes": counts} for task, counts in found.items()]
