"""Calls: what is refused before any contact, what the broker finds out itself, what each error says."""

from typing import Any

import pytest

from discovercall.gateway.broker import Broker
from discovercall.gateway.catalog import Server
from discovercall.gateway.config import load_config
from discovercall.gateway.downstream import (
    AuthRefusedError,
    CallRefusedError,
    CallTimeoutError,
    DownstreamResult,
    ServerOfflineError,
    TransportLostError,
)
from discovercall.gateway.mcp_client import McpDownstream
from discovercall.gateway.parameters import example_arguments
from discovercall.gateway.results import ERROR_TYPES, NEVER
from discovercall.gateway.settings import BrokerSettings
from discovercall.gateway.store import Catalog
from tests.gateway.worlds import text, world
from tests.support.mcp.recording import Recording

WORLD = world()
POST = "chat.post_message"
GOOD = {"channel": "general", "text": "hi"}


@pytest.fixture
def downstream():
    return Recording(WORLD.tools)


def broker(downstream, **members):
    return Broker(Catalog.of_world(WORLD, indexed_at=1.0), downstream, **members)


def error_of(answer):
    return answer.to_json()["error"]


def raising(error):
    def answer(arguments):
        raise error

    return answer


def test_success(downstream):
    answer = broker(downstream).call(POST, GOOD).to_json()
    assert answer == {
        "ok": True,
        "toolRef": POST,
        "result": "post_message done",
        "resultSummary": "post_message: post_message done",
    }
    assert downstream.calls == [(POST, GOOD)]
    assert downstream.connected == ["chat"]


@pytest.mark.parametrize(
    ("result", "value", "summary"),
    [
        (DownstreamResult(), "", "no content"),
        (DownstreamResult(text=("a", "b")), "a\nb", "a"),
        (DownstreamResult(text=("x",), structured={"n": 1}), {"n": 1}, "structured content"),
        (DownstreamResult(structured=[]), [], "structured content"),
        (DownstreamResult(structured=False), False, "structured content"),
    ],
)
def test_what_the_result_is(downstream, result, value, summary):
    downstream.answers[POST] = lambda arguments: result
    answer = broker(downstream).call(POST, GOOD).to_json()
    assert answer["result"] == value
    assert answer["resultSummary"] == f"post_message: {summary}"


def test_content_without_text_is_told_of(downstream):
    downstream.answers[POST] = lambda arguments: DownstreamResult(text=("see",), left_out=("image", "image"))
    answer = broker(downstream).call(POST, GOOD).to_json()
    assert answer["notices"] == ["Content without text was left out: image."]


@pytest.mark.parametrize("ref", ["", "chat", ".x", "chat.", "chat.nothing"])
def test_unknown_references(downstream, ref):
    error = error_of(broker(downstream).call(ref, {}))
    assert (error["type"], error["retryable"]) == ("TOOL_NOT_FOUND", False)
    for words in ("Do not retry", "findTool", "index"):
        assert words in error["agentInstruction"]
    assert downstream.connected == []


@pytest.mark.parametrize(("ref", "disabled"), [("nope.x", ()), (POST, ("chat",))])
def test_unknown_or_disabled_server(downstream, ref, disabled):
    catalog = Catalog.of_world(WORLD, indexed_at=1.0)
    for server_id in disabled:
        catalog.put_server(Server(server_id, enabled=False))
    error = error_of(Broker(catalog, downstream).call(ref, GOOD))
    assert (error["type"], error["retryable"], error["retry"]) == ("CONFIG_ERROR", False, {"when": "never"})
    assert "another toolRef" in error["agentInstruction"]
    assert error["serverId"] == ref.split(".")[0]
    assert downstream.connected == []


def test_tool_that_no_index_knows_is_left_to_the_server(downstream):
    catalog = Catalog()
    catalog.put_server(WORLD.servers[0])
    answer = Broker(catalog, downstream).call(POST, GOOD)
    assert answer.ok
    assert downstream.calls == [(POST, GOOD)]


def test_invalid_arguments_reach_no_server(downstream):
    error = error_of(broker(downstream).call(POST, {"text": 3}))
    assert (error["type"], error["retryable"], error["retry"]) == (
        "ARGUMENT_VALIDATION_FAILED", False, {"when": "never"}
    )  # fmt: skip
    assert [(p["field"], p["rule"]) for p in error["problems"]] == [("channel", "required"), ("text", "type")]
    assert "channel" in error["message"]
    assert "text" in error["message"]
    for words in ("Correct", "describeTool", "Do not resend"):
        assert words in error["agentInstruction"]
    assert (downstream.connected, downstream.calls) == ([], [])


