"""From scored records to the published summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from discovercall.contract.additions import Measurements, model_additions, workflow_task_rates
from discovercall.contract.scoring import score_checked
from discovercall.contract.tasks import validate_task_set
from discovercall.contract.uniformity import Provenances, RecordCheck, benchmark_version, trials_per_task
from discovercall.foundation.digests import is_sha256
from discovercall.foundation.errors import InputError
from discovercall.foundation.json_text import compact
from discovercall.statistics.bootstrap import round_half_up as rounded


def score_records(
    tasks: Sequence[Mapping[str, Any]],
    records: Sequence[Mapping[str, Any]],
    *,
    task_set_sha256: str | None = None,
    generated_at: str | None = None,
) -> dict[str, Any]:
    """Score whole runs: per-record scores and one entry per model.

    Args:
        tasks: the task set, plain objects.
        records: private or public records of one method version; each model covers every task with the
            same trials 1..n.
        task_set_sha256: digest of the task file; records that name another one are refused, and records
            of method v2 must name it.
        generated_at: time to put into the summary (UTC, ISO 8601), null when not given.

    Returns:
        The summary as a plain object.

    Raises:
        InputError: the records can't be scored together; says why.
    """
    by_id = _checked_tasks(tasks, task_set_sha256)
    check = RecordCheck(by_id, benchmark_version(records), task_set_sha256)
    for record in records:
        check(record)
    scoring = _Scoring(by_id)
    for record in records:
        scoring.add(record)
    return scoring.summary(check.version, generated_at)


def score_stream(
    tasks: Sequence[Mapping[str, Any]],
    records: Iterable[Mapping[str, Any]],
    *,
    task_set_sha256: str | None = None,
    generated_at: str | None = None,
) -> dict[str, Any]:
    """`score_records` over records of which each is held only until the next: for runs of any length.

    Raises:
        InputError: as `score_records`; where several things are wrong, it may name another of them.
    """
    by_id = _checked_tasks(tasks, task_set_sha256)
    scoring = _Scoring(by_id)
    check: RecordCheck | None = None
    for record in records:
        if check is None:
            first, check = record, RecordCheck(by_id, benchmark_version([record]), task_set_sha256)
        elif record.get("benchmark_version") != check.version:
            benchmark_version([first, record])
        check(record)
        scoring.add(record)
    return scoring.summary(benchmark_version([]) if check is None else check.version, generated_at)


def _checked_tasks(
    tasks: Sequence[Mapping[str, Any]], task_set_sha256: str | None
) -> dict[str, Mapping[str, Any]]:
    validate_task_set(tasks)
    if task_set_sha256 is not None and not is_sha256(task_set_sha256):
        raise InputError("task_set_sha256 must be 64 lower-case hex digits")
    return {task["id"]: task for task in tasks}


@dataclass(frozen=True, slots=True)
class _ModelRun:
    """What is known of one model's records."""

    provenance: Provenances = field(default_factory=Provenances)
    scores: list[dict[str, Any]] = field(default_factory=list)
    measurements: Measurements = field(default_factory=Measurements)


class _Scoring:
    def __init__(self, tasks: Mapping[str, Mapping[str, Any]]) -> None:
        self._tasks = tasks
        self._scores: list[dict[str, Any]] = []
        self._models: dict[str, _ModelRun] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        run = self._models.get(record["model"])
        if run is None:
            run = self._models[record["model"]] = _ModelRun()
        score = score_checked(self._tasks[record["task_id"]], record)
        shared = run.provenance.add(record)
        if "metadata" in shared:
            score["metadata"] = shared["metadata"]  # one object for all, however many records there are
        run.scores.append(score)
        run.measurements.add(record)
        self._scores.append(score)

    def summary(self, version: str, generated_at: str | None) -> dict[str, Any]:
        entries = []
        for model, run in self._models.items():
            run.provenance.check_unmixed(model)
            trials = trials_per_task(model, run.scores, self._tasks)
            entries.append(_model_entry(model, run.scores, trials))
        return {
            "schema_version": 1,
            "methodology": f"discover-call-{version}",
            "generated_at": generated_at,
            "models": entries,
            "records": self._scores,
            "discovercall": {
                "models": [
                    model_additions(model, run.scores, run.measurements)
                    for model, run in self._models.items()
                ]
            },
        }


