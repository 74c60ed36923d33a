"""Result documents as bytes and back: sorted, rounded, and strictly read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discovercall.evals.rates import DIGITS
from discovercall.evals.result_model import EvaluationResult
from discovercall.foundation.json_file import read_json
from discovercall.foundation.json_text import pretty
from discovercall.foundation.models import check

FILE_LIMIT = 1 << 28
"""Bytes that a result may have."""


def canonical(value: Any) -> Any:
    """Members sorted and floats rounded, so that equal measurements give equal bytes."""
    if isinstance(value, Mapping):
        return {key: canonical(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [canonical(item) for item in value]
    return round(value, DIGITS) if isinstance(value, float) else value


def to_bytes(document: Mapping[str, Any]) -> bytes:
    """Indented JSON with a final newline."""
    return (pretty(canonical(document)) + "\n").encode()


def read_result(path: Path) -> dict[str, Any]:
    """A result document.

    Raises:
        InputError: the file can't be read, or is no result; names the field.
    """
    value, _ = read_json(path, FILE_LIMIT)
    check(EvaluationResult, value, str(path))
    result: dict[str, Any] = value
    return result
