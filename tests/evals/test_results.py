"""The committed measurement: of this corpus, held to these thresholds, and shown as it is."""

from __future__ import annotations

from pathlib import Path

from discovercall.evals.corpus import default_corpus_folder, load_corpus
from discovercall.evals.documents import read_result, to_bytes
from discovercall.evals.gates import evaluate_gates, verdict_of
from discovercall.evals.scoreboard import scoreboard
from tools.evaluation_targets import PAGE, ROW, with_measured

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results" / "gateway"
BASELINE = read_result(RESULTS / "snapshots" / "baseline.json")


def test_the_scoreboard_is_made_of_the_baseline_and_nothing_else():
    """Checklist line 10."""
    assert (RESULTS / "BENCHMARKS.md").read_text(encoding="utf-8") == scoreboard(BASELINE)
    assert (RESULTS / "snapshots" / "baseline.json").read_bytes() == to_bytes(BASELINE)


def test_the_baseline_is_a_full_run_of_this_corpus():
    corpus = load_corpus(default_corpus_folder())
    again = "run discovercall eval run --require-semantic and commit results/gateway"
    assert BASELINE["provenance"]["corpusSha256"] == corpus.sha256, again
    assert BASELINE["provenance"]["bank"]["sha256"] == corpus.bank.digest, again
    assert BASELINE["provenance"]["semanticRan"]
    assert BASELINE["skipped"] == []


def test_the_baseline_meets_the_thresholds_as_they_are_now():
    corpus = load_corpus(default_corpus_folder())
    gates = evaluate_gates(corpus.thresholds, BASELINE, BASELINE["provenance"]["families"], None)
    assert [gate.name for gate in gates if not gate.passed] == []
    assert verdict_of(gates) == BASELINE["verdict"] == "pass"
    assert len(gates) >= 60


def test_every_category_is_gated_with_and_without_the_model():
    """Checklist line 11."""
    thresholds = load_corpus(default_corpus_folder()).thresholds
    assert thresholds
    for family, needs_model in (("discovery", True), ("discoveryWords", False)):
        bounds = [bound for bound in thresholds.bounds if bound.family == family]
        assert {bound.scope for bound in bounds} == set(BASELINE["discovery"])
        assert {bound.requires_semantic for bound in bounds} == {needs_model}


def test_the_page_of_targets_says_what_was_measured():
    page = PAGE.read_text(encoding="utf-8")
    assert with_measured(page, BASELINE) == page, "run python -m tools.evaluation_targets"
    assert len(ROW.findall(page)) >= 15


def test_a_target_is_reached_or_not_by_its_very_value():
    rows = (
        "| a | `x.y` | ≥ 0.50 | 0 | yes |\n| b | `x.z` | ≤ 0.10 | 9 | no |\n| c | `x.n` | ≥ 0.1 | – | yes |\n"
    )
    assert with_measured(rows, {"x": {"y": 0.4999, "z": 0.1, "n": None}}) == (
        "| a | `x.y` | ≥ 0.50 | 0.500 | no |\n| b | `x.z` | ≤ 0.10 | 0.100 | yes |\n"
        "| c | `x.n` | ≥ 0.1 | – | no |\n"
    )
