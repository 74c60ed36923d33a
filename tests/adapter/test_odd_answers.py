"""Answers and notes of adapters as they rarely are; and completions of servers that say something else."""

from __future__ import annotations

from typing import Any

import pytest

from discovercall.adapter.answers import fits_schema
from discovercall.adapter.authoring import Refusal
from discovercall.adapter.protocol import notes_of, usage_of

ROWS = {"type": "array", "items": {"type": ["string", "null"]}}


@pytest.mark.parametrize(
    ("value", "schema", "fits"),
    [
        (["a", None], ROWS, True),
        (["a", 1], ROWS, False),
        ([1], {"type": "array"}, True),
        (1, {}, True),
        (1.0, {"enum": [1]}, True),
        (True, {"enum": [1]}, False),
        ({"a": 1}, {"type": "object", "additionalProperties": False}, False),
    ],
)
def test_what_fits_a_response_schema(value: Any, schema: dict[str, Any], fits: bool) -> None:
    assert fits_schema(value, schema) is fits


@pytest.mark.parametrize(
    ("note", "kept"),
    [
        (None, None),
        ([], None),
        ({}, None),
        ({"a": 1, "b": "", "c": "x\n"}, None),
        ({"version": "1.0", "n" * 65: "x", "": "y"}, {"version": "1.0"}),
    ],
)
def test_notes_are_short_safe_texts(note: Any, kept: Any) -> None:
    assert notes_of({"note": note}) == kept
    assert notes_of([note]) is None


def test_usage_is_whole_numbers() -> None:
    assert usage_of({"usage": {"prompt_tokens": 5, "completion_tokens": -1, "other": 1}}) == {
        "prompt_tokens": 5
    }
    assert usage_of({"usage": []}) is None
    assert usage_of(None) is None


def test_a_code_that_no_adapter_may_report_is_a_mistake_of_its_author() -> None:
    with pytest.raises(ValueError, match=r"^teapot is not a code that an adapter may report$"):
        Refusal("teapot")
