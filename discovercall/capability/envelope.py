"""Tells an answer from the envelope around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from discovercall.foundation.ecmascript import is_number, lower

Operation = Literal["discover", "inspect", "call"]

_MARKS = ("status", "status_code", "message")
_FAILURES = ("failure", "failed", "error")
_FIRST_ERROR_STATUS = 400


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API answered, without its envelope."""

    value: Any


@dataclass(frozen=True, slots=True)
class FailureEnvelope:
    """An envelope that reports a failure; what it carries is not used."""


def unwrap(operation: Operation, body: Any) -> Answer | FailureEnvelope:
    """Take the answer out of a parsed response body.

    An object with `data` and any of `status`, `status_code`, `message` is an envelope; one level is taken
    off. A call's answer with a boolean `success` of its own is none: it may have such keys for itself.

    Args:
        operation: the operation that the body answers.
        body: the parsed body, of any shape.
    """
    if not isinstance(body, dict) or "data" not in body or not any(mark in body for mark in _MARKS):
        return Answer(body)
    if operation == "call" and isinstance(body.get("success"), bool):
        return Answer(body)
    status = body.get("status")
    if isinstance(status, str) and lower(status) in _FAILURES:
        return FailureEnvelope()
    if _is_error_status(status) or _is_error_status(body.get("status_code")):
        return FailureEnvelope()
    return Answer(body["data"])


def _is_error_status(code: Any) -> bool:
    return is_number(code) and bool(code >= _FIRST_ERROR_STATUS)
