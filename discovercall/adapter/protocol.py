"""What goes to an adapter and what comes back: version 1 of the process protocol, without any I/O."""

from __future__ import annotations

from typing import Any

from discovercall.adapter.failures import AdapterFailure
from discovercall.foundation.ecma_json import JsonError, loads
from discovercall.foundation.ecmascript import is_safe, trim
from discovercall.foundation.json_text import compact, compact_bytes
from discovercall.foundation.token_usage import USAGE_FIELDS, counts_of

PROTOCOL_VERSION = 1
RESULT_FIELDS = ("tool_id", "capability", "cost_class", "reliability", "as_of_support")
TOOL_FIELDS = ("tool_id", "name", "description", "params", "one_of_required", "examples")
MAX_NOTES = 8

_SELECT_INSTRUCTION = (
    "Choose the one tool among the discovery results that serves the user's request best. "
    "Answer with a single JSON object that fits the response schema, and nothing else."
)
_PARAMETERIZE_INSTRUCTION = (
    "Fill in the parameters of the selected tool so that a call to it serves the user's request. "
    "Answer with a single JSON object that fits the response schema, and nothing else."
)


def select_response_schema() -> dict[str, Any]:
    """The strict schema of a selection: an object with a string `tool_id`."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["tool_id"],
        "properties": {"tool_id": {"type": "string"}},
    }


def select_request(
    model: str, trial: int, task_set_sha256: str, task_id: str, prompt: str, results: list[Any]
) -> dict[str, Any]:
    """The request for a selection.

    Args:
        model: the name of the model under test.
        trial: 1-based number of the trial.
        task_set_sha256: digest of the task file.
        task_id: id of the task.
        prompt: what the user asks for.
        results: discovery results as the API wrote them. Only `RESULT_FIELDS` go on, nulls included; a
            result that is no object becomes an empty one.
    """
    shown = [_only(result, RESULT_FIELDS) for result in results]
    task = {"task_id": task_id, "prompt": prompt, "discovery": {"results": shown}}
    head = _head("select", model, trial, task_set_sha256)
    return head | _conversation(_SELECT_INSTRUCTION, task, select_response_schema())


def parameterize_request(
    model: str,
    trial: int,
    task_set_sha256: str,
    task_id: str,
    prompt: str,
    tool: dict[str, Any],
    response_schema: dict[str, Any],
) -> dict[str, Any]:
    """The request for parameters of the selected tool.

    Args:
        model: the name of the model under test.
        trial: 1-based number of the trial.
        task_set_sha256: digest of the task file.
        task_id: id of the task.
        prompt: what the user asks for.
        tool: the inspected tool as the API wrote it; only `TOOL_FIELDS` go on, nulls included.
        response_schema: what `schema.parameter_response_schema(tool)` gave.
    """
    task = {"task_id": task_id, "prompt": prompt, "selected_tool": _only(tool, TOOL_FIELDS)}
    head = _head("parameterize", model, trial, task_set_sha256)
    return head | _conversation(_PARAMETERIZE_INSTRUCTION, task, response_schema)


def request_bytes(request: dict[str, Any]) -> bytes:
    """A request as it goes to standard input: compact JSON, UTF-8."""
    return compact_bytes(request)


def parse_answer(stdout: bytes) -> Any:
    """The one JSON value that an adapter wrote, of any depth; white space and a byte-order mark around it
    do not matter.

    Raises:
        AdapterFailure: `invalid_json` for invalid UTF-8, no JSON, or more than one value.
    """
    try:
        return loads(trim(stdout.decode("utf-8")))
    except (UnicodeDecodeError, JsonError):
        raise AdapterFailure("invalid_json") from None


def answer_tool_id(answer: Any) -> str | None:
    """The selected tool's id, trimmed; None where the answer has no non-blank string `tool_id`."""
    value = answer.get("tool_id") if isinstance(answer, dict) else None
    return (trim(value) or None) if isinstance(value, str) else None


def answer_parameters(answer: Any) -> dict[str, Any] | None:
    """The answer's `parameters`; None where they are no object."""
    value = answer.get("parameters") if isinstance(answer, dict) else None
    return value if isinstance(value, dict) else None


def usage_of(answer: Any) -> dict[str, int] | None:
    """Token counts that came with an answer: those of `USAGE_FIELDS` that are whole numbers from 0.

    A malformed or unknown field is dropped; None where nothing is left.
    """
    usage = answer.get("usage") if isinstance(answer, dict) else None
    if not isinstance(usage, dict):
        return None
    return counts_of(usage, USAGE_FIELDS) or None


def notes_of(answer: Any) -> dict[str, str] | None:
    """What an adapter noted about a decision, for the private record: the answer's `note`, strings only.

    A value that isn't 1 to 256 safe characters is dropped, so is all after the first `MAX_NOTES`; None where
    nothing is left.
    """
    note = answer.get("note") if isinstance(answer, dict) else None
    if not isinstance(note, dict):
        return None
    safe = {name: value for name, value in note.items() if is_safe(name, 64) and is_safe(value)}
    return dict(list(safe.items())[:MAX_NOTES]) or None


def _head(stage: str, model: str, trial: int, task_set_sha256: str) -> dict[str, Any]:
    return {
        "adapter_protocol_version": PROTOCOL_VERSION,
        "stage": stage,
        "model": model,
        "trial": trial,
        "task_set_sha256": task_set_sha256,
    }


def _conversation(instruction: str, task: dict[str, Any], response_schema: dict[str, Any]) -> dict[str, Any]:
    messages = [
        {"role": "system", "content": instruction},
        {"role": "user", "content": compact(task)},
    ]
    return {"input": task, "messages": messages, "response_schema": response_schema}


def _only(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value[name] for name in names if name in value} if isinstance(value, dict) else {}
