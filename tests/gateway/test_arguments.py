from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from discovercall.gateway.arguments import check_arguments

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "mode": {"type": "string", "enum": ["slow", "fast"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "filter": {
            "type": "object",
            "properties": {"day": {"type": "string"}, "deep": {"type": "object"}},
            "required": ["day"],
        },
        "odd": {"type": "duration"},
    },
    "required": ["name"],
}


def rules(arguments, schema=SCHEMA):
    return [(problem.field, problem.rule) for problem in check_arguments(schema, arguments)]


def test_valid_arguments():
    good = {
        "name": "x",
        "count": 3.0,
        "ratio": 2,
        "flag": False,
        "mode": "fast",
        "tags": [],
        "filter": {"day": "d", "deep": {"anything": 1}},
        "odd": [1],
        "undeclared": None,
    }
    assert check_arguments(SCHEMA, good) == []
    assert check_arguments(None, {"anything": 1}) == []


def test_all_problems_are_reported_sorted():
    bad = {"count": 3.5, "ratio": True, "flag": 1, "mode": "medium", "tags": "a", "filter": {"day": 1}}
    messages = [problem.message for problem in check_arguments(SCHEMA, bad)]
    assert messages == sorted(messages)
    assert sorted(rules(bad)) == [
        ("count", "type"),
        ("filter.day", "type"),
        ("flag", "type"),
        ("mode", "enum"),
        ("name", "required"),
        ("ratio", "type"),
        ("tags", "type"),
    ]


def test_limits_items_and_nested_required():
    assert rules({"name": "x", "count": 0}) == [("count", "minimum")]
    assert rules({"name": "x", "count": 10}) == [("count", "maximum")]
    assert rules({"name": "x", "tags": ["a", 1, None]}) == [("tags[1]", "items"), ("tags[2]", "items")]
    assert rules({"name": "x", "filter": {}}) == [("filter.day", "required")]


def test_unknown_arguments_only_where_forbidden():
    closed = SCHEMA | {"additionalProperties": False}
    assert rules({"name": "x", "other": 1}) == []
    assert rules({"name": "x", "other": 1}, closed) == [("other", "additionalProperties")]


def test_machine_form():
    problem = check_arguments(SCHEMA, {"name": 1})[0]
    assert problem.to_json() == {"field": "name", "rule": "type", "expected": "string", "got": "integer"}
    assert "name" in problem.message
    assert "string" in problem.message


def test_one_of_required():
    schema = {"properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert rules({"b": 1}, schema) == []
    assert rules({}, schema) == [("a, b", "one_of_required")]


def test_messages_stay_short():
    message = check_arguments(SCHEMA, {"name": "x", "mode": "m" * 5000})[0].message
    assert len(message) < 300


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 12), st.floats(-3, 12), st.sampled_from("ab"))
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(st.sampled_from("xyz"), SCALARS))
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null"])
LEAVES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.one_of(TYPES, st.lists(TYPES, min_size=1, max_size=2, unique=True)),
        "enum": st.lists(SCALARS, min_size=1, max_size=3),
        "minimum": st.integers(-2, 5),
        "maximum": st.integers(0, 10),
        "items": st.fixed_dictionaries({"type": TYPES}),
    },
)


def objects(names, leaves, **more):
    return st.fixed_dictionaries(
        {"properties": st.dictionaries(st.sampled_from(names), leaves)},
        optional={
            "required": st.lists(st.sampled_from(names), unique=True, max_size=2),
            "additionalProperties": st.booleans(),
            **more,
        },
    )


NESTED = st.one_of(LEAVES, objects("xyz", LEAVES).map(lambda schema: schema | {"type": "object"}))
ALTERNATIVES = st.lists(
    st.fixed_dictionaries(
        {"required": st.lists(st.sampled_from("abc"), min_size=1, max_size=2, unique=True)}
    ),
    min_size=1,
    max_size=3,
)


@given(objects("abc", NESTED, anyOf=ALTERNATIVES), st.dictionaries(st.sampled_from("abcd"), VALUES))
def test_agrees_with_json_schema_on_what_it_checks(schema, arguments):
    assert (check_arguments(schema, arguments) == []) == Draft202012Validator(schema).is_valid(arguments)


@given(objects("abc", NESTED), st.dictionaries(st.sampled_from("abcd"), VALUES))
def test_every_problem_names_its_field(schema, arguments):
    for problem in check_arguments(schema, arguments):
        assert problem.field in problem.message
        assert problem.rule == problem.to_json()["rule"]
