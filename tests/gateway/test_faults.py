import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovercall.foundation.errors import InputError
from discovercall.gateway.faults import Effect, Fault, FaultPlan, load_faults, parse_faults


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, ["list"]),
        ([1], ["faults[0]"]),
        ([{"do": {"reset": True}, "when": 1}], ["faults[0]: when: unknown field", "on, match, times, do"]),
        ([{"do": {"explode": True}}], ["faults[0]: do.explode: unknown field", "body_hang_s"]),
        ([{"on": "search"}], ["faults[0]", "do"]),
        ([{"on": "call", "do": {"reset": True}}], ["faults[0]", "on"]),
        ([{"do": {}}], ["faults[0]", "do", "at least one of"]),
        ([{"do": {"status": 200}}], ["do.status"]),
        ([{"do": {"hang_s": -1}}], ["do.hang_s"]),
        ([{"do": {"latency_ms": "1"}}], ["do.latency_ms"]),
        ([{"do": {"reset": True}}, {"times": -2, "do": {"reset": True}}], ["faults[1]", "times"]),
    ],
)
def test_refusals_name_entry_and_member(value, words):
    with pytest.raises(InputError) as error:
        parse_faults(value, where="faults.json")
    message = str(error.value)
    assert message.startswith("faults.json")
    assert "\n" not in message
    for word in words:
        assert word in message


def test_malformed_file_names_its_line(tmp_path):
    path = tmp_path / "faults.json"
    path.write_text("[\n{,}]")
    with pytest.raises(InputError, match=r"faults\.json:2"):
        load_faults(path)


def test_defaults_and_lists():
    first, second = parse_faults(
        [{"do": {"status": 503}}, {"on": ["inspect", "execute"], "times": -1, "do": {"empty": True}}],
        where="f",
    )
    assert first == Fault(Effect(status=503))
    assert first.on == ("search", "inspect", "execute")
    assert second == Fault(Effect(empty=True), ("inspect", "execute"), None, -1)


def test_the_first_that_fits_strikes_until_used_up():
    plan = FaultPlan(
        [
            Fault(Effect(status=503), ("search",), "london", 2),
            Fault(Effect(reset=True), times=1),
        ]
    )
    london, other = {"query": "london"}, {"query": "x"}
    assert plan.strike("search", london, None) == Effect(status=503)
    assert plan.strike("search", other, None) == Effect(reset=True)
    assert plan.strike("search", london, None) == Effect(status=503)
    assert plan.strike("search", london, None) is None


def test_match_also_looks_at_the_tool_id():
    plan = FaultPlan([Fault(Effect(reset=True), match="alpha.find")])
    assert plan.strike("execute", {}, "beta.find") is None
    assert plan.strike("execute", {}, "alpha.find") == Effect(reset=True)


@given(st.integers(0, 5), st.integers(0, 10))
def test_times_are_exact(times, requests):
    plan = FaultPlan([Fault(Effect(reset=True), times=times)])
    struck = [plan.strike("search", {}, None) for _ in range(requests)]
    assert sum(effect is not None for effect in struck) == min(times, requests)


def test_always():
    plan = FaultPlan(parse_faults(json.loads('[{"times": -1, "do": {"bad_json": true}}]'), where="f"))
    assert all(plan.strike("inspect", None, None) for _ in range(100))
