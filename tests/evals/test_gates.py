"""Gates: what passes, what fails, what is skipped; and thresholds that only ever get tighter."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovercall.evals.corpus import load_corpus
from discovercall.evals.discovery import measure_discovery
from discovercall.evals.gates import evaluate_gates, measured, verdict_of
from discovercall.evals.ratchet import ratchet_file, seed, tighten
from discovercall.evals.thresholds import Bound, parse_thresholds
from discovercall.foundation.errors import InputError
from tests.evals.corpora import CorpusFolder


@pytest.fixture
def result(tmp_path):
    corpus = load_corpus(CorpusFolder(tmp_path).write())
    found = measure_discovery(corpus, corpus.discovery, encoder=None)
    return {
        "provenance": {"semanticRan": False, "corpusSha256": corpus.sha256},
        "discovery": found.document(),
        "rankers": found.side_by_side(),
        "hygiene": {"findings": []},
        "tokens": {"startupReduction": 0.7},
    }


def gates(thresholds, result, skipped=None, families=("discovery", "tokens")):
    return evaluate_gates(parse_thresholds({"version": 1, **thresholds}, "t"), result, families, skipped)


def test_the_semantic_gate_is_skipped_without_the_leg_and_fails_with_a_bad_score(result):
    """Checklist line 4."""
    thresholds = {"discovery": {"lexical": {"top1Min": 1.0, "requiresSemanticLeg": True}}}
    result["discovery"]["lexical"]["top1"] = 0.2
    (skipped,) = gates(thresholds, result, skipped="not installed")
    assert skipped.document() == {
        "name": "discovery.lexical.top1",
        "comparator": "min",
        "threshold": 1.0,
        "actual": None,
        "pass": False,
        "skipped": True,
        "skipReason": "semantic leg skipped: not installed",
    }
    assert verdict_of([skipped]) == "pass"
    (enforced,) = gates(thresholds, result)
    assert (enforced.passed, enforced.actual, enforced.skip_reason) == (False, 0.2, None)
    assert verdict_of([enforced]) == "fail"


def test_a_scope_without_cases_skips_its_gate(result):
    (gate,) = gates({"discovery": {"no_match": {"top1Min": 0.5}}}, result)
    assert (gate.passed, gate.skip_reason, verdict_of([gate])) == (False, "no cases", "pass")


@pytest.mark.parametrize(("bound", "passed"), [("top1Min", True), ("falseRefusalRateMax", True)])
def test_a_bound_is_met_by_its_very_value(result, bound, passed):
    metric = bound.removesuffix("Min").removesuffix("Max")
    value = result["discovery"]["overall"][metric]
    (gate,) = gates({"discovery": {"overall": {bound: value}}}, result)
    assert gate.passed is passed
    for worse in (value - 0.001, value + 0.001):
        result["discovery"]["overall"][metric] = worse
        (gate,) = gates({"discovery": {"overall": {bound: value}}}, result)
        assert gate.passed is ((worse > value) == bound.endswith("Min"))


def test_only_families_that_ran_are_gated_in_a_fixed_order(result):
    thresholds = {
        "tokens": {"startupReductionMin": 0.5},
        "hygiene": {"maxFindings": 0},
        "discoveryWords": {"overall": {"mrrMin": 0, "top1Min": 0}},
        "discovery": {"overall": {"top1Min": 0}, "lexical": {"top3Min": 0, "top1Min": 0}},
    }
    names = [gate.name for gate in gates(thresholds, result)]
    assert names == [
        "discovery.lexical.top1",
        "discovery.lexical.top3",
        "discovery.overall.top1",
        "discoveryWords.overall.top1",
        "discoveryWords.overall.mrr",
        "tokens.startupReduction",
        "hygiene.findings",
    ]
    assert [gate.name for gate in gates(thresholds, result, families=["tokens"])] == [
        "tokens.startupReduction"
    ]


def test_a_finding_of_hygiene_fails_its_gate(result):
    result["hygiene"]["findings"] = [{"check": "stem"}]
    (gate,) = gates({"hygiene": {"maxFindings": 0}}, result)
    assert (gate.actual, gate.passed) == (1.0, False)


def test_the_bank_has_a_gate_of_its_own_that_needs_the_model(result):
    result["hygiene"]["findings"] = [{"check": "bank"}, {"check": "stem"}]
    thresholds = {"hygiene": {"maxFindings": 0, "maxBankFindings": 1}}
    assert [gate.passed for gate in gates(thresholds, result)] == [False, True]
    assert gates(thresholds, result, skipped="x")[1].skip_reason == "semantic leg skipped: x"


def test_a_metric_that_the_result_does_not_know_is_no_skipped_gate(result):
    with pytest.raises(KeyError):
        measured(Bound("tokens", None, "nothing", "min", 0.5), result)


@given(
    st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.floats(0, 1),
    st.booleans(),
)
def test_seeding_leaves_one_case_and_never_loosens(counts, threshold, is_minimum):
    hits, total = counts
    bound = seed(hits / total, is_minimum, 1 / total)
    assert 0 <= bound <= 1
    worse = (hits - 1) / total if is_minimum else (hits + 1) / total
    assert bound <= max(worse, 0) + 1e-12 if is_minimum else bound >= min(worse, 1) - 1e-12
    member = "top1Min" if is_minimum else "falseRefusalRateMax"
    metric = member[:-3]
    scope: dict[str, Any] = {metric: hits / total, "intervals": {metric: {"of": total}}}
    result = {"provenance": {"semanticRan": False}, "discovery": {"lexical": scope}}
    document: dict[str, Any] = {"version": 1, "discovery": {"lexical": {member: threshold}}}
    after = tighten(document, result, "t")[0]["discovery"]["lexical"][member]
    assert after >= threshold if is_minimum else after <= threshold
    assert after in (threshold, bound)
    assert document["discovery"]["lexical"][member] == threshold


def test_over_all_intents_one_case_of_each_category_is_left(result):
    found = result["discovery"]["overall"]["intervals"]["top3"]
    document = {"version": 1, "discovery": {"overall": {"top3Min": 0.0}}}
    (change,) = tighten(document, result, "t")[1]
    assert change.after == pytest.approx((found["hits"] - 4) / found["of"], abs=1e-4)


def test_bounds_that_need_the_model_stay_where_it_did_not_run(result):
    document = {"version": 1, "discovery": {"lexical": {"top1Min": 0.1, "requiresSemanticLeg": True}}}
    assert tighten(document, result, "t") == (document, [])


def test_the_file_is_raised_in_place_and_its_note_kept(tmp_path, result):
    folder = CorpusFolder(tmp_path)
    folder.thresholds = {"version": 1, "_note": "why", "tokens": {"startupReductionMin": 0.5}}
    folder.write()
    (change,) = ratchet_file(tmp_path, result)
    assert (change.name, change.before, change.after) == ("tokens.startupReduction", 0.5, 0.69)
    written = json.loads((tmp_path / "thresholds.json").read_text())
    assert written == {"version": 1, "_note": "why", "tokens": {"startupReductionMin": 0.69}}
    assert ratchet_file(tmp_path, result) == []
    result["provenance"]["corpusSha256"] = "0" * 64
    with pytest.raises(InputError, match="another corpus"):
        ratchet_file(tmp_path, result)
