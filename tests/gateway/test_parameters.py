from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from discovercall.gateway.arguments import check_arguments
from discovercall.gateway.parameters import derive_params, example_arguments, one_of_required


def test_every_kind():
    schema = {
        "properties": {
            "s": {"type": "string", "description": "S"},
            "e": {"enum": ["a", "b"]},
            "n": {"type": ["null", "number"]},
            "l": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "integer"}}}},
            "o": {
                "type": "object",
                "properties": {"x": {"type": "boolean"}, "y": {"type": "string"}},
                "required": ["x"],
            },
            "free": {},
        },
        "required": ["s", "o"],
    }
    assert derive_params(schema) == [
        {"name": "s", "type": "string", "required": True, "description": "S"},
        {"name": "e", "type": "string", "required": False, "enum": ["a", "b"]},
        {"name": "n", "type": "number", "required": False},
        {
            "name": "l",
            "type": "array",
            "required": False,
            "items": {"type": "object", "properties": {"k": {"type": "integer", "required": False}}},
        },
        {
            "name": "o",
            "type": "object",
            "required": True,
            "properties": {
                "x": {"type": "boolean", "required": True},
                "y": {"type": "string", "required": False},
            },
        },
        {"name": "free", "type": "string", "required": False},
    ]
    assert derive_params({"type": "object"}) == []


def test_one_of_groups():
    def any_of(*alternatives):
        return {"anyOf": [{"required": list(names)} for names in alternatives]}

    assert one_of_required(any_of("a", "b")) == [["a", "b"]]
    assert one_of_required({"allOf": [any_of("a", "b"), any_of("c", "d")]}) == [["a", "b"], ["c", "d"]]
    assert one_of_required(any_of("c", "ab")) == [["c", "a"], ["c", "b"]]
    assert one_of_required(any_of("a", "b") | {"required": ["a"]}) == []
    assert one_of_required({"anyOf": [{"required": ["a"]}, {"properties": {}}]}) == []
    assert one_of_required({}) == []


ALTERNATIVES = st.lists(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True), min_size=1, max_size=3
)


@given(ALTERNATIVES, st.sets(st.sampled_from("abcd")))
def test_groups_hold_exactly_when_an_alternative_does(alternatives, given_names):
    schema = {"anyOf": [{"required": names} for names in alternatives]}
    holds = Draft202012Validator(schema).is_valid(dict.fromkeys(given_names, 1))
    assert all(given_names.intersection(group) for group in one_of_required(schema)) == holds


LEAVES = st.one_of(
    st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", "number", "boolean"])}),
    st.fixed_dictionaries({"type": st.just("string"), "enum": st.lists(st.text(), min_size=1, max_size=3)}),
    st.fixed_dictionaries({"type": st.just("integer"), "minimum": st.integers(2, 5)}),
    st.just({"type": "array", "items": {"type": "integer"}}),
)
PROPERTIES = st.dictionaries(st.text(max_size=5), LEAVES, max_size=5)


@given(PROPERTIES, st.data())
def test_params_mirror_the_schema(properties, data):
    names = list(properties)
    required = data.draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    schema = {"type": "object", "properties": properties, "required": required}
    params = derive_params(schema)
    assert [param["name"] for param in params] == names
    assert [param["name"] for param in params if param["required"]] == [n for n in names if n in required]
    assert [param["type"] for param in params] == [properties[name]["type"] for name in names]
    assert [param.get("enum") for param in params] == [properties[name].get("enum") for name in names]


@given(PROPERTIES, st.data())
def test_examples_are_valid(properties, data):
    names = list(properties)
    required = data.draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    schema = {"type": "object", "properties": properties, "required": required}
    if len(names) > 1:
        schema["anyOf"] = [{"required": [name]} for name in names[:2]]
    assert check_arguments(schema, example_arguments(schema)) == []
