"""What agents read: the real faces hold, and each kind of lapse costs its own metric."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from discovercall.evals import ergonomics
from discovercall.evals.cases import Corpus, ErgonomicsCase
from discovercall.evals.ergonomics import (
    BUDGETS,
    METRICS,
    anchor_faults,
    instruction_faults,
    measure_ergonomics,
)
from discovercall.evals.surfaces import CommandOutcome, build_face
from discovercall.gateway.advice import for_world
from discovercall.gateway.broker import Broker
from discovercall.gateway.operations import carry_out
from discovercall.gateway.results import CallResult, FindResult
from discovercall.gateway.store import Catalog
from tests.gateway.worlds import world

WORLD = world()
MEASURED = [name for name in METRICS if name != "stdioParityRate"]


def case(kind, asked, arguments=None, decision=None, error=None, ref=None):
    query, tool_ref = (asked, None) if kind == "find" else (None, asked)
    name = " ".join(filter(None, (kind, asked, error)))
    return ErgonomicsCase(name, kind, query, tool_ref, arguments, decision, error, ref, "because")


CASES = (
    case("find", "send an email to the supplier", decision="use", ref="mail.send"),
    case("find", "search", decision="ambiguous"),
    case("find", "zzzz", decision="no_good_match"),
    case("find", "convert a spreadsheet"),
    case("describe", "files.convert"),
    case("describe", "no.such", error="TOOL_NOT_FOUND"),
    case("call", "mail.search", {"query": "x"}),
    case("call", "mail.search", {}, error="ARGUMENT_VALIDATION_FAILED"),
)


def documents(broker, words):
    """A command line without the program: what its words ask of a broker."""
    kind, asked = words[1], words[-1]
    if kind == "find":
        return carry_out(broker, "findTool", {"query": asked})
    if kind == "describe":
        return carry_out(broker, "describeTool", {"toolRef": asked})
    given = json.loads(words[words.index("--json") + 1])
    return carry_out(broker, "callTool", {"toolRef": asked, "arguments": given})


def measured(meddle=lambda document: document, cases=CASES, code=None, indent=2, **members):
    broker = Broker(WORLD, advice=for_world(Path("nowhere") / "catalog" / "world.json"))

    def run_command(words):
        answer = documents(broker, words)
        text = json.dumps(meddle(answer.to_json()), indent=indent)
        return CommandOutcome(int(not answer.ok) if code is None else code, text)

    corpus = Corpus(Path("nowhere"), 1, WORLD, (), (), (), tuple(cases), None, "0" * 64)
    members = {"program": (), "encoder": None} | members
    return measure_ergonomics(corpus, run_command=run_command, **members).document()


def test_the_real_broker_holds_everywhere():
    result = measured()
    assert {name: result[name] for name in MEASURED} == dict.fromkeys(MEASURED, 1.0)
    assert result["stdioParityRate"] is None
    assert result["details"] == result["anchorMisses"] == result["parityMismatches"] == []
    assert {name: (value or {}).get("of") for name, value in result["intervals"].items()} == {
        "decisionRate": 4,
        "instructionRate": 4,
        "errorDispositionRate": 2,
        "withinBudgetRate": 8,
        "parityRate": 8,
        "stdioParityRate": None,
        "anchorRate": 7,
        "groundedRate": 7,
    }


def test_without_a_case_there_is_no_rate():
    result = measured(cases=())
    assert {result[name] for name in METRICS} == {None}
    assert result["n"] == 0


def only(result, *metrics):
    """The rest is untouched by the planted fault."""
    assert {name for name in MEASURED if result[name] != 1.0} == set(metrics)


def found(document):
    return "decision" in document


def test_a_member_that_one_face_drops():
    def meddle(document):
        return {name: value for name, value in document.items() if name != "catalogStats"}

    result = measured(meddle)
    only(result, "parityRate")
    assert result["parityRate"] == 0.5
    assert result["parityMismatches"] == [one.name for one in CASES[:4]]
    assert result["details"][0]["problem"] == "differs in catalogStats"


def test_a_face_of_mcp_that_drops_a_member():
    def face(broker):
        class Poorer(Broker):
            def find(self, query):
                answer = super().find(query)
                assert isinstance(answer, FindResult)
                return FindResult(answer.query, answer.decision, answer.agent_instruction, answer.stats)

        return build_face(Poorer(WORLD))

    only(measured(make_server=face), "parityRate")


def test_an_exit_code_that_says_the_opposite():
    result = measured(code=0)
    only(result, "parityRate")
    assert result["parityMismatches"] == [CASES[5].name, CASES[7].name]
    assert result["parityRate"] == 0.75


def test_a_command_line_that_gives_no_document():
    result = measured(code=2)
    assert result["parityRate"] == result["decisionRate"] == result["anchorRate"] == 0
    assert result["errorDispositionRate"] is None


def test_an_unknown_decision():
    result = measured(lambda document: document | {"decision": "maybe"} if found(document) else document)
    assert result["decisionRate"] == 0
    assert result["anchorRate"] == pytest.approx(4 / 7)


def test_an_error_without_a_disposition():
    def meddle(document):
        if "error" not in document:
            return document
        return document | {"error": {k: v for k, v in document["error"].items() if k != "retry"}}

    result = measured(meddle)
    only(result, "errorDispositionRate", "parityRate")
    assert result["errorDispositionRate"] == 0


def test_an_answer_beyond_its_budget(monkeypatch):
    result = measured(lambda document: document | {"resultSummary": "x" * 9000})
    assert result["budgetExceeded"] == [one.name for one in CASES if one.kind != "describe"]
    monkeypatch.setattr(ergonomics, "BUDGETS", dict.fromkeys(BUDGETS, 10))
    assert measured()["withinBudgetRate"] == 0


def test_an_answer_beyond_its_budget_over_mcp_alone():
    def face(broker):
        class Longer(Broker):
            def call(self, tool_ref, arguments=None):
                answer = super().call(tool_ref, arguments)
                return replace(answer, result="x" * 9000) if isinstance(answer, CallResult) else answer

        return build_face(Longer(WORLD))

    result = measured(make_server=face)
    only(result, "withinBudgetRate", "parityRate")
    assert result["budgetExceeded"] == [CASES[6].name]
    (told,) = [one["problem"] for one in result["details"] if one["metric"] == "withinBudgetRate"]
    assert told.endswith(f"bytes, allowed are {BUDGETS['call']}")


def test_an_answer_beyond_its_budget_on_the_command_line_alone():
    result = measured(indent=2_000)
    only(result, "withinBudgetRate")
    assert set(result["budgetExceeded"]) > {one.name for one in CASES if one.kind == "find"}


def test_an_instruction_that_names_a_tool_that_is_none():
    def meddle(document):
        if not found(document):
            return document
        return document | {"agentInstruction": document["agentInstruction"] + " If need be, try mail.shred."}

    result = measured(meddle)
    only(result, "groundedRate", "parityRate")
    assert result["ungrounded"] == [one.name for one in CASES[:4]]


def test_labels_are_enforced():
    result = measured(cases=[
        case("find", "zzzz", decision="use"),
        case("find", "send an email to the supplier", decision="use", ref="mail.search"),
        case("find", "search", ref="git.log"),
        case("describe", "files.convert", error="TOOL_NOT_FOUND"),
        case("call", "mail.search", {}),
    ])  # fmt: skip
    only(result, "anchorRate")
    assert result["anchorRate"] == 0
    assert [detail["problem"].split(" instead")[0] for detail in result["details"]] == [
        "decision no_good_match", "mail.send", result["details"][2]["problem"].split(" instead")[0],
        "success", "ARGUMENT_VALIDATION_FAILED",
    ]  # fmt: skip


def test_a_call_that_succeeds_for_another_tool_is_no_success():
    assert anchor_faults(case("call", "mail.search", {}), {"ok": True, "toolRef": "mail.send"})
    assert anchor_faults(case("call", "mail.search", {}), {}) == ["nothing instead of success"]
    assert anchor_faults(case("find", "x"), {}) is None


USE = Broker(WORLD).find("send an email to the supplier").to_json()
AMBIGUOUS = Broker(WORLD).find("search").to_json()
REFUSED = Broker(WORLD).find("zzzz").to_json()
EMPTY = Broker(Catalog()).find("anything").to_json()


def test_the_brokers_own_instructions_help():
    assert [instruction_faults(answer) for answer in (USE, AMBIGUOUS, REFUSED, EMPTY)] == [[]] * 4


@pytest.mark.parametrize(
    ("answer", "change", "told"),
    [
        (USE, {"agentInstruction": ""}, "no instruction"),
        (USE, {"agentInstruction": "If it fits, use the tool."}, "does not name callTool"),
        (USE, {"agentInstruction": "Run callTool."}, "no condition"),
        (USE, {"nextAction": None}, "no next action"),
        (USE, {"query": "send it", "agentInstruction": "If callTool: send it send it send it"}, "repeats"),
        (AMBIGUOUS, {"agentInstruction": "If unsure, describeTool both, then callTool."}, "holds already"),
        (REFUSED, {"agentInstruction": "Run findTool again if you like."}, "conclude"),
        (EMPTY, {"agentInstruction": "Do not infer that nothing exists."}, "fill the catalog"),
    ],
)
def test_an_instruction_that_does_not_help(answer, change, told):
    assert any(told in fault for fault in instruction_faults(answer | change))


def test_an_instruction_that_does_not_help_costs_its_metric():
    result = measured(
        lambda document: document | {"agentInstruction": "Use it."} if found(document) else document
    )
    only(result, "instructionRate", "parityRate")
    assert result["nonInstructional"] == [one.name for one in CASES[:4]]


def test_without_the_sdk_there_is_no_parity_and_a_reason(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = measured()
    assert result["parityRate"] is None
    assert result["paritySkipReason"] == ergonomics.NO_MCP
    assert result["anchorRate"] == 1.0


def test_a_program_that_does_not_serve_is_a_finding():
    result = measured(program=(sys.executable, "-c", "raise SystemExit(3)"))
    only(result, "withinBudgetRate")
    assert result["stdioParityRate"] == 0
    assert len(result["offenders"]["stdioParityRate"]) == len(CASES)


@pytest.mark.slow
@pytest.mark.part("ergonomics over standard streams")
def test_the_served_program_says_the_same(tmp_path):
    from tests.evals.test_surfaces import run_command
    from tests.gateway.worlds import TOOLS

    folder = tmp_path / "catalog"
    folder.mkdir()
    servers = [{"id": server.server_id} for server in WORLD.servers]
    (folder / "world.json").write_text(json.dumps({"version": 1, "servers": servers, "tools": TOOLS}))
    corpus = Corpus(tmp_path, 1, WORLD, (), (), (), CASES, None, "0" * 64)
    result = measure_ergonomics(corpus, run_command=run_command, encoder=None).document()
    assert {name: result[name] for name in METRICS} == dict.fromkeys(METRICS, 1.0)
