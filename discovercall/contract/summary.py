"""From scored records to the published summary, and the checks that make records comparable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from discovercall.contract.additions import additions, workflow_task_rates
from discovercall.contract.scoring import check_identity, score_record
from discovercall.contract.tasks import validate_task_set
from discovercall.foundation.digests import is_sha256, sha256_of_json
from discovercall.foundation.ecma_json import compact
from discovercall.foundation.ecmascript import is_blank
from discovercall.foundation.errors import InputError
from discovercall.statistics.bootstrap import round_half_up as rounded

BENCHMARK_VERSIONS = ("v1", "v2")
METADATA_FIELDS = (
    "lane",
    "model_revision",
    "adapter_revision",
    "toolkit_revision",
    "task_set_sha256",
    "api_base_url",
    "api_revision",
    "catalog_revision",
    "catalog_observation_sha256",
    "runtime",
    "discovery_limit",
    "execute",
)


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
    validate_task_set(tasks)
    if task_set_sha256 is not None and not is_sha256(task_set_sha256):
        raise InputError("task_set_sha256 must be 64 lower-case hex digits")
    version = _benchmark_version(records)
    by_id = {task["id"]: task for task in tasks}
    _check_records(records, by_id, version, task_set_sha256)
    models: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        models.setdefault(record["model"], []).append(record)
    scores = [score_record(by_id[record["task_id"]], record) for record in records]
    entries = []
    for model, own in models.items():
        _check_unmixed(model, own)
        trials = _trials_per_task(model, own, by_id)
        own_scores = [score for score in scores if score["model"] == model]
        entries.append(_model_entry(model, own[0], own_scores, trials))
    return {
        "schema_version": 1,
        "methodology": f"discover-call-{version}",
        "generated_at": generated_at,
        "models": entries,
        "records": scores,
        "discovercall": additions(scores, records),
    }


def _benchmark_version(records: Sequence[Mapping[str, Any]]) -> str:
    if not records:
        raise InputError("there is no record to score")
    versions = []
    for record in records:
        if not isinstance(record, Mapping):
            raise InputError("a run record must be an object")
        version = record.get("benchmark_version")
        versions.append("v1" if version is None else version)
    for version in versions:
        if version not in BENCHMARK_VERSIONS:
            raise InputError(f"unsupported benchmark_version {version!r}", fix="v1 and v2 are known")
    if len(set(versions)) > 1:
        raise InputError("records of different benchmark versions can't be scored together")
    return str(versions[0])


def _check_records(
    records: Sequence[Mapping[str, Any]],
    tasks: Mapping[str, Any],
    version: str,
    task_set_sha256: str | None,
) -> None:
    run_ids: set[str] = set()
    for record in records:
        run_id = record.get("run_id")
        if not isinstance(run_id, str) or is_blank(run_id):
            raise InputError("run_id is required", where=f"record of task {record.get('task_id')}")
        if run_id in run_ids:
            raise InputError(f"duplicate run_id {run_id}")
        run_ids.add(run_id)
        task_id = record.get("task_id")
        if not isinstance(task_id, str) or task_id not in tasks:
            raise InputError(f"unknown task: {task_id}", where=f"record {run_id}")
        check_identity(record)
        _check_digest(record, version, task_set_sha256)


def _check_digest(record: Mapping[str, Any], version: str, expected: str | None) -> None:
    if expected is None:
        return
    metadata = record.get("metadata")
    recorded = metadata.get("task_set_sha256") if isinstance(metadata, Mapping) else None
    if recorded is None and version == "v1":
        return
    if recorded != expected:
        raise InputError(
            f"made with task set {recorded or 'of no recorded digest'}, not {expected}",
            where=f"record {record['run_id']}",
            fix="score it with the task file it was made with",
        )


def _check_unmixed(model: str, records: Sequence[Mapping[str, Any]]) -> None:
    for field in ("schema_version", *METADATA_FIELDS):
        values = {_comparable(record, field) for record in records}
        if len(values) > 1:
            raise InputError(f"model {model} mixes different {field} values")


def _comparable(record: Mapping[str, Any], field: str) -> str:
    source: Any = record if field == "schema_version" else record.get("metadata")
    if not isinstance(source, Mapping) or field not in source:
        return ""
    value = source[field]
    return sha256_of_json(dict(sorted(value.items())) if isinstance(value, Mapping) else value)


def _trials_per_task(
    model: str, records: Sequence[Mapping[str, Any]], tasks: Mapping[str, Mapping[str, Any]]
) -> int:
    trials: dict[str, list[int]] = {task_id: [] for task_id in tasks}
    for record in records:
        trials[record["task_id"]].append(record["trial"])
    counts = {len(seen) for seen in trials.values()}
    for task_id, seen in trials.items():
        if not seen:
            raise InputError(f"model {model} has no record of task {task_id}")
        if sorted(seen) != list(range(1, len(seen) + 1)):
            raise InputError(f"model {model} must have the trials 1..n of task {task_id}, each once")
    if len(counts) > 1:
        raise InputError(f"model {model} has unequal numbers of trials per task")
    return counts.pop()


def _model_entry(
    model: str, first: Mapping[str, Any], scores: Sequence[Mapping[str, Any]], trials: int
) -> dict[str, Any]:
    def count(field: str) -> int:
        return sum(score[field] is True for score in scores)

    total = len(scores)
    executed = count("executed")
    calls_succeeded = count("call_success")
    success_rates = workflow_task_rates(scores)
    failures = [failure for score in scores if (failure := first_failure(score))]
    metadata = first.get("metadata")
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
    return rounded(sum(score[field] for score in scores) / len(scores))


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