def test_drift_is_found_before_the_call(downstream):
    downstream.live[POST] = text("channel", "text", "urgency")
    error = error_of(broker(downstream).call(POST, GOOD))
    assert (error["type"], error["retryable"]) == ("TOOL_SCHEMA_CHANGED", False)
    assert error["retry"] == {"when": "after", "precondition": "index_refreshed"}
    assert "urgency" in error["message"]
    for words in ("Refresh", "describeTool", "Do not resend"):
        assert words in error["agentInstruction"]
    assert downstream.calls == []


def test_drift_that_these_arguments_survive_is_a_notice(downstream):
    downstream.live[POST] = text("channel", "text", "urgency", required=("channel", "text"))
    answer = broker(downstream).call(POST, GOOD).to_json()
    assert answer["ok"]
    assert "discovercall gateway index" in answer["notices"][0]


def test_order_of_members_is_no_drift(downstream):
    schema = dict(WORLD.by_ref[POST].input_schema)
    downstream.live[POST] = dict(reversed(schema.items()))
    assert "notices" not in broker(downstream).call(POST, GOOD).to_json()


def test_tool_that_the_server_has_dropped(downstream):
    del downstream.live[POST]
    error = error_of(broker(downstream).call(POST, GOOD))
    assert error["type"] == "TOOL_NOT_FOUND"
    assert downstream.calls == []


def test_offline_is_found_by_the_broker(downstream):
    downstream.errors["chat"] = ServerOfflineError("connection refused")
    error = error_of(broker(downstream).call(POST, GOOD))
    assert (error["type"], error["retryable"]) == ("DOWNSTREAM_SERVER_OFFLINE", True)
    assert error["retry"] == {"when": "after", "precondition": "server_online", "afterSeconds": 30}
    assert "Retry only after a check" in error["agentInstruction"]
    assert "do not loop" in error["agentInstruction"]


def test_refused_credentials(downstream):
    downstream.errors["chat"] = AuthRefusedError("HTTP 401")
    error = error_of(broker(downstream).call(POST, GOOD))
    assert (error["type"], error["retryable"]) == ("AUTH_UNAVAILABLE", False)
    assert "Ask the user" in error["agentInstruction"]


def test_credentials_that_are_not_set_were_refused_by_nobody(tmp_path):
    file = tmp_path / "gateway.toml"
    file.write_text('[servers.chat]\nurl = "http://127.0.0.1:9/mcp"\nheaders = {A = "${NOPE}"}\n')
    downstream = McpDownstream(load_config(file, {}).servers)
    error = error_of(broker(downstream).call(POST, GOOD))
    assert error["type"] == "AUTH_UNAVAILABLE"
    assert error["message"] == "Server chat was not contacted: the variable NOPE is not set"


@pytest.mark.parametrize(("ref", "words"), [(POST, "may have taken effect"), ("mail.search", "only reads")])
def test_lost_connection(downstream, ref, words):
    downstream.answers[ref] = raising(TransportLostError("reset"))
    arguments = GOOD if ref == POST else {"query": "x"}
    error = error_of(broker(downstream).call(ref, arguments))
    assert (error["type"], error["retryable"]) == ("DOWNSTREAM_CALL_FAILED", True)
    assert error["retry"] == {"when": "after", "precondition": "backoff", "afterSeconds": 5}
    assert words in error["agentInstruction"]
    assert "Check server" in error["agentInstruction"]
    assert len(downstream.calls) == 1


def test_own_time_limit_is_named_and_not_retryable(downstream):
    downstream.answers[POST] = raising(CallTimeoutError("x"))
    error = error_of(broker(downstream, settings=BrokerSettings(call_timeout_ms=1234)).call(POST, GOOD))
    assert (error["type"], error["retryable"], error["retry"]) == (
        "DOWNSTREAM_CALL_FAILED", False, {"when": "never"}
    )  # fmt: skip
    for place in (error["message"], error["agentInstruction"]):
        assert "timeouts.call_ms" in place
        assert "1234 ms" in place
    assert "may still have taken effect" in error["agentInstruction"]


