from __future__ import annotations

import json
from typing import Any

import pytest

from discovercall.adapter.definitions import MAX_DEPTH
from discovercall.adapter.schema import (
    UnsupportedParameterSchema,
    one_of_groups,
    parameter_response_schema,
    required_parameters,
    strict_parameters_schema,
)


def tool_of(*params: Any, **more: Any) -> dict[str, Any]:
    return {"params": list(params), **more}


def schema_of(required: bool = True, **definition: Any) -> dict[str, Any]:
    """The schema of a single parameter `a`, without its description."""
    schema = strict_parameters_schema(tool_of({"name": "a", "required": required, **definition}))
    return {key: value for key, value in schema["properties"]["a"].items() if key != "description"}


def test_outer_object():
    tool = tool_of(
        {"name": "b", "type": "string", "required": True},
        {"name": "10", "type": "int", "required": False},
        {"name": "2", "type": "bool", "required": True},
    )
    schema = parameter_response_schema(tool)
    parameters = schema["properties"]["parameters"]
    assert list(schema) == ["type", "additionalProperties", "required", "properties"]
    assert (schema["type"], schema["additionalProperties"], schema["required"]) == (
        "object",
        False,
        ["parameters"],
    )
    assert parameters == strict_parameters_schema(tool)
    assert parameters["required"] == list(parameters["properties"]) == ["2", "10", "b"]
    assert parameters["additionalProperties"] is False


@pytest.mark.parametrize("tool", [None, "x", 5, [], {}, {"params": None}, {"params": {}}, {"params": []}])
def test_no_parameters(tool):
    assert strict_parameters_schema(tool)["properties"] == {}
    assert required_parameters(tool) == []


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("string", "string"),
        ("STRING", "string"),
        ("int", "integer"),
        ("Integer", "integer"),
        ("number", "number"),
        ("float", "number"),
        ("double", "number"),
        ("bool", "boolean"),
        ("boolean", "boolean"),
    ],
)
def test_types(written, meant):
    assert schema_of(type=written) == {"type": meant}
    assert schema_of(required=False, type=written) == {"type": [meant, "null"]}


UNSUPPORTED: list[dict[str, Any]] = [
    {"type": "file"},
    {"type": " string"},
    {"type": "null"},
    {"type": ""},
    {"type": None},
    {"type": 5},
    {"type": ["string"]},
    {},
    {"type": "string", "enum": None},
    {"type": "string", "enum": "x"},
    {"type": "string", "enum": {"0": "x"}},
    {"type": "string", "enum": [{}]},
    {"type": "string", "enum": ["a", []]},
    {"type": "number", "enum": [float("inf")]},
    {"type": "number", "enum": [10**400]},
    {"type": "array"},
    {"type": "array", "items": None},
    {"type": "array", "items": []},
    {"type": "array", "items": "string"},
    {"type": "array", "items": {}},
    {"type": "list", "items": {"type": "array"}},
    {"type": "list", "items": {"type": "object"}},
    {"type": "object"},
    {"type": "map", "properties": {}},
    {"type": "object", "properties": None},
    {"type": "object", "properties": [{"name": "x"}]},
    {"type": "object", "properties": {"x": {"type": "file", "required": True}}},
]


@pytest.mark.parametrize("definition", UNSUPPORTED)
def test_what_cannot_be_strict_kills_a_required_parameter_and_forces_null_on_an_optional_one(definition):
    with pytest.raises(UnsupportedParameterSchema, match=r"params\.a"):
        schema_of(**definition)
    assert schema_of(required=False, **definition) == {"type": "null"}
    nested = {"x": {**definition, "required": "yes"}, "y": {"type": "int"}}
    assert schema_of(type="object", properties=nested)["properties"] == {
        "x": {"type": "null"},
        "y": {"type": ["integer", "null"]},
    }


@pytest.mark.parametrize(
    "params",
    [
        [None],
        ["a"],
        [{"type": "string", "required": True}],
        [{"name": " ", "type": "string", "required": False}],
        [{"name": 5, "type": "string", "required": True}],
        [{"name": "a", "type": "string"}],
        [{"name": "a", "type": "string", "required": None}],
        [{"name": "a", "type": "string", "required": "true"}],
        [{"name": "a", "type": "string", "required": 1}],
        [{"name": "__proto__", "type": "string", "required": False}] * 2,
    ],
)
def test_malformed_parameters_kill_the_tool(params):
    with pytest.raises(UnsupportedParameterSchema, match=r"params\[\d\]"):
        parameter_response_schema({"params": params})


@pytest.mark.parametrize(
    ("values", "type_of_required", "type_of_optional"),
    [
        (["x"], "string", ["string", "null"]),
        (["x", "x"], "string", ["string", "null"]),
        ([1, 2], "integer", ["integer", "null"]),
        ([1, 1.0, 1.5], "number", ["number", "null"]),
        ([1.5, "a", 1], ["number", "string"], ["number", "string", "null"]),
        ([1, True], ["integer", "boolean"], ["integer", "boolean", "null"]),
        ([1e21], "integer", ["integer", "null"]),
        ([None], "null", "null"),
        (["x", None], ["string", "null"], ["string", "null"]),
        ([None, 1], ["null", "integer"], ["integer", "null"]),
    ],
)
def test_enums(values, type_of_required, type_of_optional):
    assert schema_of(type="object", enum=values, minimum=1) == {"type": type_of_required, "enum": values}
    with_null = values if None in values else [*values, None]
    assert schema_of(required=False, type="int", enum=values) == {"type": type_of_optional, "enum": with_null}


