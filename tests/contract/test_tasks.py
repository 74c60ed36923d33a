import hashlib
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall import parse_task_set, validate_task_set
from discovercall.contract.tasks import load_task_set
from discovercall.foundation.errors import InputError
from tests.support.records import constraint, lines, task

LARGEST = 2**53 - 1
TEXT = "must be a string that is not blank"
PRIMITIVE = "must be a string, a finite number or a boolean"
ID = "must have 1 to 256 characters, no control, format or surrogate ones among them"
TWICE = "must not name anything twice"


def with_constraint(**fields):
    return task(constraints=[{**constraint(), **fields}])


def without(value, field):
    return {key: item for key, item in value.items() if key != field}


def with_candidates(*candidates, **more):
    return task(reference={"candidates": list(candidates), **more})


def complaint(text):
    with pytest.raises(InputError) as refused:
        parse_task_set(text, "set.jsonl")
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (without(task(), "id"), "id: field required"),
        (task(id=7), f"id: {TEXT}"),
        (task(id=""), f"id: {TEXT}"),
        (task(id="\u3000"), f"id: {TEXT}"),
        (task(id="a" * 257), f"id: {ID}"),
        (task(id="😀" * 129), f"id: {ID}"),
        (task(id="a\x85"), f"id: {ID}"),
        (task(id="a\u200db"), f"id: {ID}"),
        (task(id="a\U00013439"), f"id: {ID}"),
        (task(id="a\ud800"), f"id: {ID}"),
        (without(task(), "prompt"), "prompt: field required"),
        (task(prompt=" \ufeff"), f"prompt: {TEXT}"),
        (task(prompt=None), f"prompt: {TEXT}"),
        (task(discover_query=""), f"discover_query: {TEXT}"),
        (task(discover_query=None), f"discover_query: {TEXT}"),
        (without(task(), "constraints"), "constraints: field required"),
        (task(constraints=None), "constraints: should be a valid list"),
        (task(constraints={}), "constraints: should be a valid list"),
        (task(constraints=[constraint(), constraint()]), "constraints must have different ids"),
        (with_constraint(id=" "), f"constraints[0].id: {TEXT}"),
        (with_constraint(aliases=[""]), f"constraints[0].aliases[0]: {TEXT}"),
        (with_constraint(aliases=["a", "b", "a"]), f"constraints[0].aliases: {TWICE}"),
        (with_constraint(aliases="city"), "constraints[0].aliases: should be a valid list"),
        (with_constraint(value=None), f"constraints[0].value: {PRIMITIVE}"),
        (with_constraint(value="  "), f"constraints[0].value: {TEXT}"),
        (with_constraint(value=[1]), f"constraints[0].value: {PRIMITIVE}"),
        (with_constraint(match="regex"), "constraints[0].match: should be 'equals' or 'contains'"),
        (with_constraint(match=None), "constraints[0].match: should be 'equals' or 'contains'"),
        (with_constraint(composite_aliases=None), "constraints[0].composite_aliases: should be a valid list"),
        (with_constraint(composite_aliases=["p", "p"]), f"constraints[0].composite_aliases: {TWICE}"),
        (with_constraint(composite_aliases=["p", " "]), f"constraints[0].composite_aliases[1]: {TEXT}"),
        (with_constraint(normalizers=["lower"]), "constraints[0].normalizers[0]: should be 'url_decode'"),
        (with_constraint(normalizers=None), "constraints[0].normalizers: should be a valid list"),
        (with_constraint(alias_values=None), "constraints[0].alias_values: must be a JSON object"),
        (
            with_constraint(alias_values={"city": "x"}),
            "constraints[0].alias_values.city: should be a valid list",
        ),
        (with_constraint(alias_values={"city": [{}]}), f"constraints[0].alias_values.city[0]: {PRIMITIVE}"),
        (with_constraint(alias_values={"city": [1, " "]}), f"constraints[0].alias_values.city[1]: {TEXT}"),
        (
            with_constraint(alias_values={"other": ["x"]}),
            "constraints[0]: alias_values may name only the constraint's own aliases",
        ),
        (task(reference=[]), "reference: must be a JSON object"),
        (task(reference={}), "reference.candidates: field required"),
        (with_candidates(), "reference: needs unavailable_reason where candidates is empty"),
        (with_candidates(unavailable_reason=" "), f"reference.unavailable_reason: {TEXT}"),
        (with_candidates(unavailable_reason=None), f"reference.unavailable_reason: {TEXT}"),
        (with_candidates({"parameters": {}}), "reference.candidates[0].tool_id: field required"),
        (with_candidates({"tool_id": "", "parameters": {}}), f"reference.candidates[0].tool_id: {TEXT}"),
        (with_candidates({"tool_id": "a"}), "reference.candidates[0].parameters: field required"),
        (
            with_candidates({"tool_id": "a", "parameters": []}),
            "reference.candidates[0].parameters: must be a JSON object",
        ),
        (
            with_candidates({"tool_id": "a", "parameters": {}}, {"tool_id": "a", "parameters": {}}),
            f"reference: {TWICE}",
        ),
        (task(oracle={"candidates": []}), "oracle: needs unavailable_reason where candidates is empty"),
        (
            task(
                reference={"candidates": [], "unavailable_reason": "none"},
                oracle={"candidates": [], "unavailable_reason": "none"},
            ),
            "oracle is the old name of reference: give one of them",
        ),
    ],
)  # fmt: skip
def test_a_broken_rule_is_told_with_file_line_and_field(wrong, message):
    assert complaint("# head\n" + lines(task("good"), wrong)) == f"set.jsonl:3: {message}"


