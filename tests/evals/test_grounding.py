"""Names that don't exist and steps that lead nowhere are found, wherever an answer has them."""

import pytest

from discovercall.evals.grounding import Grounds, has_grounds_to_check
from discovercall.gateway.broker import Broker
from discovercall.gateway.operations import carry_out
from discovercall.gateway.settings import BrokerSettings
from tests.gateway.worlds import world

WORLD = world()
BROKER = Broker(WORLD, settings=BrokerSettings())


def perform(operation, arguments):
    return carry_out(BROKER, operation, arguments).to_json()


GROUNDS = Grounds(WORLD, perform)
USE = perform("findTool", {"query": "send an email to the supplier"})
AMBIGUOUS = perform("findTool", {"query": "search"})
REFUSED = perform("findTool", {"query": "zzzz"})
BIG = perform("findTool", {"query": "convert a spreadsheet"})
DESCRIBED = perform("describeTool", {"toolRef": "wiki.search_pages"})
UNKNOWN_SERVER = perform("callTool", {"toolRef": "nope.x"})


def test_the_brokers_own_answers_are_grounded():
    decisions = [answer["decision"] for answer in (USE, AMBIGUOUS, REFUSED, BIG)]
    assert decisions == ["use", "ambiguous", "no_good_match", "use"]
    assert BIG["nextAction"]["tool"] == "describeTool"
    for answer in (USE, AMBIGUOUS, REFUSED, BIG, DESCRIBED):
        assert has_grounds_to_check(answer)
        assert GROUNDS.faults(answer, None) == []
    assert GROUNDS.faults(UNKNOWN_SERVER, "nope.x") == []


def test_results_of_calls_tell_nothing_to_do():
    assert not has_grounds_to_check(
        perform("callTool", {"toolRef": "git.log", "arguments": {"repo_path": "."}})
    )


@pytest.mark.parametrize(
    ("answer", "change", "told"),
    [
        (USE, {"agentInstruction": "If unsure, run callTool with mail.shred."}, ["mail.shred"]),
        (USE, {"agentInstruction": "If it is down, check server pigeon."}, ["server pigeon"]),
        (USE, {"avoid": ["Tools of mail, pigeon: ruled out."]}, ["server pigeon"]),
        (USE, {"alternatives": [{"toolRef": "mail.shred", "reason": "x"}]}, ["mail.shred"]),
        (USE, {"likelyFollowupTools": [{"toolRef": "mail.shred", "when": "x"}]}, ["mail.shred"]),
        (USE, {"selectedToolRef": "mail.shred"}, ["mail.shred"]),
        (AMBIGUOUS, {"candidates": [{"toolRef": "mail.shred", "serverId": "pigeon"}]},
         ["mail.shred is named", "pigeon is named", "TOOL_NOT_FOUND"]),
        (AMBIGUOUS, {"candidates": []}, ["nothing to choose from"]),
        (DESCRIBED, {"relatedTools": [{"toolRef": "wiki.shred", "relationship": "x"}]}, ["wiki.shred"]),
        (DESCRIBED, {"recommendedCall": {"tool": "callTool", "arguments": {"toolRef": "wiki.shred"}}},
         ["wiki.shred"]),
    ],
)  # fmt: skip
def test_a_name_that_does_not_exist(answer, change, told):
    faults = GROUNDS.faults(answer | change, None)
    assert len(faults) == len(told)
    assert all(part in fault for part, fault in zip(told, faults, strict=True))


@pytest.mark.parametrize(
    ("answer", "change", "told"),
    [
        (USE, {"tool": "runTool"}, "names no operation"),
        (USE, {"arguments": None}, "names no operation"),
        (USE, {"arguments": {"toolRef": "mail.send", "arguments": []}}, "does not take"),
        (USE, {"arguments": {"toolRef": "mail.send", "args": {}}}, "does not take"),
        (USE, {"toolRef": "mail.search"}, "names two tools"),
        (USE, {"toolRef": "gone.tool", "arguments": {"toolRef": "gone.tool"}}, "leads to CONFIG_ERROR"),
        (USE, {"toolRef": "mail.gone", "arguments": {"toolRef": "mail.gone"}}, "leads to TOOL_NOT_FOUND"),
        (BIG, {"toolRef": "files.gone", "arguments": {"toolRef": "files.gone"}}, "leads to TOOL_NOT_FOUND"),
        (REFUSED, {"arguments": {}}, "does not take"),
        (AMBIGUOUS, {"toolRef": "mail.search"}, "chooses for the agent"),
        (AMBIGUOUS, {"arguments": {"toolRef": "mail.search", "arguments": {}}}, "chooses for the agent"),
    ],
)
def test_a_step_that_leads_nowhere(answer, change, told):
    faults = GROUNDS.faults(answer | {"nextAction": answer["nextAction"] | change}, None)
    assert any(told in fault for fault in faults)


def test_every_candidate_of_an_ambiguous_answer_is_tried():
    tried = []

    def recording(operation, arguments):
        tried.append((operation, arguments["toolRef"]))
        return perform(operation, arguments)

    assert Grounds(WORLD, recording).faults(AMBIGUOUS, None) == []
    assert tried == [("callTool", candidate["toolRef"]) for candidate in AMBIGUOUS["candidates"]]
    assert len(tried) == 2


def test_an_error_may_repeat_what_was_asked_for_and_nothing_else():
    assert GROUNDS.faults(UNKNOWN_SERVER, "other.x") == ["server nope is named, which does not exist"]
    error = UNKNOWN_SERVER["error"] | {"agentInstruction": "Use nope.y instead of nope.x."}
    assert GROUNDS.faults({"ok": False, "error": error}, "nope.x") == [
        "nope.y is named, which does not exist"
    ]


def test_settings_commands_and_versions_are_no_references():
    text = "Raise timeouts.call_ms (0.5 s), see gateway/index.md and run `discovercall gateway index`."
    assert GROUNDS.faults(USE | {"agentInstruction": text}, None) == []
