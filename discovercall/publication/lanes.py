"""From the scores of a validated pair to the report model: every count is counted in the records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from discovercall.contract.summary import first_failure
from discovercall.report.model import Count, Failure, Gate, Lane
from discovercall.report.reading import interval_of
from discovercall.report.results import Result, TaskTrials, Trial

Score = Mapping[str, Any]
GATES = ("discover and select", "inspect", "parameterize", "call", "result")


def lane_of_scores(
    entry: Mapping[str, Any],
    extras: Mapping[str, Any],
    scores: Sequence[Score],
    *,
    lane: str,
    stem: str,
    runs_sha256: str | None,
) -> Lane:
    """One model of a summary as a lane.

    Args:
        entry: its entry in the summary's `models`.
        extras: its entry in what the summary says beyond method v2.
        scores: its scores.
        lane: what the lane is called.
        stem: of the pair.
        runs_sha256: digest of the records file.
    """
    return Lane(
        lane=lane,
        stem=stem,
        model=entry["model"],
        counts=counts_of(scores),
        required_parameter_accuracy=entry["required_parameter_accuracy"],
        constraint_accuracy=entry["constraint_accuracy"],
        headline_95=interval_of(extras["workflow_success_headline_95"]),
        bootstrap_95=interval_of(entry["workflow_success_task_cluster_bootstrap_95"]),
        design_effect=extras["design_effect"],
        failures=_failures(scores),
        gates=_gates(scores),
        provenance=scores[0]["metadata"],
        runs_sha256=runs_sha256,
    )


def results_of_pair(
    stem: str, summary: Mapping[str, Any], records: Sequence[Mapping[str, Any]], *, rehearsal: bool
) -> Iterator[Result]:
    """Every model of a validated pair.

    Args:
        summary: complete, with what it says beyond method v2.
        records: the public records behind it, in its order.
    """
    additions = summary["discovercall"]
    for entry, extras in zip(summary["models"], additions["models"], strict=True):
        scores = [score for score in summary["records"] if score["model"] == entry["model"]]
        lane = lane_of_scores(
            entry, extras, scores, lane=entry["lane"], stem=stem, runs_sha256=additions.get("runs_sha256")
        )
        yield Result(
            lane=lane,
            rehearsal=rehearsal,
            methodology=summary["methodology"],
            measured_at=min(r["started_at"] for r in records if r["model"] == entry["model"]),
            generated_at=summary["generated_at"],
            tasks=entry["tasks"],
            trials=entry["trials_per_task"],
            planned=entry["tasks"] * entry["trials_per_task"],
            scored=entry["runs"],
            intra_task_correlation=extras["intra_task_correlation"],
            by_task=_by_task(scores),
        )


def counts_of(scores: Sequence[Score]) -> dict[str, Count | None]:
    """Numerator and denominator of each rate; None where one is unknown or has nothing to divide by."""
    everything = list(scores)
    called = [score for score in scores if score["call_success"] is not None]
    succeeded = [score for score in scores if score["call_success"] is True]
    unknown_results = any(score["result_nonempty"] is None for score in succeeded)
    unknown_success = any(score["workflow_success"] is None for score in scores)

    def count(field: str, among: Sequence[Score], wanted: object = True) -> Count | None:
        return Count(sum(score[field] == wanted for score in among), len(among)) if among else None

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


def _failures(scores: Sequence[Score]) -> tuple[Failure, ...]:
    """Strict failures by first failed gate and reason, the most frequent first, with their tasks."""
    found: dict[tuple[str, str | None], dict[str, int]] = {}
    for score in scores:
        failure = first_failure(score)
        if failure is not None:
            tasks = found.setdefault(failure, {})
            tasks[score["task_id"]] = tasks.get(score["task_id"], 0) + 1
    entries = [Failure(stage, reason, sum(tasks.values()), tasks) for (stage, reason), tasks in found.items()]
    return tuple(sorted(entries, key=lambda entry: (-entry.count, entry.stage, entry.reason or "")))


def _gates(scores: Sequence[Score]) -> tuple[Gate, ...]:
    """How many trials passed each gate and all before it."""
    passed: tuple[Callable[[Score], bool], ...] = (
        lambda s: s["selection_grounded"] is True,
        lambda s: s["inspection_grounded"] is True,
        lambda s: s["required_parameter_accuracy"] == 1 and s["constraint_accuracy"] == 1,
        lambda s: s["call_success"] is True,
        lambda s: s["result_nonempty"] is True,
    )
    left = list(scores)
    gates: list[Gate] = []
    for name, test in zip(GATES, passed, strict=True):
        left = [score for score in left if test(score)]
        gates.append(Gate(name, len(left)))
    return tuple(gates)


def _by_task(scores: Sequence[Score]) -> tuple[TaskTrials, ...]:
    found: dict[str, list[Trial]] = {}
    for score in scores:
        stage, reason = first_failure(score) or (None, None)
        trial = Trial(score["trial"], score["workflow_success"], stage, reason)
        found.setdefault(score["task_id"], []).append(trial)
    return tuple(
        TaskTrials(task, tuple(sorted(trials, key=lambda trial: trial.trial)))
        for task, trials in found.items()
    )