def test_empty_enum_is_none():
    assert schema_of(type="int", enum=[]) == {"type": "integer"}


def test_other_constraints_are_left_out():
    assert schema_of(type="string", default=1, format="date", pattern="x", minLength=2) == {"type": "string"}


def test_items_are_never_nullable():
    items = {"type": "string", "required": False, "enum": ["a"]}
    assert schema_of(required=False, type="array", items=items) == {
        "type": ["array", "null"],
        "items": {"type": "string", "enum": ["a"]},
    }


def test_nested_properties():
    properties = {
        "b": {"type": "string", "required": True},
        "1": "a shorthand",
        "c": {"type": "object", "properties": {"d": None}},
    }
    assert schema_of(required=False, type="object", properties=properties) == {
        "type": ["object", "null"],
        "additionalProperties": False,
        "required": ["1", "b", "c"],
        "properties": {
            "1": {"type": ["string", "null"]},
            "b": {"type": "string"},
            "c": {
                "type": ["object", "null"],
                "additionalProperties": False,
                "required": ["d"],
                "properties": {"d": {"type": ["string", "null"]}},
            },
        },
    }


def test_descriptions():
    tool = tool_of(
        {"name": "a", "type": "string", "required": True, "description": "The city."},
        {"name": "b", "type": "string", "required": False, "description": "The unit."},
        {"name": "c", "type": "string", "required": False, "description": ""},
        {"name": "d", "type": "file", "required": False, "description": "A file."},
        {"name": "e", "type": "array", "required": True, "items": {"type": "int", "description": "One."}},
        {"name": "f", "type": "string", "required": False, "description": ["x"]},
    )
    properties = strict_parameters_schema(tool)["properties"]
    assert properties["a"]["description"] == "The city."
    assert properties["b"]["description"].startswith("The unit. ")
    assert "null" in properties["b"]["description"]
    assert "null" in properties["d"]["description"]
    assert properties["e"]["items"]["description"] == "One."
    assert [name for name in properties if "description" not in properties[name]] == ["c", "e", "f"]


@pytest.mark.parametrize("step", ["items", "properties"])
@pytest.mark.parametrize("required", [True, False])
def test_schema_of_any_depth_is_judged(step, required):
    definition: dict[str, Any] = {"type": "string", "required": True}
    for _ in range(100_000):
        if step == "items":
            definition = {"type": "array", "items": definition, "required": True}
        else:
            definition = {"type": "object", "properties": {"x": definition}, "required": True}
    tool = tool_of({**definition, "name": "a", "required": required})
    if required:
        with pytest.raises(UnsupportedParameterSchema, match="nested deeper"):
            parameter_response_schema(tool)
    else:
        assert strict_parameters_schema(tool)["properties"]["a"] == {"type": "null"}


def test_depth_up_to_the_limit_is_strict():
    definition: dict[str, Any] = {"type": "string"}
    for _ in range(MAX_DEPTH - 1):
        definition = {"type": "array", "items": definition}
    assert schema_of(**definition)["type"] == "array"
    with pytest.raises(UnsupportedParameterSchema):
        schema_of(type="array", items=definition)


def test_messages_stay_short_whatever_the_catalog_says():
    with pytest.raises(UnsupportedParameterSchema) as caught:
        strict_parameters_schema(tool_of({"name": "n" * 10_000, "type": "t" * 10_000, "required": True}))
    assert len(str(caught.value)) < 300


def test_required_names_come_before_judgement():
    tool = tool_of(
        {"name": "b", "required": True, "type": "file"},
        None,
        {"name": 5, "required": True},
        {"name": "a", "required": True},
        {"name": "c", "required": "true"},
    )
    assert required_parameters(tool) == ["b", "a"]


ABC = [{"name": name, "type": "string", "required": False} for name in "abc"]


@pytest.mark.parametrize(
    ("given", "groups"),
    [
        (None, []),
        ([], []),
        (["a", "b"], [["a", "b"]]),
        ([["a", "b"], ["c"]], [["a", "b"], ["c"]]),
        (["b", "a", "b"], [["b", "a"]]),
        ([["a", "a", "b"]], [["a", "b"]]),
    ],
)
def test_one_of_groups(given, groups):
    assert one_of_groups({"params": ABC, "one_of_required": given}) == groups
    assert one_of_groups({"params": ABC}) == one_of_groups(None) == []


@pytest.mark.parametrize(
    "given",
    [
        "a",
        {"any": ["a"]},
        0,
        False,
        ["a", "z"],
        [["z"]],
        [[]],
        ["a", ["b"]],
        [["a"], []],
        [["a", 1]],
        [None],
        [""],
    ],
)
def test_malformed_one_of_groups(given):
    with pytest.raises(UnsupportedParameterSchema, match="one_of_required"):
        one_of_groups({"params": ABC, "one_of_required": given})


def test_schema_is_json():
    schema = parameter_response_schema({"params": ABC})
    assert json.loads(json.dumps(schema)) == schema
