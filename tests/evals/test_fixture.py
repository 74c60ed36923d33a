"""The fixture's servers judge and record on their own, whatever the broker believes."""

import pytest

from discovercall.evals.fixture import LATE_S, MODES, FixtureDownstream, first_problem, success_text
from discovercall.gateway.arguments import check_arguments
from discovercall.gateway.downstream import (
    AuthRefusedError,
    CallRefusedError,
    CallTimeoutError,
    ServerOfflineError,
    TransportLostError,
)
from tests.gateway.worlds import text, world

REF, NAME = "mail.search", "search"
LIVE = {**text("query"), "properties": {"query": {"type": "string", "pattern": "^[a-z]+$"}}}


def session(**members):
    downstream = FixtureDownstream(world(), **members)
    return downstream, downstream.connect("mail", 0.5)


def test_a_right_call_is_answered_and_recorded():
    downstream, mail = session()
    assert mail.call(NAME, {"query": "x"}).text == (success_text(REF),)
    assert [(call.tool_ref, call.arguments, call.accepted) for call in downstream.calls] == [
        (REF, {"query": "x"}, True)
    ]
    assert downstream.connected == ["mail"]


def test_arguments_are_judged_by_the_live_schema_beyond_what_the_broker_looks_at():
    downstream, mail = session(live_schemas={REF: LIVE})
    assert mail.live_schema(NAME) == LIVE
    assert check_arguments(LIVE, {"query": "UPPER"}) == []
    with pytest.raises(CallRefusedError, match="UPPER"):
        mail.call(NAME, {"query": "UPPER"})
    assert [call.accepted for call in downstream.calls] == [False]


def test_a_tool_that_the_server_lacks_is_refused():
    _, mail = session()
    assert mail.live_schema("shred") is None
    with pytest.raises(CallRefusedError, match="no such tool"):
        mail.call("shred", {})


@pytest.mark.parametrize(
    ("member", "problem"),
    [
        ({"type": "word"}, None),
        ({"$ref": "https://example.org/schema.json"}, None),
        ({"$ref": "#/nowhere"}, None),
        ({"type": "string", "pattern": "("}, None),
        ({"type": 7}, None),
        ({"$ref": "#/$defs/number"}, "'x' is not of type 'number'"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_schema_that_cannot_be_judged_accepts(member, problem):
    schema = {"properties": {"query": member}, "$defs": {"number": {"type": "number"}}}
    assert first_problem(schema, {"query": "x"}) == problem


@pytest.mark.parametrize(
    ("mode", "error"), [("offline", ServerOfflineError), ("auth_refused", AuthRefusedError)]
)
def test_moods_in_which_nobody_connects(mode, error):
    with pytest.raises(error):
        session(mode=mode)


@pytest.mark.parametrize(
    ("mode", "error"), [("slow", CallTimeoutError), ("transport_drop", TransportLostError)]
)
def test_moods_in_which_a_call_breaks(mode, error):
    waits: list[float] = []
    downstream, mail = session(mode=mode, wait=waits.append)
    with pytest.raises(error):
        mail.call(NAME, {"query": "x"})
    assert len(downstream.calls) == 1
    assert waits == ([0.5] if mode == "slow" else [])


def test_a_late_answer_needs_time_enough():
    waits: list[float] = []
    downstream, mail = session(mode="late", wait=waits.append)
    assert mail.call(NAME, {"query": "x"}).text == (success_text(REF),)
    with pytest.raises(CallTimeoutError):
        downstream.connect("mail", LATE_S / 2).call(NAME, {"query": "x"})
    assert waits == [LATE_S, LATE_S / 2]


def test_moods_in_which_a_call_is_answered():
    answers = {mode: session(mode=mode, secret="hush")[1].call(NAME, {"query": "x"})
               for mode in ("tool_error", "huge_result", "secret_in_message")}  # fmt: skip
    assert answers["tool_error"].is_error
    assert "hush" in answers["secret_in_message"].text[0]
    assert len(answers["huge_result"].structured) > 1000
    assert len(MODES) == 9
