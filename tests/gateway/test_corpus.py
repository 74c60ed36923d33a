"""The committed labels of the gateway: their shape, their sizes, and that they can be trusted."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from discovercall.evals.corpus import corpus_problems
from discovercall.evals.hygiene import content_stems
from discovercall.gateway.arguments import check_arguments
from discovercall.gateway.catalog import default_world_path, load_world, split_tool_ref

DATA = Path(__file__).parents[2] / "tasks" / "gateway"
WORLD = load_world(default_world_path())
LEAST = {"lexical": 45, "semantic": 50, "no_match": 45, "wrong_server": 20, "ambiguous": 20}
HELD = "holdout-"


def discovery():
    return [
        (path.name, json.loads(line))
        for path in sorted((DATA / "discovery").glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]


def entries(folder, member):
    found = []
    for path in sorted((DATA / folder).glob("*.json")):
        found += json.loads(path.read_text(encoding="utf-8"))[member]
    return found


DISCOVERY = discovery()
INTENTS = [case for _, case in DISCOVERY]
SCENARIOS = entries("invocation", "scenarios")
CASES = entries("ergonomics", "cases")


def named(found):
    return [entry["name"] for entry in found]


def with_outcome(outcome):
    return [scenario for scenario in SCENARIOS if scenario["expectedOutcome"] == outcome]


def drifted():
    return [scenario for scenario in SCENARIOS if scenario.get("expectedError") == "TOOL_SCHEMA_CHANGED"]


def test_the_world_is_large_and_mixed():
    assert len(WORLD.tools) >= 320
    assert len(WORLD.servers) >= 52
    assert {server.status for server in WORLD.servers} == {"online", "offline", "unknown"}
    assert {tool.server_id for tool in WORLD.tools} == {server.server_id for server in WORLD.servers}
    assert all(tool.title.strip() and tool.description.strip() for tool in WORLD.tools)
    writing = sum(not tool.read_only for tool in WORLD.tools)
    assert 0.25 < writing / len(WORLD.tools) < 0.75


def test_discovery_has_enough_of_each_category():
    counts = Counter(case["category"] for case in INTENTS)
    assert set(counts) == set(LEAST)
    assert sum(counts.values()) >= 180
    assert {category: counts[category] for category in LEAST if counts[category] < LEAST[category]} == {}


def test_the_set_aside_third_covers_each_category_alike():
    held = Counter(case["category"] for name, case in DISCOVERY if name.startswith(HELD))
    counts = Counter(case["category"] for case in INTENTS)
    assert {c: held[c] for c in counts if not 0.3 <= held[c] / counts[c] <= 0.36} == {}


def test_the_loader_accepts_all_of_it():
    assert corpus_problems(DATA) == []


def test_a_file_holds_its_own_category():
    for name, case in DISCOVERY:
        assert name.removeprefix(HELD).removesuffix(".jsonl").replace("-", "_") == case["category"]


def test_a_semantic_intent_shares_no_content_word_with_its_tools():
    shared = {
        (case["intent"], ref): content_stems(case["intent"]) & content_stems(f"{tool.name} {tool.title}")
        for case in INTENTS
        if case["category"] == "semantic"
        for ref in case["acceptable"]
        for tool in [WORLD.by_ref[ref]]
    }
    assert {key: words for key, words in shared.items() if words} == {}


def test_a_lexical_intent_uses_words_of_its_tool():
    for case in INTENTS:
        if case["category"] == "lexical":
            for tool in (WORLD.by_ref[ref] for ref in case["acceptable"]):
                assert content_stems(case["intent"]) & content_stems(f"{tool.name} {tool.title}"), case[
                    "intent"
                ]


def test_a_wrong_server_intent_says_what_its_rivals_lack():
    for case in INTENTS:
        if case["category"] == "wrong_server":
            (ref,) = case["acceptable"]
            tool = WORLD.by_ref[ref]
            verb_and_object = content_stems(f"{tool.name} {tool.title}")
            rivals = [
                t
                for t in WORLD.tools
                if t.server_id != tool.server_id and content_stems(t.name) & verb_and_object
            ]
            assert rivals, case["intent"]
            if tool.server_id not in case["intent"].lower():
                own = content_stems(case["intent"]) & content_stems(f"{tool.title} {tool.description}")
                for rival in rivals:
                    assert own - content_stems(f"{rival.title} {rival.description}"), (
                        case["intent"],
                        rival.tool_ref,
                    )


def test_more_than_one_language_is_asked_in():
    text = [case["intent"] for case in INTENTS]
    assert sum(bool(re.search(r"[\u4e00-\u9fff]", intent)) for intent in text) >= 6
    assert sum(bool(re.search(r"[¿áéíóúñ]", intent)) for intent in text) >= 5
    assert sum(bool(re.search(r"[äöüß„]", intent)) for intent in text) >= 3


def test_invocation_and_ergonomics_have_enough_cases():
    outcomes = Counter(scenario["expectedOutcome"] for scenario in SCENARIOS)
    errors = Counter(scenario.get("expectedError") for scenario in with_outcome("error"))
    assert len(SCENARIOS) >= 32
    assert min(outcomes["success"], outcomes["repair"]) >= 10
    assert min(errors["TOOL_SCHEMA_CHANGED"], errors["DOWNSTREAM_SERVER_OFFLINE"]) >= 5
    kinds = Counter(case["kind"] for case in CASES)
    assert len(CASES) >= 32
    assert min(kinds[kind] for kind in ("find", "describe", "call")) >= 8


@pytest.mark.parametrize("scenario", with_outcome("success"), ids=named(with_outcome("success")))
def test_arguments_of_a_success_fit(scenario):
    tool = WORLD.by_ref[scenario["toolRef"]]
    assert check_arguments(tool.input_schema, scenario["arguments"]) == []
    assert Draft202012Validator(dict(tool.input_schema)).is_valid(scenario["arguments"])
    assert tool.callable_now


@pytest.mark.parametrize("scenario", with_outcome("repair"), ids=named(with_outcome("repair")))
def test_a_repair_starts_wrong_and_ends_right(scenario):
    tool = WORLD.by_ref[scenario["toolRef"]]
    assert check_arguments(tool.input_schema, scenario["arguments"])
    assert check_arguments(tool.input_schema, scenario["corrected"]) == []
    assert Draft202012Validator(dict(tool.input_schema)).is_valid(scenario["corrected"])
    assert tool.callable_now


@pytest.mark.parametrize("scenario", with_outcome("error"), ids=named(with_outcome("error")))
def test_an_error_comes_from_what_it_says(scenario):
    problems = check_arguments(WORLD.by_ref[scenario["toolRef"]].input_schema, scenario["arguments"])
    assert bool(problems) == (scenario["expectedError"] == "ARGUMENT_VALIDATION_FAILED")


@pytest.mark.parametrize("scenario", drifted(), ids=named(drifted()))
def test_a_drifted_schema_refuses_what_the_catalog_takes(scenario):
    Draft202012Validator.check_schema(scenario["liveSchema"])
    assert check_arguments(scenario["liveSchema"], scenario["arguments"])


@pytest.mark.parametrize("case", CASES, ids=named(CASES))
def test_an_expected_error_is_what_the_world_gives(case):
    if case["kind"] != "find":
        tool = WORLD.by_ref.get(case["toolRef"])
        expected = case.get("expectErrorType")
        assert (tool is None) == (expected in {"TOOL_NOT_FOUND", "CONFIG_ERROR"})
        if expected == "CONFIG_ERROR":
            parts = split_tool_ref(case["toolRef"])
            assert parts
            assert parts[0] not in {server.server_id for server in WORLD.servers}
        if tool is not None and case["kind"] == "call":
            problems = check_arguments(tool.input_schema, case["arguments"])
            assert bool(problems) == (expected == "ARGUMENT_VALIDATION_FAILED")
