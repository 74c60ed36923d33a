from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from discovercall.adapter.definitions import Definition, UnsupportedParameterSchema, tool_definitions
from discovercall.adapter.schema import one_of_groups, parameter_response_schema
from discovercall.adapter.values import check_parameters, strip_top_level_nulls

TOOL = {
    "params": [
        {"name": "city", "type": "string", "required": True},
        {"name": "n", "type": "integer", "required": False},
        {"name": "f", "type": "number", "required": False},
        {"name": "flag", "type": "bool", "required": False},
        {"name": "mode", "type": "string", "required": False, "enum": ["a", 1, None]},
        {"name": "tags", "type": "array", "required": False, "items": {"type": "string"}},
        {"name": "opaque", "type": "array", "required": False},
        {
            "name": "box",
            "type": "object",
            "required": False,
            "properties": {"x": {"type": "int", "required": True}, "y": "shorthand"},
        },
    ]
}


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"n": None, "zzz": None},
        {"n": 10},
        {"n": 10.0},
        {"n": 1e21},
        {"n": -0.0},
        {"n": 2**70},
        {"f": 5e-324},
        {"f": 3},
        {"flag": False},
        {"mode": "a"},
        {"mode": 1.0},
        {"mode": None},
        {"tags": []},
        {"tags": ["a", ""]},
        {"box": {"x": 1}},
        {"box": {"x": 1, "y": None}},
        {"box": {"x": 1, "y": ""}},
        {"opaque": None},
    ],
)
def test_what_fits(extra):
    assert check_parameters({"city": "London", **extra}, TOOL) is None
    assert check_parameters({"city": "  ", **extra}, TOOL) is None


@pytest.mark.parametrize(
    ("extra", "where"),
    [
        ({"zzz": 1}, "zzz"),
        ({"city": None}, "city"),
        ({"city": ""}, "city"),
        ({"city": 5}, "city"),
        ({"city": ["London"]}, "city"),
        ({"n": 10.5}, "n"),
        ({"n": True}, "n"),
        ({"n": "10"}, "n"),
        ({"n": float("inf")}, "n"),
        ({"f": float("inf")}, "f"),
        ({"f": float("nan")}, "f"),
        ({"f": 10**400}, "f"),
        ({"f": True}, "f"),
        ({"flag": 1}, "flag"),
        ({"flag": "true"}, "flag"),
        ({"mode": "A"}, "mode"),
        ({"mode": True}, "mode"),
        ({"mode": "1"}, "mode"),
        ({"tags": "a"}, "tags"),
        ({"tags": ["a", 1]}, r"tags\[1\]"),
        ({"tags": [None]}, r"tags\[0\]"),
        ({"tags": {}}, "tags"),
        ({"opaque": []}, "opaque"),
        ({"opaque": ["x"]}, "opaque"),
        ({"box": {}}, r"box\.x"),
        ({"box": {"x": None}}, r"box\.x"),
        ({"box": {"x": ""}}, r"box\.x"),
        ({"box": {"x": 1, "z": None}}, r"box\.z"),
        ({"box": {"x": 1, "y": 2}}, r"box\.y"),
        ({"box": []}, "box"),
    ],
)
def test_what_does_not_fit_names_the_place_and_not_the_value(extra, where):
    import re

    problem = check_parameters({"city": "London", **extra}, TOOL)
    assert problem is not None
    assert re.match(rf"parameters\.{where}: ", problem)


def test_missing_required_parameter():
    assert check_parameters({}, TOOL) == "parameters.city: required, but missing, null or empty"


def test_required_enum_with_null_still_needs_a_value():
    tool = {"params": [{"name": "a", "type": "string", "required": True, "enum": ["x", "", None]}]}
    assert check_parameters({"a": "x"}, tool) is None
    assert check_parameters({"a": None}, tool) is not None
    assert check_parameters({"a": ""}, tool) is not None


def test_one_of_group_needs_a_supplied_member():
    params = [{"name": name, "type": "string", "required": False} for name in "abc"]
    tool = {"params": params, "one_of_required": [["a", "b"], ["c"]]}
    assert check_parameters({"b": "x", "c": "y"}, tool) is None
    for parameters in ({"a": "x"}, {"c": "y"}, {"a": "", "c": "y"}, {"a": None, "c": "y"}, {}):
        assert "one of" in str(check_parameters(parameters, tool))


def test_false_and_zero_are_supplied():
    params = [
        {"name": "a", "type": "bool", "required": False},
        {"name": "b", "type": "int", "required": False},
    ]
    tool = {"params": params, "one_of_required": ["a", "b"]}
    assert check_parameters({"a": False}, tool) is None
    assert check_parameters({"b": 0}, tool) is None


def test_only_top_level_nulls_are_stripped():
    assert strip_top_level_nulls({"a": None, "b": {"c": None}, "d": [None]}) == {
        "b": {"c": None},
        "d": [None],
    }


def test_bad_tool_is_not_a_bad_answer():
    with pytest.raises(UnsupportedParameterSchema):
        check_parameters({}, {"params": [{"name": "a", "type": "file", "required": True}]})


