"""Comparing results: what moved, in which direction, and when nothing can be said."""

import copy

import pytest

from discovercall.evals.corpus import load_corpus
from discovercall.evals.diff import diff_results, regressions
from discovercall.evals.discovery import measure_discovery
from discovercall.evals.scoreboard import diff_section
from discovercall.evals.summary import diff_text
from tests.evals.corpora import CorpusFolder


@pytest.fixture
def result(tmp_path):
    corpus = load_corpus(CorpusFolder(tmp_path).write())
    found = measure_discovery(corpus, corpus.discovery, encoder=None)
    return {
        "generatedAt": "2026-01-01T00:00:00.000Z",
        "provenance": {"corpusSha256": corpus.sha256, "semanticRan": False, "gitCommit": None},
        "discovery": found.document(),
        "rankers": found.side_by_side(),
        "cases": found.case_list(),
        "tokens": {"startupReduction": 0.7, "brokerStartup": 400, "estimator": "characters"},
        "hygiene": {"findings": []},
    }


def changed(result, path, value):
    other = copy.deepcopy(result)
    *parents, last = path.split(".")
    place = other
    for name in parents:
        place = place[name]
    place[last] = value
    return other


def test_a_result_does_not_differ_from_itself(result):
    found = diff_results(result, result)
    assert (found["comparable"], found["metrics"], found["flips"]) == (True, [], [])
    assert found["same"] > 50


@pytest.mark.parametrize(
    ("path", "value", "direction"),
    [
        ("discovery.overall.top1", 0.0, "worse"),
        ("discovery.overall.falseRefusalRate", 1.0, "worse"),
        ("discovery.wrong_server.wrongServerRate", 1.0, "worse"),
        ("discovery.no_match.noMatchCorrectness", None, "gone"),
        ("discovery.semantic.wrongServerRate", 0.5, "new"),
        ("tokens.startupReduction", 0.8, "better"),
        ("tokens.brokerStartup", 300, "better"),
        ("hygiene.findings", [{"check": "lexical"}], "worse"),
    ],
)
def test_a_change_has_a_direction(result, path, value, direction):
    (change,) = diff_results(result, changed(result, path, value))["metrics"]
    assert change["metric"] == path
    assert change["direction"] == direction


def test_cases_that_flipped_are_listed(result):
    other = copy.deepcopy(result)
    other["cases"][0] |= {"rank": 9, "decision": "no_good_match"}
    (flip,) = diff_results(result, other)["flips"]
    before = result["cases"][0]
    assert flip == {
        "intent": before["intent"],
        "oldRank": before["rank"],
        "newRank": 9,
        "oldDecision": before["decision"],
        "newDecision": "no_good_match",
    }


@pytest.mark.parametrize("changed_to", [{"rank": 9}, {"decision": "no_good_match"}], ids=["rank", "decision"])
def test_a_case_flips_by_its_rank_or_its_decision_alone(result, changed_to):
    other = copy.deepcopy(result)
    other["cases"][0] |= changed_to
    (flip,) = diff_results(result, other)["flips"]
    case = result["cases"][0]
    assert (flip["intent"], flip["oldRank"], flip["oldDecision"]) == (
        case["intent"], case["rank"], case["decision"]
    )  # fmt: skip
    assert {"rank": flip["newRank"], "decision": flip["newDecision"]} == {
        "rank": case["rank"], "decision": case["decision"]
    } | changed_to  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("provenance.corpusSha256", "0" * 64, "corpus"),
        ("provenance.semanticRan", True, "semantic leg"),
    ],
)
def test_unlike_measurements_are_not_compared(result, path, value, reason):
    other = changed(changed(result, path, value), "discovery.overall.top1", 0.0)
    found = diff_results(result, other)
    assert (found["comparable"], found["metrics"]) == (False, [])
    assert reason in found["reason"]


def test_a_family_that_only_one_ran_is_no_regression(result):
    other = copy.deepcopy(result)
    del other["tokens"]
    found = diff_results(result, other)
    assert found["metrics"] == []
    assert found["leftOut"] == ["tokens"]
    assert diff_results(other, result)["leftOut"] == ["tokens"]
    assert "not compared, for only one of both ran it: tokens" in diff_text(found)
    assert "Not compared, for only one of both ran it: tokens." in diff_section(found)
    assert diff_text(diff_results(result, result)).startswith("no metric differs")


@pytest.mark.parametrize(
    ("performance", "reason"),
    [
        ({}, "no family in common"),
        ({"performance": {"tools": 5}}, "no family in common but performance, which is never compared"),
    ],
)
def test_results_without_a_family_in_common_are_not_compared(result, performance, reason):
    members = ("generatedAt", "provenance")
    bare = {name: result[name] for name in members}
    calls = {**bare, "invocation": {"firstCallSuccess": 1}, **performance}
    cache = {**bare, "cache": {"faithfulRate": 1}, **performance}
    found = diff_results(calls, cache)
    assert (found["comparable"], found["reason"], found["metrics"], found["same"]) == (False, reason, [], 0)
    assert diff_text(found) == f"not compared with the baseline of {result['generatedAt']}: {reason}"


def test_a_tolerance_is_met_by_its_very_value(result):
    value = result["discovery"]["overall"]["mrr"]
    found = diff_results(result, changed(result, "discovery.overall.mrr", value - 0.02))
    assert regressions(found, 0.019)
    assert not regressions(found, 0.02)
    gone = diff_results(result, changed(result, "discovery.overall.mrr", None))
    assert regressions(gone, 1.0)
