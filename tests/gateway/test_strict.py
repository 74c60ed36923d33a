"""Schemas made strict: the rules of structured outputs, and no answer let through that the tool refuses."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema.validators import validator_for

from discovercall.adapter.schema import UnsupportedParameterSchema, parameter_response_schema
from discovercall.gateway.nulls import without_nulls
from discovercall.gateway.parameters import derive_params
from discovercall.gateway.strict import MAX_DEPTH, NotStrictError, strict_schema
from tests.support.schema_values import value_for

STRING = {"type": "string"}
OPEN = {"type": "object"}


def schema(required=(), **properties):
    return {"type": "object", "properties": properties, "required": list(required)}


def strict(value):
    return strict_schema(value, tool_ref="s.t")


def member(definition, required=True, **root):
    return strict(schema(["x"] if required else [], x=definition) | root).schema["properties"]["x"]


def obeys(node):
    """The rules: a type on each node, all properties required, no others allowed."""
    if "anyOf" in node:
        assert "$ref" not in node
        for branch in node["anyOf"]:
            assert "anyOf" not in branch
            obeys(branch)
        return
    kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
    assert kinds
    if "object" in kinds:
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])
        for child in node["properties"].values():
            obeys(child)
    if "array" in kinds:
        obeys(node["items"])
    assert not {"$ref", "$defs", "oneOf", "allOf", "not", "if", "const", "patternProperties"} & set(node)


@pytest.mark.parametrize(
    ("given_schema", "expected"),
    [
        (STRING, STRING),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": ["string", "integer"]}, {"type": ["string", "integer"]}),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"enum": ["a", None, 2]}, {"type": ["string", "null", "integer"], "enum": ["a", None, 2]}),
        ({"anyOf": [STRING, {"type": "null"}]}, {"type": ["string", "null"]}),
        ({"anyOf": [STRING, {"type": "integer"}]}, {"type": ["string", "integer"]}),
        ({"oneOf": [{"const": "a"}, {"const": "b"}]}, {"type": "string", "enum": ["a", "b"]}),
        ({"type": "array", "items": STRING}, {"type": "array", "items": STRING}),
        (
            {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}, "minItems": 1},
            {"type": "array", "minItems": 1, "items": {"type": "array", "items": {"type": "integer"}}},
        ),
        ({"anyOf": [STRING, OPEN]}, STRING),
        (
            {"anyOf": [STRING, {"type": "array", "items": STRING}]},
            {"anyOf": [STRING, {"type": "array", "items": STRING}]},
        ),
        ({"allOf": [STRING, {"description": "d"}]}, STRING | {"description": "d"}),
        ({"type": "integer", "minimum": 1, "x-other": 2}, {"type": "integer", "minimum": 1}),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date"}),
        ({"type": "string", "format": "shoe-size"}, STRING),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
    ],
)
def test_required_members(given_schema, expected):
    assert member(given_schema) == expected


def test_references():
    definitions = {"point": schema(["lat"], lat={"type": "number"}, label=STRING)}
    made = member({"$ref": "#/$defs/point", "description": "Where"}, **{"$defs": definitions})
    assert made["description"] == "Where"
    assert made["properties"]["lat"] == {"type": "number"}
    assert made["properties"]["label"] == {"type": ["string", "null"]}
    obeys(made)
    by_property = strict(schema(["a", "b"], a=STRING, b={"$ref": "#/properties/a"})).schema
    assert by_property["properties"]["b"] == STRING


def test_optional_members_may_be_null_and_say_so():
    made = member({"type": "string", "description": "Who."}, required=False)
    assert made["type"] == ["string", "null"]
    assert made["description"].startswith("Who. Optional")
    assert member({"enum": ["a"]}, required=False) == {"type": ["string", "null"], "enum": ["a", None]}
    union = {"anyOf": [STRING, {"type": "array", "items": STRING}]}
    assert {"type": "null"} in member(union, required=False)["anyOf"]


@pytest.mark.parametrize(
    "hopeless",
    [
        OPEN,
        {},
        True,
        {"type": "array"},
        {"type": "array", "items": OPEN},
        {"type": "array", "prefixItems": [STRING]},
        {"type": "object", "additionalProperties": STRING},
        {"$ref": "https://example.org/other.json"},
        {"$ref": "#/$defs/none"},
        {"$ref": "#"},
        {"enum": [{"a": 1}]},
        {"allOf": [STRING, {"type": "integer"}]},
        schema(["y"]),
        {"anyOf": [OPEN, {"type": "null"}]},
    ],
)
def test_what_cannot_be_made_strict(hopeless):
    """Optional it can only be null; required it refuses the whole tool, with tool and path named."""
    kept = strict(schema(["a"], a=STRING, x=hopeless))
    assert kept.schema["properties"]["x"]["type"] == "null"
    assert kept.forced_null == ("x",)
    with pytest.raises(NotStrictError) as caught:
        strict(schema(["x"], x=hopeless))
    assert str(caught.value).startswith("s.t: x")


def test_path_of_a_refusal_leads_to_the_part():
    row = schema(["filter"], filter=OPEN)
    with pytest.raises(NotStrictError, match=r"^s\.t: rows\.items\.filter: an object without properties"):
        strict(schema(["rows"], rows={"type": "array", "items": row}))


def test_refusal_ends_at_the_nearest_optional_part():
    made = strict(schema(["a"], a=schema([], b=schema(["c"], c=OPEN))))
    assert made.forced_null == ("a.b",)


def test_tools_without_parameters():
    empty = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    for nothing in ({"type": "object"}, {"type": "object", "properties": {}}, {}):
        assert strict(nothing).schema == empty


def test_recursion_and_size_are_bounded():
    tree = {"$defs": {"t": schema([], kids={"type": "array", "items": {"$ref": "#/$defs/t"}})}}
    made = strict(schema(["t"], t={"$ref": "#/$defs/t"}) | tree)
    assert made.forced_null == ("t.kids",)
    levels = STRING
    for _ in range(30):
        levels = schema(["x"], x=levels)
    with pytest.raises(NotStrictError, match=f"deeper than {MAX_DEPTH}"):
        strict(levels)
    wide = {"$defs": {"d0": STRING}}
    for number in range(1, 6):
        members = {name: {"$ref": f"#/$defs/d{number - 1}"} for name in "abcdefgh"}
        wide["$defs"][f"d{number}"] = schema(list(members), **members)
    with pytest.raises(NotStrictError, match="more than 2000 nodes"):
        strict(schema([], x={"$ref": "#/$defs/d5"}) | wide)


def test_nulls_are_taken_out_where_they_say_left_out():
    own = schema(
        ["keep"],
        keep={"type": ["string", "null"]},
        gone=STRING,
        inner=schema(["n"], n={"type": ["integer", "null"]}, m=STRING),
        rows={"type": "array", "items": schema([], a=STRING)},
    )
    value = {"keep": None, "gone": None, "inner": {"n": None, "m": None}, "rows": [{"a": None}]}
    assert without_nulls(value, own) == {"keep": None, "inner": {"n": None}, "rows": [{}]}


LEAVES = st.sampled_from(
    [
        STRING,
        {"type": "integer", "minimum": 1, "maximum": 9},
        {"type": "number"},
        {"type": "boolean"},
        {"type": ["string", "integer", "null"]},
        {"enum": ["a", "b", None]},
        {"const": 3},
        {"type": "string", "format": "date"},
        {"$ref": "#/$defs/named"},
        OPEN,
        {},
        {"type": "array"},
    ]
)
NAMES = st.sampled_from(["a", "b", "c"])


def objects(inner):
    return st.builds(
        lambda properties, required: schema([name for name in required if name in properties], **properties),
        st.dictionaries(NAMES, inner, max_size=3),
        st.lists(NAMES, unique=True, max_size=3),
    )


SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        objects(inner),
        st.builds(lambda items: {"type": "array", "items": items, "maxItems": 3}, inner),
        st.builds(lambda branches: {"anyOf": branches}, st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=8,
)


def without_limits(value):
    if isinstance(value, dict):
        limits = ("minimum", "maximum", "maxItems", "format")
        return {name: without_limits(item) for name, item in value.items() if name not in limits}
    return [without_limits(item) for item in value] if isinstance(value, list) else value


NULLABLE = {"type": ["string", "null"]}
NEEDS_B = schema(["a", "b"], a=STRING, b=NULLABLE)


@pytest.mark.parametrize(
    ("branches", "value", "cleaned"),
    [
        ([NEEDS_B], {"a": "x", "b": None}, {"a": "x", "b": None}),
        ([NEEDS_B, schema(["a"], a={"type": "integer"}, b=STRING)], {"a": 5, "b": None}, {"a": 5}),
        ([{"anyOf": [NEEDS_B, {"type": "null"}]}, STRING], {"a": "x", "b": None}, {"a": "x", "b": None}),
        (
            [{"allOf": [NEEDS_B, schema([], c=STRING)]}],
            {"a": "x", "b": None, "c": None},
            {"a": "x", "b": None},
        ),
    ],
)
def test_nulls_that_an_alternative_requires_are_kept(branches, value, cleaned):
    assert without_nulls({"p": value}, schema([], p={"anyOf": branches})) == {"p": cleaned}


@given(objects(SCHEMAS), st.integers(0, 2**20))
@settings(max_examples=300, deadline=None)
def test_whatever_a_strict_schema_lets_through_the_tool_accepts(root, seed):
    root = root | {"$defs": {"named": schema(["n"], n={"type": "integer"}, o=STRING)}}
    judge = validator_for(root)(root)
    source = random.Random(seed)
    try:
        compiled = strict(root)
    except NotStrictError:
        compiled = None
    if compiled is not None:
        obeys(compiled.schema)
        value = value_for(compiled.schema, source)
        validator_for(compiled.schema)(compiled.schema).validate(value)
        assert not list(judge.iter_errors(without_nulls(value, root)))
    try:
        by_params = parameter_response_schema({"params": derive_params(root)})["properties"]["parameters"]
    except UnsupportedParameterSchema:
        return
    obeys(by_params)
    # Parameter lists have no word for limits; the gateway checks those before a call.
    unlimited = without_limits(root)
    value = without_nulls(value_for(by_params, source), root)
    assert not list(validator_for(unlimited)(unlimited).iter_errors(value))