@pytest.mark.parametrize("field", ["constraints", "aliases", "alias_values.city"])
def test_lists_that_must_not_be_empty(field):
    wrong = {
        "constraints": task(constraints=[]),
        "aliases": with_constraint(aliases=[]),
        "alias_values.city": with_constraint(alias_values={"city": []}),
    }[field]
    place = field if field == "constraints" else f"constraints[0].{field}"
    assert complaint(lines(wrong)) == f"set.jsonl:1: {place}: should have at least 1 item, not 0"


@pytest.mark.parametrize(
    "right",
    [
        task(id="a" * 256),
        task(id="😀" * 128),
        task(id="naïve 東京 \u00a0x"),
        without(task(), "discover_query"),
        task(reference=None),
        task(oracle=None, reference={"candidates": [], "unavailable_reason": "none there"}),
        task(oracle={"candidates": [{"tool_id": "a", "parameters": {"deep": [{"x": [1, None, True]}]}}]}),
        task(constraints=[constraint("a"), constraint("b")]),
        with_constraint(value=0),
        with_constraint(value=False),
        with_constraint(value=-1.5),
        with_constraint(value=LARGEST),
        with_constraint(match="contains", normalizers=["url_decode"], composite_aliases=[]),
        with_constraint(composite_aliases=["city"], alias_values={"city": ["LON", 1, True, 2.5]}),
        with_constraint(normalizers=[], alias_values={}),
        task(extra={"anything": [1, None]}),
    ],
)
def test_what_the_rules_allow_is_taken_as_it_is(right):
    assert parse_task_set(lines(right), "set.jsonl") == [right]


def test_ids_are_unique_in_the_set_and_compared_exactly():
    assert complaint(lines(task("a"), task("b"), task("a"))) == (
        "set.jsonl:3: id: 'a' is taken by set.jsonl:1; ids are unique"
    )
    assert len(parse_task_set(lines(task("a"), task("A")), "set.jsonl")) == 2


@pytest.mark.parametrize("text", ["", "\n\r\n", "# only a comment\n"])
def test_a_set_needs_a_task(text):
    assert complaint(text) == "set.jsonl: holds no task; a task set needs at least one task"


@pytest.mark.parametrize("line", ["[]", "7", '"text"', "null", "true"])
def test_a_line_must_be_an_object(line):
    assert complaint(f"{lines(task())}\n{line}") == "set.jsonl:3: must be a JSON object"


@pytest.mark.parametrize("line", ["{", "NaN", '{"id": NaN}', "{'id': 1}"])
def test_a_line_that_is_no_json(line):
    assert complaint(f"{lines(task())}{line}").startswith("set.jsonl:2: not valid JSON (")


