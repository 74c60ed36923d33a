"""The check of answers against response schemas, beside a full JSON Schema validator."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovercall.adapter.answers import fits_schema
from discovercall.adapter.protocol import select_response_schema
from discovercall.adapter.schema import UnsupportedParameterSchema, parameter_response_schema

NAMES = st.sampled_from(["a", "b", "city"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 2.0, "", "a", "x"])
TYPES = st.sampled_from(["string", "integer", "number", "boolean"])


def definitions(children: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.just("array"), "items": children, "required": st.booleans()}
    ) | st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "properties": st.dictionaries(NAMES, children, min_size=1),
            "required": st.booleans(),
        }
    )


PARAMETERS = st.recursive(
    st.fixed_dictionaries(
        {"type": TYPES, "required": st.booleans()}, optional={"enum": st.lists(SCALARS, max_size=3)}
    ),
    definitions,
    max_leaves=6,
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def values_for(draw: st.DrawFn, schema: dict[str, Any]) -> Any:
    """A value that mostly fits the schema."""
    if draw(st.integers(0, 19)) == 0:
        return draw(VALUES)
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    kind = draw(st.sampled_from(kinds))
    if kind == "object":
        return {name: draw(values_for(child)) for name, child in schema["properties"].items()}
    if kind == "array":
        return [draw(values_for(schema["items"])) for _ in range(draw(st.integers(0, 2)))]
    return {"string": "x", "integer": 1, "number": 0.5, "boolean": True, "null": None}[kind]


@given(st.data(), st.dictionaries(NAMES, PARAMETERS, max_size=3))
def test_agrees_with_json_schema_on_what_the_harness_asks_for(
    data: st.DataObject, params: dict[str, dict[str, Any]]
) -> None:
    tool = {"params": [{"name": name, **definition} for name, definition in params.items()]}
    try:
        schema = parameter_response_schema(tool)
    except UnsupportedParameterSchema:
        return
    value = data.draw(values_for(schema))
    assert fits_schema(value, schema) == jsonschema.Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({"tool_id": "a"}, True),
        ({"tool_id": ""}, True),
        ({"tool_id": None}, False),
        ({"tool_id": "a", "why": "b"}, False),
        ({}, False),
        ([], False),
    ],
)
def test_selections(value: Any, fits: bool) -> None:
    assert fits_schema(value, select_response_schema()) == fits