NAMES = st.sampled_from(["a", "b", "c", "0", "12", "__proto__", "é"])
SCALARS = st.sampled_from(["string", "String", "int", "integer", "number", "float", "bool", "BOOLEAN"])
PRIMITIVES = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([1.0, 1.5, 1e21, "", "x", "y"])
JUNK: st.SearchStrategy[Any] = st.sampled_from([None, "x", 5, [], {}, {"type": "file"}, {"type": None}])


def described(definitions: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    flag = st.sampled_from([True, False, None, "yes"])
    scalar = st.fixed_dictionaries(
        {"type": SCALARS}, optional={"required": flag, "description": st.text(max_size=5)}
    )
    enum = st.fixed_dictionaries(
        {"type": SCALARS, "enum": st.lists(PRIMITIVES, max_size=4)}, optional={"required": flag}
    )
    array = st.fixed_dictionaries(
        {"type": st.sampled_from(["array", "list"])}, optional={"items": definitions, "required": flag}
    )
    thing = st.fixed_dictionaries(
        {"type": st.sampled_from(["object", "map"])},
        optional={"properties": st.dictionaries(NAMES, definitions, max_size=3), "required": flag},
    )
    return scalar | enum | array | thing


DEFINITIONS: st.SearchStrategy[dict[str, Any]] = described(st.deferred(lambda: DEFINITIONS) | JUNK)


@st.composite
def tools(draw: st.DrawFn) -> dict[str, Any]:
    names: list[str] = draw(st.lists(NAMES, unique=True, max_size=4))
    params = [draw(DEFINITIONS) | {"name": name, "required": draw(st.booleans())} for name in names]
    tool: dict[str, Any] = {"params": params}
    grouped: bool = draw(st.booleans())
    if names and grouped:
        tool["one_of_required"] = draw(st.lists(st.sampled_from(names), min_size=1))
    return tool


def fitting(definition: Definition) -> st.SearchStrategy[Any]:
    """Values that a model which keeps to the definition would give."""
    if definition.kind == "null":
        return st.none()
    if definition.kind == "enum":
        values = st.sampled_from(definition.values)
    elif definition.items is not None:
        values = st.lists(fitting(definition.items), max_size=2)
    elif definition.kind == "object":
        values = st.fixed_dictionaries({name: fitting(child) for name, child in definition.properties})
    else:
        values = {
            "string": st.text(max_size=3),
            "integer": st.integers() | st.sampled_from([10.0, -0.0, 1e21]),
            "number": st.floats(allow_nan=False, allow_infinity=False) | st.integers(),
            "boolean": st.booleans(),
        }[definition.kind]
    return values | st.none() if definition.nullable else values


def completed(value: Any, definition: Definition) -> Any:
    """The value with missing optional members as null, as the schema wants them."""
    if value is None:
        return None
    if definition.items is not None and definition.kind == "array":
        return [completed(item, definition.items) for item in value]
    if definition.kind == "object":
        return complete(value, definition.properties)
    return value


def complete(value: dict[str, Any], definitions: Any) -> dict[str, Any]:
    return {name: completed(value.get(name), definition) for name, definition in definitions}


def derived(tool: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    try:
        one_of_groups(tool)
        return parameter_response_schema(tool), tool_definitions(tool)
    except UnsupportedParameterSchema:
        assume(False)
        raise


def strict_everywhere(schema: dict[str, Any]) -> bool:
    if "properties" in schema and (
        schema.get("additionalProperties") is not False
        or schema.get("required") != list(schema["properties"])
    ):
        return False
    children = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    return all(map(strict_everywhere, children))


RELAXED = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], deadline=None)


@RELAXED
@given(tools())
def test_every_schema_is_valid_and_strict(tool):
    schema, _ = derived(tool)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft7Validator.check_schema(schema)
    assert strict_everywhere(schema)


@RELAXED
@given(tools(), st.data())
def test_values_that_fit_are_accepted_by_the_schema(tool, data):
    schema, definitions = derived(tool)
    parameters = data.draw(st.fixed_dictionaries({name: fitting(d) for name, d in definitions}))
    validator = jsonschema.Draft202012Validator(schema)
    if check_parameters(parameters, tool) is None:
        assert validator.is_valid({"parameters": complete(parameters, definitions)})


@RELAXED
@given(tools(), st.data())
def test_what_the_schema_refuses_does_not_fit(tool, data):
    schema, definitions = derived(tool)
    junk = st.recursive(PRIMITIVES, lambda c: st.lists(c, max_size=2) | st.dictionaries(NAMES, c, max_size=2))
    parameters = {name: data.draw(fitting(d) | junk) for name, d in definitions}
    try:
        whole = complete(parameters, definitions)
    except (AttributeError, TypeError):  # a container of the wrong kind
        assert check_parameters(parameters, tool) is not None
        return
    if not jsonschema.Draft202012Validator(schema).is_valid({"parameters": whole}):
        assert check_parameters(parameters, tool) is not None


@RELAXED
@given(tools(), st.dictionaries(NAMES, PRIMITIVES, max_size=4))
def test_stripping_nulls_changes_no_verdict(tool, parameters):
    derived(tool)
    assert check_parameters(parameters, tool) == check_parameters(strip_top_level_nulls(parameters), tool)