@pytest.mark.parametrize("step", ["connect", "live_schema"])
def test_time_that_ran_out_before_the_call_was_sent_changed_nothing(downstream, monkeypatch, step):
    if step == "connect":
        downstream.errors["chat"] = CallTimeoutError("x")
    else:
        session = type(downstream.connect("chat", 1.0))
        monkeypatch.setattr(session, "live_schema", lambda self, name: raising(CallTimeoutError("x"))({}))
    error = error_of(broker(downstream, settings=BrokerSettings(call_timeout_ms=1234)).call(POST, GOOD))
    assert (error["type"], error["retryable"], error["retry"]) == (
        "DOWNSTREAM_CALL_FAILED", False, {"when": "never"}
    )  # fmt: skip
    assert error["message"] == "Server chat was not ready for the call within timeouts.call_ms (1234 ms)."
    assert "timeouts.call_ms (1234 ms)" in error["agentInstruction"]
    assert "nothing was executed" in error["agentInstruction"]
    assert "taken effect" not in error["agentInstruction"]
    assert downstream.calls == []


@pytest.mark.parametrize(
    "answer",
    [
        lambda arguments: DownstreamResult(text=("disk full",), is_error=True),
        lambda arguments: DownstreamResult(structured={"why": "disk full"}, is_error=True),
        lambda arguments: DownstreamResult(text=("",), structured={"why": "disk full"}, is_error=True),
        raising(CallRefusedError("disk full")),
    ],
)
def test_error_of_the_tool_itself(downstream, answer):
    downstream.answers[POST] = answer
    error = error_of(broker(downstream).call(POST, GOOD))
    assert (error["type"], error["retryable"]) == ("DOWNSTREAM_CALL_FAILED", False)
    assert "disk full" in error["message"]
    assert "do not resend" in error["agentInstruction"]


@pytest.mark.parametrize(
    "failure",
    [ServerOfflineError, AuthRefusedError, TransportLostError, CallRefusedError],
)
def test_secrets_never_show(downstream, failure):
    downstream.answers[POST] = raising(failure("Bearer tok-123456 was refused"))
    text_of = str(broker(downstream, secrets=["tok-123456", "", "${TOKEN}"]).call(POST, GOOD).to_json())
    assert "tok-123456" not in text_of
    assert "[redacted]" in text_of


def test_result_over_the_budget_is_cut_and_still_a_success(downstream):
    downstream.answers[POST] = lambda arguments: DownstreamResult(structured=list(range(1000)))
    answer = broker(downstream, settings=BrokerSettings(max_result_bytes=100)).call(POST, GOOD).to_json()
    assert answer["ok"]
    assert answer["result"] == list(range(len(answer["result"])))
    assert answer["resultSummary"].endswith("(shortened)")
    assert f"{len(answer['result'])} of 1000 items" in answer["notices"][0]


def test_every_error_says_what_to_do(downstream):
    """The table of errors: types are known, instructions are there, and retryable ones say after what."""
    moods = [ServerOfflineError("a"), AuthRefusedError("b"), TransportLostError("c"), CallTimeoutError("d")]
    answers = []
    for mood in moods:
        downstream.answers[POST] = raising(mood)
        answers.append(broker(downstream).call(POST, GOOD))
    answers += [broker(downstream).call(ref, {}) for ref in ("x", "nope.x", "chat.no", POST)]
    for answer in answers:
        error = answer.error
        assert error.type in ERROR_TYPES
        assert error.message
        assert error.agent_instruction
        assert error.retryable <= (error.retry.when == "after" and error.retry.precondition is not None)
        assert error.retryable or error.retry in (NEVER,)


def test_repair_loop(downstream):
    """What a machine that reads only the error and the description can mend, it mends in one step."""
    made = broker(downstream)
    arguments: dict[str, Any] = {"channel": ["general"]}
    problems = error_of(made.call(POST, arguments))["problems"]
    example = made.describe(POST).to_json()["examples"][0]["arguments"]
    for problem in problems:
        field = problem["field"]
        arguments[field] = arguments[field][0] if isinstance(arguments.get(field), list) else example[field]
    assert made.call(POST, arguments).ok
    assert downstream.calls == [(POST, {"channel": "general", "text": "text"})]


def test_examples_of_all_tools_are_accepted(downstream):
    made = broker(downstream)
    for tool in WORLD.tools:
        assert made.call(tool.tool_ref, example_arguments(tool.input_schema)).ok


def test_world_without_servers_makes_results_up():
    answer = Broker(WORLD).call("mail.search", {"query": "x"}).to_json()
    assert "not real data" in str(answer["result"])
    assert Broker(WORLD).call("mail.search", {"query": "x"}).to_json() == answer
    down = Broker(world(mail="offline")).call("mail.search", {"query": "x"})
    assert error_of(down)["type"] == "DOWNSTREAM_SERVER_OFFLINE"
