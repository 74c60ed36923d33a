"""Calls over servers that check and record: the real broker holds, every lie of a broker costs its metric."""

from dataclasses import replace
from pathlib import Path

import pytest

from discovercall.evals.cases import Corpus, Scenario
from discovercall.evals.dispositions import ALLOWED, is_clear
from discovercall.evals.fixture import success_text
from discovercall.evals.invocation import METRICS, measure_invocation
from discovercall.evals.probes import make_broker
from discovercall.evals.repairer import repaired_arguments
from discovercall.gateway.results import ERROR_TYPES, NEVER, BrokerError, CallResult, Failure, Retry
from discovercall.gateway.store import Catalog
from tests.gateway.worlds import TOOLS, text, world

INVALID, DRIFT, OFFLINE = "ARGUMENT_VALIDATION_FAILED", "TOOL_SCHEMA_CHANGED", "DOWNSTREAM_SERVER_OFFLINE"


def scenario(name, ref, arguments, outcome, error=None, corrected=None, live=None):
    return Scenario(name, ref, arguments, outcome, error, corrected, live, "because")


SCENARIOS = (
    scenario("search", "mail.search", {"query": "invoice"}, "success"),
    scenario("missing", "mail.search", {}, "repair", INVALID, {"query": "invoice"}),
    scenario("wrong type", "wiki.get_page", {"page_id": 7}, "repair", INVALID, {"page_id": "7"}),
    scenario("nothing to go by", "mail.send", {}, "error", INVALID),
    scenario("renamed", "git.log", {"repo_path": "."}, "error", DRIFT, live=text("repository")),
    scenario("down", "down.weather", {"city": "Faro"}, "error", OFFLINE),
    scenario("locked", "chat.get_message", {"message_id": "m1"}, "error", "DOWNSTREAM_CALL_FAILED"),
    scenario("no key", "chat.search_messages", {"query": "x"}, "error", "AUTH_UNAVAILABLE"),
    scenario("stuck", "files.read_file", {"path": "/tmp/x"}, "timeout"),
)


def corpus(scenarios=SCENARIOS, tools=TOOLS):
    return Corpus(Path("nowhere"), 1, world(tools), (), (), tuple(scenarios), (), None, "0" * 64)


def measured(**members):
    return measure_invocation(corpus(), **members).document()


class Meddling:
    """A broker whose calls go through a lie."""

    def __init__(self, inner, lie):
        self.inner, self.source, self.lie = inner, inner.source, lie

    def find(self, query):
        return self.inner.find(query)

    def describe(self, tool_ref):
        return self.inner.describe(tool_ref)

    def call(self, tool_ref, arguments=None):
        return self.lie(self.inner, tool_ref, arguments or {})

    def close(self):
        self.inner.close()


def under(lie):
    return measured(new_broker=lambda *given: Meddling(make_broker(*given), lie))


def changed_error(change):
    """A broker that tells something else about each of its errors."""

    def lie(inner, tool_ref, arguments):
        answer = inner.call(tool_ref, arguments)
        return Failure(change(answer.error)) if isinstance(answer, Failure) else answer

    return under(lie)


def test_the_real_broker_holds_everywhere():
    result = measured()
    assert {name: result[name] for name in METRICS} == dict.fromkeys(METRICS, 1.0)
    assert result["modes"] == dict.fromkeys(result["modes"], 1.0)
    assert len(result["modes"]) == 8
    assert result["modeHandledRate"] == 1.0
    assert result["offenders"] == {}
    assert (result["n"], result["scenarios"]) == (6, 9)
    assert {name: interval["of"] for name, interval in result["intervals"].items()} == {
        "validArgumentRate": 3,
        "firstCallSuccess": 1,
        "repairSuccess": 2,
        "mechanicalRepairRate": 2,
        "schemaErrorRate": 1,
        "offlineHandledRate": 1,
        "timeoutHandledRate": 1,
        "expectedErrorRate": 5,
        "errorClarity": 8,
        "noContactRate": 4,
        "modeHandledRate": 8,
    }


def test_without_a_case_there_is_no_rate():
    result = measure_invocation(corpus(())).document()
    assert {result[name] for name in (*METRICS, "modeHandledRate")} == {None}
    assert set(result["modes"].values()) == {None}
    assert result["n"] == 0


def test_the_result_is_the_same_twice():
    assert measured() == measured()


def test_success_without_calling_is_seen():
    result = under(lambda inner, ref, arguments: CallResult(ref, success_text(ref), "done", text=True))
    assert result["firstCallSuccess"] == result["validArgumentRate"] == 0
    assert result["repairSuccess"] == result["mechanicalRepairRate"] == result["schemaErrorRate"] == 0
    assert result["offlineHandledRate"] == result["timeoutHandledRate"] == result["modeHandledRate"] == 0
    assert result["errorClarity"] is None
    assert result["offenders"]["repairSuccess"] == ["missing", "wrong type"]


def test_a_call_that_is_repeated_is_seen():
    def twice(inner, ref, arguments):
        inner.call(ref, arguments)
        return inner.call(ref, arguments)

    result = under(twice)
    assert result["firstCallSuccess"] == result["repairSuccess"] == 0
    assert result["timeoutHandledRate"] == 0
    assert result["modes"]["transport_drop"] == result["modes"]["slow"] == 0
    assert result["modes"]["offline"] == 1
    assert result["noContactRate"] == result["schemaErrorRate"] == 1


