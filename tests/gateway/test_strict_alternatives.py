"""Strict schemas of what rarely occurs: joined types, tuples, alternatives; and the nulls in answers."""

from __future__ import annotations

import re
from typing import Any

import pytest

from discovercall.gateway.nulls import without_nulls
from discovercall.gateway.strict import NULL_HINT, NotStrictError, strict_schema

STRING = {"type": "string"}


def of_x(definition: Any, *, required: bool = True) -> Any:
    """The strict form of one member."""
    names = ["x"] if required else []
    schema = {"type": "object", "properties": {"x": definition}, "required": names}
    return strict_schema(schema, tool_ref="s.t").schema["properties"]["x"]


def nested(levels: int) -> dict[str, Any]:
    return {"type": "array", "items": nested(levels - 1)} if levels else STRING


@pytest.mark.parametrize(
    ("schema", "line"),
    [
        ({"type": "string"}, "s.t: schema: the arguments are no object"),
        ({"type": "object", "properties": {"x": False}, "required": ["x"]}, "s.t: x: no value is allowed"),
        (
            {"type": "object", "properties": {"x": {"description": "A"}}, "required": ["x"]},
            "s.t: x: the type is missing",
        ),
        (
            {"type": "object", "properties": {"x": {"type": "array", "items": [STRING]}}, "required": ["x"]},
            "s.t: x: an array with a type for each place",
        ),
        (
            {"type": "object", "properties": {"x": nested(10)}, "required": ["x"]},
            f"s.t: x{'.items' * 9}: is nested deeper than 10 levels",
        ),
        (
            {"type": "object", "properties": {"x": {"anyOf": [{"type": "null"}]}}, "required": ["x"]},
            "s.t: x: no alternative holds a value",
        ),
        (
            {"type": "object", "properties": {"x": {"$ref": "#/none"}}, "required": ["x"]},
            "s.t: x: #/none points at nothing",
        ),
        ({"$ref": "other.json"}, "s.t: schema: other.json lies outside the schema"),
    ],
)
def test_the_whole_line_of_a_refusal(schema: dict[str, Any], line: str) -> None:
    with pytest.raises(NotStrictError, match=f"^{re.escape(line)}$") as error:
        strict_schema(schema, tool_ref="s.t")
    assert error.value.tool_ref == "s.t"


def test_a_type_among_several_that_has_parts_becomes_an_alternative() -> None:
    row = {"type": ["string", "array"], "items": STRING}
    assert of_x(row) == {"anyOf": [STRING, {"type": "array", "items": STRING}]}


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ({"items": STRING}, {"type": "array", "items": STRING}),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"enum": [1, 2.5]}, {"type": "number", "enum": [1, 2.5]}),
        ({"anyOf": [{"enum": ["a"]}, {"enum": ["b", "a"]}]}, {"type": "string", "enum": ["a", "b"]}),
        (
            {"anyOf": [{"enum": ["a"]}, {"enum": [1]}, {"type": "null"}]},
            {"type": ["string", "integer", "null"], "enum": ["a", 1, None]},
        ),
        (
            {"anyOf": [{"enum": ["a", None]}, {"type": "null"}]},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"anyOf": [{"anyOf": [STRING, nested(1)]}, {"type": "null"}]},
            {"anyOf": [STRING, nested(1), {"type": "null"}]},
        ),
    ],
)
def test_what_says_the_same_is_written_shorter(definition: Any, expected: Any) -> None:
    assert of_x(definition) == expected


def test_an_optional_member_says_what_null_means() -> None:
    assert of_x({**STRING, "description": "A city."}, required=False) == {
        "description": f"A city. {NULL_HINT}",
        "type": ["string", "null"],
    }
    assert of_x({"enum": ["a"]}, required=False) == {"type": ["string", "null"], "enum": ["a", None]}
    assert of_x({"type": "object", "description": "Open."}, required=False) == {
        "type": "null",
        "description": "Open.",
    }


BY_NAME: dict[str, Any] = {
    "$defs": {"b": {"properties": {"b": STRING, "note": STRING}, "required": ["b"]}},
    "oneOf": [
        {"properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]},
        {"$ref": "#/$defs/b"},
        {"$ref": "#/$defs/none"},
        True,
    ],
}


@pytest.mark.parametrize(
    ("schema", "arguments", "cleaned"),
    [
        (BY_NAME, {"b": "x", "note": None}, {"b": "x"}),
        (BY_NAME, {"c": None, "d": 1}, {"d": 1}),
        ({"$ref": "#/none"}, {"a": None, "b": 1}, {"b": 1}),
        ({"allOf": [{"required": ["a"]}, {"$ref": "#/x"}]}, {"a": None, "b": None}, {"a": None}),
        ({"properties": {"x": {"$ref": "#/none"}}}, {"x": {"y": None}}, {"x": {}}),
        ({"properties": {"x": True}}, {"x": [{"y": None}, None]}, {"x": [{}, None]}),
    ],
)
def test_nulls_are_left_out_by_the_alternative_that_fits(schema: Any, arguments: Any, cleaned: Any) -> None:
    assert without_nulls(arguments, schema) == cleaned
