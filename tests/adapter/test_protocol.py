from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovercall.adapter.failures import AdapterFailure
from discovercall.adapter.protocol import (
    answer_parameters,
    answer_tool_id,
    parameterize_request,
    parse_answer,
    request_bytes,
    select_request,
    usage_of,
)

DIGEST = "0" * 64
HEAD = ["adapter_protocol_version", "stage", "model", "trial", "task_set_sha256", "input", "messages"]


def selection(results: list) -> dict:
    return select_request("m", 2, DIGEST, "t", "Find it", results)


def test_select_request_has_the_protocol_fields_in_order():
    request = selection([{"tool_id": "a"}])
    assert list(request) == [*HEAD, "response_schema"]
    assert (request["adapter_protocol_version"], request["stage"], request["trial"]) == (1, "select", 2)
    assert (request["model"], request["task_set_sha256"]) == ("m", DIGEST)
    assert request["input"] == {
        "task_id": "t",
        "prompt": "Find it",
        "discovery": {"results": [{"tool_id": "a"}]},
    }
    assert request["response_schema"] == {
        "type": "object",
        "additionalProperties": False,
        "required": ["tool_id"],
        "properties": {"tool_id": {"type": "string"}},
    }


def test_only_named_result_fields_go_on_as_they_were_written():
    results = [
        None,
        5,
        "w.one",
        ["tool_id"],
        {},
        {"tool_id": ""},
        {"tool_id": 7, "search_id": "secret"},
        {"as_of_support": True, "secret": 1, "cost_class": ["x"], "capability": None, "tool_id": " w "},
    ]
    assert [list(r.items()) for r in selection(results)["input"]["discovery"]["results"]] == [
        [],
        [],
        [],
        [],
        [],
        [("tool_id", "")],
        [("tool_id", 7)],
        [("tool_id", " w "), ("capability", None), ("cost_class", ["x"]), ("as_of_support", True)],
    ]


def test_only_named_tool_fields_go_on_as_they_were_written():
    tool = {
        "status": "ok",
        "examples": None,
        "params": [1],
        "tool_id": " x ",
        "name": None,
        "credentials": "s",
    }
    schema = {"type": "object"}
    request = parameterize_request("m", 1, DIGEST, "t", "Find it", tool, schema)
    assert list(request) == [*HEAD, "response_schema"]
    assert list(request["input"]) == ["task_id", "prompt", "selected_tool"]
    assert list(request["input"]["selected_tool"].items()) == [
        ("tool_id", " x "),
        ("name", None),
        ("params", [1]),
        ("examples", None),
    ]
    assert request["response_schema"] is schema


def test_user_message_is_the_input_as_compact_json():
    results = [{"tool_id": "工具", "capability": {"b": 1.0, "2": "\u2028\ud800", "n": 2**60 + 1}}]
    system, user = selection(results)["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert user["content"] == (
        '{"task_id":"t","prompt":"Find it","discovery":{"results":[{"tool_id":"工具",'
        '"capability":{"2":"\u2028\\ud800","b":1,"n":1152921504606846977}}]}}'
    )


def test_request_of_any_depth_can_be_sent():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    assert request_bytes(selection([{"tool_id": "a", "capability": deep}])).endswith(b"}}}}")


@pytest.mark.parametrize(
    "stdout",
    [
        b'{"tool_id":"a"}',
        b'\n\t {"tool_id":"a"}\r\n',
        b'\xef\xbb\xbf{"tool_id":"a"}',
        '\u00a0{"tool_id":"a"}\ufeff'.encode(),
    ],
)
def test_answers_are_trimmed(stdout):
    assert parse_answer(stdout) == {"tool_id": "a"}


@pytest.mark.parametrize(
    "stdout",
    [b"", b" ", b"{", b"{}{}", b"{}\n{}", b"NaN", b"\xff{}", b'{"a":"\xe4\xba"}', b"0x10", b"010", b"'a'"],
)
def test_anything_but_one_json_value_is_invalid(stdout):
    with pytest.raises(AdapterFailure) as caught:
        parse_answer(stdout)
    assert caught.value.code == "invalid_json"


def test_deep_answer_is_read():
    answer = parse_answer(b"[" * 200_000 + b"]" * 200_000)
    assert isinstance(answer, list)


def test_large_integer_keeps_its_digits():
    assert (
        parse_answer(b'{"parameters":{"n":12345678901234567890}}')["parameters"]["n"] == 12345678901234567890
    )


@pytest.mark.parametrize(
    "answer", [None, 5, "x", [], {}, {"tool_id": None}, {"tool_id": 7}, {"tool_id": " \ufeff"}]
)
def test_answer_without_a_usable_tool_id(answer):
    assert answer_tool_id(answer) is None


def test_tool_id_is_trimmed():
    assert answer_tool_id({"tool_id": " \ufeffa.b\n"}) == "a.b"


@pytest.mark.parametrize(
    "answer", [None, 5, [], {}, {"parameters": None}, {"parameters": []}, {"parameters": "{}"}]
)
def test_answer_without_parameters(answer):
    assert answer_parameters(answer) is None


def test_parameters_of_an_answer():
    assert answer_parameters({"parameters": {"a": None}}) == {"a": None}


@pytest.mark.parametrize(
    ("usage", "kept"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 0, "cached_tokens": 1}, [3, 0, 1]),
        ({"prompt_tokens": 3.0, "completion_tokens": 1, "cached_tokens": 0, "secret": "x"}, [3, 1, 0]),
        ({"prompt_tokens": True, "completion_tokens": -1, "cached_tokens": "1"}, None),
        ({"prompt_tokens": 1.5, "completion_tokens": None, "cached_tokens": 1e300}, None),
        ({"prompt_tokens": 5, "completion_tokens": "many"}, [5]),
        (None, None),
        ([1, 2, 3], None),
    ],
)
def test_usage_keeps_whole_numbers_only(usage, kept):
    found = usage_of({"tool_id": "a", "usage": usage})
    assert (None if found is None else list(found.values())) == kept
    assert all(type(count) is int for count in (found or {}).values())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)


@given(st.lists(json_values))
def test_any_discovery_results_give_a_request_that_is_json(results):
    request = json.loads(request_bytes(selection(results)))
    assert len(request["input"]["discovery"]["results"]) == len(results)
    assert json.loads(request["messages"][1]["content"]) == request["input"]


@given(st.binary(max_size=40))
def test_any_output_is_a_value_or_invalid_json(stdout):
    try:
        answer = parse_answer(stdout)
    except AdapterFailure:
        return
    assert isinstance(answer_tool_id(answer), (str, type(None)))
    assert isinstance(answer_parameters(answer), (dict, type(None)))
    assert isinstance(usage_of(answer), (dict, type(None)))