def test_arguments_that_are_checked_only_by_the_server_are_seen():
    stranger = [dict(tool, inputSchema={"type": "object"}) for tool in TOOLS]

    def unchecked(real_world, downstream, settings, secrets):
        broker = make_broker(real_world, downstream, settings, secrets)
        broker.source = Catalog.of_world(world(stranger))
        return broker

    result = measured(new_broker=unchecked)
    assert result["repairSuccess"] == 0  # only the live schema refuses: as a drift, after connecting
    assert result["offenders"]["expectedErrorRate"] == ["nothing to go by"]
    assert result["noContactRate"] == 0.25
    assert result["offenders"]["noContactRate"] == ["missing", "wrong type", "nothing to go by"]


def test_drift_that_only_the_call_finds_is_seen():
    def blind(real_world, downstream, settings, secrets):
        connect = downstream.connect

        def connect_blindly(server_id, timeout_s):
            session = connect(server_id, timeout_s)
            session.live_schema = lambda name: real_world.by_ref[f"{server_id}.{name}"].input_schema
            return session

        downstream.connect = connect_blindly
        return make_broker(real_world, downstream, settings, secrets)

    result = measured(new_broker=blind)
    assert result["schemaErrorRate"] == 0
    assert result["offenders"]["noContactRate"] == ["renamed"]
    assert result["firstCallSuccess"] == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda error: replace(error, retry=Retry("after", "backoff", 5)),
        lambda error: replace(error, agent_instruction=" "),
        lambda error: replace(error, retryable=not error.retryable, retry=NEVER),
    ],
)
def test_a_wrong_disposition_is_seen(change):
    result = changed_error(change)
    assert result["errorClarity"] < 0.5
    assert result["offlineHandledRate"] == 0
    assert result["modeHandledRate"] < 0.5
    assert result["repairSuccess"] == 1  # a machine can still tell what to do


def test_another_type_of_error_is_seen():
    result = changed_error(lambda error: BrokerError("CONFIG_ERROR", error.message, "Give up."))
    assert result["repairSuccess"] == result["schemaErrorRate"] == result["offlineHandledRate"] == 0
    assert result["expectedErrorRate"] == 0
    assert result["errorClarity"] == 1


def test_an_error_that_names_no_field_cannot_be_repaired_by_rule():
    result = changed_error(lambda error: replace(error, problems=()))
    assert result["mechanicalRepairRate"] == 0
    assert result["repairSuccess"] == 1


def test_a_repairer_that_repairs_nothing_is_seen():
    assert measured(repairer=lambda arguments, error, described: None)["mechanicalRepairRate"] == 0
    assert measured(repairer=lambda arguments, error, described: arguments)["mechanicalRepairRate"] == 0
    halfway = {"n": 0}

    def once(arguments, error, described):
        halfway["n"] += 1
        return repaired_arguments(arguments, error, described) if halfway["n"] == 1 else None

    assert measured(repairer=once)["mechanicalRepairRate"] == 0.5


def test_a_secret_that_comes_out_is_seen():
    def leaky(real_world, downstream, settings, secrets):
        return make_broker(real_world, downstream, settings, ())

    result = measured(new_broker=leaky)
    assert result["modes"]["secret_in_message"] == 0
    assert result["modeHandledRate"] == pytest.approx(7 / 8)
    assert result["offenders"] == {"modes.secret_in_message": ["search"]}


def test_a_result_beyond_its_budget_is_seen():
    def unbounded(real_world, downstream, settings, secrets):
        return make_broker(real_world, downstream, replace(settings, max_result_bytes=0), secrets)

    assert measured(new_broker=unbounded)["modes"]["huge_result"] == 0


def test_a_call_that_gets_the_time_of_discovery_only_is_seen():
    def hasty(real_world, downstream, settings, secrets):
        settings = replace(settings, call_timeout_ms=settings.discovery_timeout_ms)
        return make_broker(real_world, downstream, settings, secrets)

    result = measured(new_broker=hasty)
    assert result["offenders"] == {"modes.late": ["search"]}


def test_a_broker_that_breaks_is_an_error_like_any_other():
    def breaks(inner, ref, arguments):
        raise RuntimeError("broken")

    result = under(breaks)
    assert result["firstCallSuccess"] == result["modeHandledRate"] == 0
    assert result["errorClarity"] == 1


def error(**members):
    retry = {"when": "after", "precondition": "server_online", "afterSeconds": 30}
    return {"type": OFFLINE, "agentInstruction": "Wait.", "retryable": True, "retry": retry} | members


def test_clear_is_a_matter_of_data():
    assert is_clear(error())
    assert set(ALLOWED) == set(ERROR_TYPES)
    assert not is_clear(error(type="SEMANTIC_SEARCH_UNAVAILABLE"))
    assert not is_clear(error(retry=None))
    assert not is_clear(error(retryable="yes"))
    assert not is_clear(error(retry={"when": "after", "precondition": "server_online"}))
    assert not is_clear(error(retry={"when": "after", "precondition": "server_online", "afterSeconds": 0}))
    assert not is_clear(error(retry={"when": "after"}))
    assert not is_clear(error(retry={"when": "never"}))
    never = {"type": "TOOL_NOT_FOUND", "retry": {"when": "never"}}
    assert is_clear(error(**never, retryable=False))
    assert not is_clear(error(**never, retryable=True))
    assert not is_clear(
        error(type="TOOL_NOT_FOUND", retry={"when": "never", "afterSeconds": 3}, retryable=False)
    )