def _model_entry(model: str, scores: Sequence[Mapping[str, Any]], trials: int) -> dict[str, Any]:
    def count(field: str) -> int:
        return [score[field] for score in scores].count(True)

    total = len(scores)
    executed = count("executed")
    calls_succeeded = count("call_success")
    success_rates = workflow_task_rates(scores)
    failures = [failure for score in scores if (failure := first_failure(score))]
    metadata = scores[0].get("metadata")
    lane = metadata.get("lane") if isinstance(metadata, Mapping) else None
    return {
        "model": model,
        "lane": "model" if lane is None else lane,
        "tasks": total // trials,
        "trials_per_task": trials,
        "runs": total,
        "completed": count("completed"),
        "executed": executed,
        "selection_grounded_rate": rounded(count("selection_grounded") / total),
        "inspection_grounded_rate": rounded(count("inspection_grounded") / total),
        "required_parameter_accuracy": _mean(scores, "required_parameter_accuracy"),
        "constraint_accuracy": _mean(scores, "constraint_accuracy"),
        "call_success_rate": rounded(calls_succeeded / executed) if executed else None,
        "result_nonempty_rate": _nonempty_rate(scores, calls_succeeded),
        "pre_result_gate_workflow_success_rate": rounded(count("pre_result_gate_workflow_success") / total),
        "workflow_success_rate": None
        if success_rates is None
        else rounded(count("workflow_success") / total),
        "workflow_success_task_cluster_bootstrap_95": _bootstrap(success_rates),
        "failures_by_stage": dict(Counter(stage for stage, _ in failures)),
        "failures_by_reason": dict(Counter(reason for _, reason in failures if reason is not None)),
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else compact(value)


def _mean(scores: Sequence[Mapping[str, Any]], field: str) -> float:
    return rounded(sum([score[field] for score in scores]) / len(scores))


def _nonempty_rate(scores: Sequence[Mapping[str, Any]], succeeded: int) -> float | None:
    evidence = [score["result_nonempty"] for score in scores if score["call_success"] is True]
    if not succeeded or any(value is None for value in evidence):
        return None
    return rounded(sum(evidence) / succeeded)


def _bootstrap(rates: Mapping[str, float] | None) -> list[float] | None:
    if rates is None:
        return None
    from discovercall.statistics.bootstrap import task_cluster_bootstrap_95

    low, high = task_cluster_bootstrap_95(list(rates.values()))
    return [rounded(low), rounded(high)]


def first_failure(score: Mapping[str, Any]) -> tuple[str, str | None] | None:
    """The first failed gate of a strict failure as (stage, reason); None for a success, for a completed
    dry run, and where only the non-empty evidence is missing."""
    if score["workflow_success"] is not False:
        return None
    if score["completed"] and not score["executed"] and score["error_stage"] is None:
        return None
    if score["error_stage"] is not None:
        reason = score["error_reason"]
        return _text(score["error_stage"]), None if reason is None else _text(reason)
    gates = (
        (score["completed"], "unknown", "incomplete_trial"),
        (score["selection_grounded"], "select", "ungrounded_selection"),
        (score["inspection_grounded"], "inspect", "ungrounded_inspection"),
        (score["required_parameter_accuracy"] == 1, "parameterize", "incomplete_required_parameters"),
        (score["constraint_accuracy"] == 1, "parameterize", "constraint_mismatch"),
        (score["call_success"], "call", "tool_returned_failure"),
        (score["result_nonempty"], "result", "empty_result"),
    )
    return next(((stage, reason) for passed, stage, reason in gates if not passed), None)