@pytest.mark.parametrize("number", ["9007199254740992", "-9007199254740992", "1e999", "-1e999", "9" * 500])
@pytest.mark.parametrize(
    ("place", "field"),
    [
        ('"constraints":[{"id":"c","aliases":["c"],"value":NUMBER}]', "constraints[0].value"),
        (
            '"constraints":[{"id":"c","aliases":["c"],"value":1}],'
            '"reference":{"candidates":[{"tool_id":"t","parameters":{"p":[0,{"q":NUMBER}]}}]}',
            "reference.candidates[0].parameters.p[1].q",
        ),
        ('"constraints":[{"id":"c","aliases":["c"],"value":1}],"unknown":[NUMBER]', "unknown[0]"),
    ],
)
def test_a_number_that_json_cannot_carry_exactly_is_refused(number, place, field):
    text = '{"id":"a","prompt":"p",' + place.replace("NUMBER", number) + "}"
    assert complaint(text) == (
        f"set.jsonl:1: {field}: holds a number that JSON cannot carry exactly; write it as a string"
    )


def test_the_largest_exact_integers_and_any_double_are_fine():
    text = lines(with_constraint(value=-LARGEST, alias_values={"city": [LARGEST, 1e300, 5e-324]}))
    assert parse_task_set(text, "set.jsonl")[0]["constraints"][0]["value"] == -LARGEST


def test_separators_of_other_kinds_do_not_end_a_line():
    text = json.dumps(task(prompt="a\u2028b\x85c"), ensure_ascii=False) + "\r\n" + lines(task("b"))
    assert [t["id"] for t in parse_task_set(text, "set.jsonl")] == ["weather", "b"]


def test_a_reference_may_be_deep():
    depth = 20_000
    deep = '{"x":' * depth + "1" + "}" * depth
    text = lines(task())[:-2] + ',"reference":{"candidates":[{"tool_id":"t","parameters":' + deep + "}]}}"
    assert len(parse_task_set(text, "set.jsonl")) == 1
    with pytest.raises(InputError, match="cannot carry exactly"):
        parse_task_set(text.replace(":1}", ":1e999}"), "set.jsonl")


@pytest.mark.parametrize("value", [math.nan, math.inf, 2**60])
def test_parsed_tasks_are_checked_by_the_same_rules(value):
    validate_task_set([task("a"), task("b")])
    with pytest.raises(InputError, match=r"^task 2: constraints\[0\]\.value: holds a number"):
        validate_task_set([task("a"), {**with_constraint(value=value), "id": "b"}])


@pytest.mark.parametrize("tasks", [None, {}, "text", 7])
def test_only_a_list_is_a_task_set(tasks):
    with pytest.raises(InputError, match="a task set must be a list of tasks"):
        validate_task_set(tasks)


def test_an_empty_list_is_no_task_set():
    with pytest.raises(InputError, match="holds no task"):
        validate_task_set([])


def test_a_file_is_read_once_with_its_digest(tmp_path):
    path = tmp_path / "set.jsonl"
    data = b"\xef\xbb\xbf# head\r\n" + lines(without(task("a"), "discover_query"), task("b")).encode()
    path.write_bytes(data)
    loaded = load_task_set(path)
    assert loaded.sha256 == hashlib.sha256(data).hexdigest()
    assert [(t.id, t.query) for t in loaded.tasks] == [("a", "Do a."), ("b", "b query")]


def test_a_file_that_is_no_utf8_is_refused_with_its_line(tmp_path):
    path = tmp_path / "set.jsonl"
    path.write_bytes(lines(task("a")).encode() + '{"id":"café"}'.encode("latin-1"))
    with pytest.raises(InputError, match=r"set\.jsonl:2: not valid UTF-8"):
        load_task_set(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "prompt", "constraints", "aliases", "value", "reference", "candidates"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def refusal(value):
    """The message with which a task is refused; None where it is taken."""
    try:
        validate_task_set([value])
    except InputError as error:
        return str(error)
    return None


@settings(deadline=None)
@given(JSON)
def test_whatever_is_given_a_refusal_is_one_clear_error(value):
    message = refusal(value)
    if message is None:
        assert value["id"].strip()
        assert value["constraints"]
    else:
        assert message.startswith("task 1")


@settings(deadline=None)
@given(st.sampled_from(sorted(task())), JSON)
def test_a_task_with_one_field_replaced_is_refused_with_that_field_or_taken(field, value):
    message = refusal({**task(), field: value})
    assert message is None or message.startswith(f"task 1: {field}")
