"""The repairer knows rules and no meanings: what it makes of each problem is valid, or it gives up."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovercall.evals.fixture import first_problem
from discovercall.evals.repairer import repaired_arguments
from discovercall.gateway.arguments import check_arguments

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "minimum": 2, "maximum": 9},
        "share": {"type": ["number", "null"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "people": {"type": "array", "items": {"$ref": "#/$defs/person"}},
        "on": {"type": "boolean"},
        "kind": {"type": "string", "enum": ["Task", "Bug"]},
        "where": {
            "type": "object",
            "properties": {"city": {"type": "string", "examples": ["Faro"]}, "zip": {"type": "integer"}},
            "required": ["city", "zip"],
        },
    },
    "required": ["count", "where"],
    "additionalProperties": False,
    "anyOf": [{"required": ["tags"]}, {"required": ["kind"]}],
    "$defs": {"person": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
}
RIGHT = {"count": 3, "tags": [], "where": {"city": "Lagos", "zip": 8}}


def refused(arguments):
    problems = [problem.to_json() for problem in check_arguments(SCHEMA, arguments)]
    return {"type": "ARGUMENT_VALIDATION_FAILED", "problems": problems}


def repair(arguments):
    return repaired_arguments(arguments, refused(arguments), {"inputSchema": SCHEMA})


@pytest.mark.parametrize(
    ("change", "field", "expected"),
    [
        ({"count": "4"}, "count", 4),
        ({"count": "six"}, "count", 2),
        ({"count": 12}, "count", 9),
        ({"count": 0}, "count", 2),
        ({"count": 3.5}, "count", 3),
        ({"share": "0.5"}, "share", 0.5),
        ({"tags": "one"}, "tags", ["one"]),
        ({"tags": 7}, "tags", ["7"]),
        ({"tags": ["a", 7, True]}, "tags", ["a", "7", "true"]),
        ({"people": ["Ana"]}, "people", [{"name": "text"}]),
        ({"on": "Yes"}, "on", True),
        ({"on": "off"}, "on", False),
        ({"kind": "bug"}, "kind", "Bug"),
        ({"kind": "none such"}, "kind", "Task"),
        ({"where": "Faro"}, "where", {"city": "Faro", "zip": 1}),
        ({"where": {"zip": 8}}, "where", {"city": "Faro", "zip": 8}),
        ({"where": {"city": "Lagos", "zip": "8"}}, "where", {"city": "Lagos", "zip": 8}),
        ({"memo": "x"}, "memo", None),
    ],
)
def test_each_rule(change, field, expected):
    given_arguments = RIGHT | change
    before = repr(given_arguments)
    repaired = repair(given_arguments)
    assert repaired is not None
    assert repaired.get(field) == expected
    assert type(repaired.get(field)) is type(expected)
    assert first_problem(SCHEMA, repaired) is None
    assert repr(given_arguments) == before


def test_missing_fields_are_filled_and_one_of_a_group_is_enough():
    repaired = repair({})
    assert repaired == {"count": 2, "where": {"city": "Faro", "zip": 1}, "tags": []}


@pytest.mark.parametrize(
    ("error", "described"),
    [
        ({}, {"inputSchema": SCHEMA}),
        ({"problems": []}, {"inputSchema": SCHEMA}),
        (refused({}), {}),
        (refused({}), {"ok": False, "error": {}}),
        ({"problems": [{"field": "count", "rule": "pattern"}]}, {"inputSchema": SCHEMA}),
        ({"problems": [{"field": "gone", "rule": "type", "expected": "string"}]}, {"inputSchema": SCHEMA}),
        ({"problems": [{"field": "tags[4]", "rule": "items"}]}, {"inputSchema": SCHEMA}),
        ({"problems": [{"field": "count.deep", "rule": "required"}]}, {"inputSchema": SCHEMA}),
        ({"problems": [{"field": "", "rule": "one_of_required", "expected": None}]}, {"inputSchema": SCHEMA}),
        ({"problems": ["count is wrong"]}, {"inputSchema": SCHEMA}),
    ],
)
def test_it_gives_up_where_the_broker_says_nothing_usable(error, described):
    assert repaired_arguments({"count": 1, "tags": ["a"]}, error, described) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-20, 20) | st.floats(-20, 20) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from([*SCHEMA["properties"], "memo", "a.b", ""])


@given(st.dictionaries(NAMES, VALUES, max_size=5))
def test_any_arguments_become_acceptable_in_a_few_rounds(arguments):
    for _ in range(4):
        if not check_arguments(SCHEMA, arguments):
            return
        arguments = repair(arguments)
        assert arguments is not None
    assert not check_arguments(SCHEMA, arguments)
