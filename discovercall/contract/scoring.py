"""From one record, private or public, to its score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discovercall.contract.matching import constraint_accuracy, required_parameter_accuracy
from discovercall.foundation.ecmascript import is_blank, is_finite_number, is_integer
from discovercall.foundation.errors import InputError
from discovercall.statistics.bootstrap import round_half_up as rounded


def _part(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = record.get(name)
    return value if isinstance(value, (dict, Mapping)) else {}  # dict first: the abstract check is slow


def _grounded(part: Mapping[str, Any], ids: str, tool_id: object) -> bool:
    attested = part.get("selection_grounded")
    if isinstance(attested, bool):
        return attested
    listed = part.get(ids)
    return isinstance(tool_id, str) and tool_id != "" and isinstance(listed, list) and tool_id in listed


def _accuracies(task: Mapping[str, Any], record: Mapping[str, Any]) -> tuple[float, float]:
    attested = record.get("parameterization")
    if "parameters" not in record and attested is not None:
        metrics = attested if isinstance(attested, Mapping) else {}
        pair = (metrics.get("required_parameter_accuracy"), metrics.get("constraint_accuracy"))
        for value in pair:
            if not is_finite_number(value) or not 0 <= value <= 1:  # type: ignore[operator]
                raise InputError(
                    "parameterization needs required_parameter_accuracy and constraint_accuracy from 0 to 1",
                    where=_where(record),
                )
        return rounded(pair[0]), rounded(pair[1])  # type: ignore[arg-type]
    parameters = record.get("parameters")
    required = _part(record, "inspection").get("required_parameters")
    return (
        _rounded_share(required_parameter_accuracy(required, parameters)),
        _rounded_share(constraint_accuracy(task.get("constraints") or [], parameters)),
    )


def _rounded_share(share: float) -> float:
    return share if share in (0.0, 1.0) else rounded(share)


def _where(record: Mapping[str, Any]) -> str:
    return f"record {record.get('run_id', '?')}"


def _result_nonempty(call: Mapping[str, Any]) -> bool | None:
    if call.get("success") is not True:
        return False
    recorded = call.get("result_nonempty")
    if recorded is None:
        recorded = call.get("result_valid")
    return recorded if isinstance(recorded, bool) else None


def check_identity(record: Any) -> None:
    """Refuse a record without `model` or a whole `trial` of at least 1.

    Raises:
        InputError: names the record and the field.
    """
    if not isinstance(record, (dict, Mapping)):
        raise InputError("a run record must be a JSON object")
    model = record.get("model")
    if not isinstance(model, str) or is_blank(model):
        raise InputError("model is required", where=_where(record))
    trial = record.get("trial")
    if not is_integer(trial) or trial < 1:  # type: ignore[operator]
        raise InputError("trial must be a whole number from 1", where=_where(record))


def score_record(task: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """Score one record against its task.

    Args:
        task: a task as `parse_task_set` gives it.
        record: a private record, or a public one, whose attestations stand in for the withheld evidence.

    Returns:
        The score, a plain object with the fields that a summary's `records` list has.

    Raises:
        InputError: the record has no model, no valid trial, or attests impossible numbers; or no task.
    """
    check_identity(record)
    if not isinstance(task, Mapping):
        raise InputError(f"unknown task: {record.get('task_id')}", where=_where(record))
    return score_checked(task, record)


def score_checked(task: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """`score_record` of a record whose identity is checked.

    Raises:
        InputError: the record attests impossible numbers.
    """
    call = _part(record, "call")
    executed = call.get("attempted") is True
    completed = record.get("status") == "completed"
    tool_id = _part(record, "selection").get("tool_id")
    selection_grounded = _grounded(_part(record, "discovery"), "result_tool_ids", tool_id)
    inspection_grounded = _grounded(_part(record, "inspection"), "returned_tool_ids", tool_id)
    required_accuracy, constraints_accuracy = _accuracies(task, record)
    call_success = (call.get("success") is True) if executed else None
    result_nonempty = _result_nonempty(call) if executed else None
    before_result = (
        completed
        and selection_grounded
        and inspection_grounded
        and required_accuracy == 1
        and constraints_accuracy == 1
        and call_success is True
    )
    error = _part(record, "error")
    score: dict[str, Any] = {
        "run_id": record.get("run_id"),
        "task_id": record.get("task_id"),
        "model": record["model"],
        "trial": record["trial"],
        "completed": completed,
        "executed": executed,
        "selection_grounded": selection_grounded,
        "inspection_grounded": inspection_grounded,
        "required_parameter_accuracy": required_accuracy,
        "constraint_accuracy": constraints_accuracy,
        "call_success": call_success,
        "result_nonempty": result_nonempty,
        "pre_result_gate_workflow_success": before_result,
        "workflow_success": result_nonempty if before_result else False,
        "error_stage": error.get("stage"),
        "error_reason": error.get("reason_code"),
    }
    if "metadata" in record:
        score["metadata"] = record["metadata"]
    return score
