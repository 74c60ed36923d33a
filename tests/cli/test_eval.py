"""`discovercall eval`, from the command line over real files."""

import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest

from discovercall.evals.documents import read_result
from discovercall.evals.result_model import FAMILIES
from discovercall.evals.scoreboard import scoreboard
from discovercall.gateway import encoder as encoder_module
from discovercall.gateway.encoder import SemanticUnavailableError
from tests.evals.corpora import CorpusFolder
from tests.evals.results import with_rank
from tests.support.bench import assert_refused
from tests.support.output_schemas import checked


def with_model(test):
    """Loading the model takes its time."""
    here = importlib.util.find_spec("onnxruntime") is not None
    test = pytest.mark.skipif(not here, reason="the semantic extra is not installed")(test)
    return pytest.mark.slow(pytest.mark.part("evaluation with the model")(test))


@pytest.fixture
def corpus(tmp_path):
    folder = CorpusFolder(tmp_path / "corpus")
    folder.thresholds = {
        "version": 1,
        "discovery": {
            "lexical": {"top1Min": 0.6},
            "semantic": {"top1Min": 0.9, "requiresSemanticLeg": True},
        },
        "hygiene": {"maxFindings": 0},
    }
    folder.write()
    return folder


@pytest.fixture
def run(command, corpus, tmp_path):
    """`eval run discovery` over the small corpus, which is quick."""

    def start(*words, family="discovery", **environment):
        given = ["eval", "run", *([family] if family else []), "--data", corpus.folder, *words]
        return command(*given, HOME=str(tmp_path / "home"), **environment)

    return start


@pytest.fixture
def no_model(monkeypatch):
    def refuse():
        raise SemanticUnavailableError("no model on this machine")

    monkeypatch.setattr(encoder_module, "_weights", refuse)


@pytest.fixture
def full(monkeypatch):
    """Measures the other families in a moment, so that runs of all of them are quick."""

    class Quick:
        def __init__(self, document):
            self._document = document

        def document(self):
            return dict(self._document)

    suite = sys.modules.get("discovercall.evals.suite") or __import__(
        "discovercall.evals.suite", fromlist=["x"]
    )
    rates: dict[str, dict[str, object]] = {"intervals": {}, "offenders": {}}
    for family in ("invocation", "ergonomics", "cache"):
        monkeypatch.setattr(suite, f"measure_{family}", lambda *a, **k: Quick(rates))
    for family in ("tokens", "performance"):
        monkeypatch.setattr(suite, f"measure_{family}", lambda *a, **k: Quick({}))


def worst(result: dict) -> int:
    """The place of the matchable case with the last rank, or with none."""
    cases = [(case["rank"] or 10**9, i) for i, case in enumerate(result["cases"])]
    return max(one for one in cases if result["cases"][one[1]]["category"] != "no_match")[1]


def snapshots(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "snapshots").glob("*")) if folder.exists() else []


def test_json_is_one_document_that_fits_its_schema(run):
    """Checklist line 10."""
    done = run("--format", "json", "--out", "")
    assert done.code == 0, done.err
    result = checked("eval-result", done.out)
    assert result["verdict"] == "pass"
    assert result["provenance"]["families"] == ["discovery"]
    assert done.err == ""


def test_nothing_is_written_with_an_empty_folder_name_or_another_corpus(run, tmp_path):
    """Checklist line 10."""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "discovercall"\n')  # a checkout
    before = sorted(path for path in tmp_path.rglob("*"))
    assert run("--out", "").code == 0
    assert run().code == 0
    assert sorted(path for path in tmp_path.rglob("*") if "home" not in path.parts) == before


def test_in_a_checkout_the_committed_corpus_has_its_results_folder(command, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "discovercall"\n')
    assert command("eval", "run", "cache").code == 0
    (name,) = snapshots(tmp_path / "results" / "gateway")
    assert name.startswith("run-")


def test_a_corpus_without_thresholds_gates_nothing_and_says_so(run, corpus):
    (corpus.folder / "thresholds.json").unlink()
    done = run()
    assert done.code == 0
    assert "gates skipped: the corpus has no thresholds.json) · " in done.out


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        ("human", "\npass (semantic leg skipped: not requested (--semantic)) · top-1 "),
        ("concise", "pass (semantic leg skipped: not requested (--semantic)) · top-1 "),
        ("markdown", "# Gateway benchmarks\n\n**Verdict: pass (semantic leg skipped: not requested"),
    ],
)
def test_a_skipped_leg_qualifies_the_verdict_in_every_format(run, format, expected):
    done = run("--format", format)
    assert done.code == 0
    assert expected in f"\n{done.out}" if format == "human" else done.out.startswith(expected)
    if format == "concise":
        assert done.out.count("\n") == 1
        assert done.out.endswith("gates 2/2\n")


def test_a_gate_that_fails_is_exit_1_and_the_result_is_still_written(run, corpus, tmp_path):
    corpus.thresholds["discovery"]["lexical"]["mrrMin"] = 1.0
    corpus.discovery["lexical"][0]["acceptable"] = ["git.log"]
    corpus.write()
    done = run("--out", tmp_path / "out")
    assert done.code == 1
    assert "failed: discovery.lexical.mrr is " in done.out
    (name,) = snapshots(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "snapshots" / name).read_bytes())["verdict"] == "fail"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "yaml"], "yaml"),
        (["--tolerance", "2"], "tolerance"),
        (["surplus"], "surplus"),
        (["--update-baseline"], "--update-baseline: needs a run of all families"),
    ],
)
def test_a_mistake_of_usage_is_exit_2(run, words, message):
    assert_refused(run(*words), message)


def test_exit_2_has_no_document_and_the_pages_say_so(run, command, corpus, tmp_path):
    json_wanted = ("--format", "json")
    assert_refused(run("--data", tmp_path / "nope", *json_wanted), "nope")
    assert_refused(
        command("eval", "report", "--out", tmp_path / "nope", *json_wanted), "no baseline is there"
    )
    (tmp_path / "bad.toml").write_text("[")
    bad = ("gateway", "find", "x", "--config", tmp_path / "bad.toml")
    assert_refused(command(*bad, *json_wanted), "bad.toml")
    for page in ("evaluation", "gateway"):
        text = (Path(__file__).parents[2] / "docs" / f"{page}.md").read_text(encoding="utf-8")
        assert "no document, also with `--format json`" in " ".join(text.split())


def test_an_unknown_family_is_exit_2_and_names_the_known_ones(run):
    assert_refused(run(family="speed"), "speed is no family; one of discovery, invocation, ")


def test_a_broken_corpus_is_exit_2_before_anything_is_measured(run, corpus, tmp_path):
    corpus.discovery["lexical"][0]["category"] = "vague"
    corpus.write()
    assert_refused(run("--out", tmp_path / "out"), r"lexical.jsonl:1: category: vague is unknown")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_can_not_be_made_is_exit_2(run, tmp_path):
    (tmp_path / "file").write_text("")
    assert_refused(run("--out", tmp_path / "file" / "out"), "--out .*cannot be made")


def test_the_environment_asks_for_the_leg_and_is_checked(run, no_model):
    done = run("--format", "json", DISCOVERCALL_EVAL_SEMANTIC="1")
    assert done.code == 0
    result = json.loads(done.out)
    assert result["provenance"]["semanticSkipReason"] == "no model on this machine"
    assert result["skipped"] == [{"what": "semantic leg", "reason": "no model on this machine"}]
    assert_refused(run(DISCOVERCALL_EVAL_SEMANTIC="yes"), "DISCOVERCALL_EVAL_SEMANTIC: must be 0 or 1")


def test_a_leg_that_is_wanted_and_not_there_is_skipped_and_one_that_is_required_fails(run, no_model):
    """Checklist lines 4 and 11."""
    wanted, required = run("--semantic"), run("--require-semantic")
    assert wanted.code == 0
    assert "pass (semantic leg skipped: no model on this machine)" in wanted.out
    assert required.code == 1
    assert "\nfail (semantic leg skipped: no model on this machine)" in required.out
    assert "the semantic leg is required, and was skipped: no model on this machine" in required.err
    gates = json.loads(run("--semantic", "--format", "json").out)["gates"]
    (gate,) = (gate for gate in gates if gate["name"] == "discovery.semantic.top1")
    assert (gate["skipped"], gate["pass"]) == (True, False)
    assert gate["skipReason"] == "semantic leg skipped: no model on this machine"


@with_model
def test_with_the_model_four_rankers_stand_side_by_side(run):
    result = json.loads(run("--require-semantic", "--format", "json").out)
    assert set(result["rankers"]) == {"model", "words", "rrf", "bm25"}
    assert result["discovery"] == result["rankers"]["model"]
    assert result["provenance"]["model"]["id"] == "all-MiniLM-L6-v2-onnx-int8"
    assert result["hygiene"]["bankCheckSkipped"] is None
    assert result["skipped"] == []


@with_model
def test_all_families_for_real_and_what_a_corpus_lacks_is_said(run, corpus, tmp_path):
    corpus.thresholds["discovery"]["semantic"]["top1Min"] = 0.0
    corpus.thresholds["hygiene"]["maxBankFindings"] = 9
    corpus.write()
    whole = run("--require-semantic", "--out", tmp_path / "out", "--format", "json", family=None)
    result = checked("eval-result", whole.out)
    assert whole.code == 0
    assert result["provenance"]["families"] == list(FAMILIES)
    assert result["provenance"]["tokenEstimator"]
    assert (tmp_path / "out" / "snapshots" / "baseline.json").exists()
    board = (tmp_path / "out" / "BENCHMARKS.md").read_text()
    for title in ("Discovery", "Invocation", "Ergonomics", "Token economy", "Performance", "Cache", "Gates"):
        assert f"\n## {title}" in board
    (corpus.folder / "invocation" / "all.json").unlink()
    lacking = json.loads(run("--format", "json", family="invocation").out)
    assert {"what": "invocation", "reason": "the corpus has no case of it"} in lacking["skipped"]
    assert "invocation" not in lacking


def test_set_aside_intents_are_measured_on_request_only_and_never_told(run):
    plain, held = (json.loads(run(*words, "--format", "json").out) for words in ([], ["--holdout"]))
    assert "heldOut" not in plain
    assert held["heldOut"]["n"] == 2
    assert held["heldOut"]["rankers"]["words"]["lexical"]["n"] == 1
    assert held["discovery"] == plain["discovery"]
    text = json.dumps(held) + run("--holdout").out + run("--holdout", "--format", "markdown").out
    for intent in ("post a message to the channel", "margherita for four"):
        assert intent not in text
    assert_refused(run("--holdout", family="tokens"), "--holdout: concerns discovery")


def test_two_runs_differ_in_time_only(run):
    """Checklist line 5."""
    first, second = (json.loads(run("--format", "json").out) for _ in range(2))
    for result in (first, second):
        del result["generatedAt"], result["provenance"]["durationSeconds"]
    assert first == second


def test_only_a_full_run_that_passes_becomes_the_baseline(run, full, no_model, corpus, tmp_path):
    """Checklist line 10."""
    out = tmp_path / "out"
    run("--out", out)
    assert "baseline.json" not in snapshots(out)
    assert run("--out", out, family=None).code == 0  # full, but without the model
    assert "baseline.json" not in snapshots(out)
    assert run("--out", out, "--update-baseline", family=None).code == 0
    baseline = (out / "snapshots" / "baseline.json").read_bytes()
    board = (out / "BENCHMARKS.md").read_bytes()
    assert any((out / "snapshots" / name).read_bytes() == baseline for name in snapshots(out)[1:])
    corpus.thresholds["discovery"]["lexical"]["top1Min"] = 0.61
    corpus.write()
    run("--out", out)
    assert (out / "snapshots" / "baseline.json").read_bytes() == baseline
    assert (out / "BENCHMARKS.md").read_bytes() == board


@with_model
def test_a_full_run_with_the_model_replaces_the_baseline_when_it_passes(run, full, corpus, tmp_path):
    out = tmp_path / "out"
    corpus.thresholds["discovery"]["semantic"]["top1Min"] = 0.0
    corpus.write()
    assert run("--out", out, "--semantic", family=None).code == 0
    first = (out / "snapshots" / "baseline.json").read_bytes()
    corpus.thresholds["hygiene"]["maxFindings"] = 5
    corpus.thresholds["discovery"]["lexical"]["mrrMin"] = 1.0
    corpus.thresholds["discovery"]["no_match"] = {"noMatchCorrectnessMin": 1.0, "endToEndMin": 1.0}
    corpus.discovery["no_match"][1]["intent"] = "search the wiki pages"
    corpus.write()
    assert run("--out", out, "--semantic", family=None).code == 1
    assert (out / "snapshots" / "baseline.json").read_bytes() == first


def test_the_report_and_the_scoreboard_come_again_from_the_snapshot(run, full, command, tmp_path):
    """Checklist line 10."""
    out = tmp_path / "out"
    run("--out", out, "--update-baseline", family=None)
    board = (out / "BENCHMARKS.md").read_text()
    assert command("eval", "report", "--out", out, "--format", "markdown").out == board
    assert scoreboard(read_result(out / "snapshots" / "baseline.json")) == board
    stored = json.loads(command("eval", "report", "--out", out, "--format", "json").out)
    assert stored == json.loads((out / "snapshots" / "baseline.json").read_bytes())
    assert command("eval", "report", "--out", out, "--format", "concise").out.startswith("pass (")
    assert_refused(
        command("eval", "report", "--out", tmp_path / "no"),
        "no baseline is there; make one with discovercall",
    )


def test_a_run_is_compared_with_the_baseline_and_may_fail_on_a_regression(
    run, command, full, corpus, tmp_path
):
    out = tmp_path / "out"
    corpus.discovery["lexical"][0]["acceptable"] = ["git.log"]  # so that something can have been better
    corpus.write()
    missing = run("--out", out, "--fail-on-regression")
    assert missing.code == 0
    assert "regression check skipped: there is no baseline" in missing.out
    run("--out", out, "--update-baseline", family=None)
    assert run("--out", out, "--fail-on-regression").code == 0
    path = out / "snapshots" / "baseline.json"
    measured = json.loads(path.read_bytes())
    better = with_rank(measured, worst(measured), 1)
    path.write_text(json.dumps(better))
    failed = run("--out", out, "--fail-on-regression")
    assert failed.code == 1
    assert f"worse: discovery.overall.mrr {better['discovery']['overall']['mrr']:.3f} -> " in failed.out
    assert "regression: discovery.overall.mrr" in failed.err
    told = failed.out.splitlines()[-1]
    assert told.startswith("fail (worse than the baseline: discovery.lexical.mrr, discovery.lexical.")
    result = checked("eval-result", run("--out", out, "--fail-on-regression", "--format", "json").out)
    assert result["verdict"] == "fail"
    assert {"discovery.overall.mrr", "discovery.overall.top1"} <= set(result["regressions"])
    assert all(gate["pass"] or gate["skipped"] for gate in result["gates"])
    written = [json.loads((out / "snapshots" / name).read_bytes()) for name in snapshots(out)[1:]]
    assert sum(found["verdict"] == "fail" for found in written) == 2
    for name in snapshots(out):  # and what was written bears itself out
        assert command("eval", "diff", out / "snapshots" / name, path).code == 0
    assert run("--out", out, "--fail-on-regression", "--tolerance", "0.9").code == 0
    corpus.discovery["no_match"].pop()
    corpus.write()
    other = run("--out", out, "--fail-on-regression")
    assert other.code == 0
    assert "regression check skipped: the corpus differs" in other.out


def test_runs_of_unlike_families_are_not_found_alike(run, command, tmp_path):
    for family in ("discovery", "cache"):
        (tmp_path / f"{family}.json").write_text(run("--format", "json", family=family).out)
    files = [tmp_path / "discovery.json", tmp_path / "cache.json"]
    for format in ("human", "concise", "markdown", "json"):
        done = command("eval", "diff", *files, "--fail-on-regression", "--format", format)
        assert done.code == 1
        assert "no family in common" in done.out
    out = tmp_path / "out" / "snapshots"
    out.mkdir(parents=True)
    files[0].rename(out / "baseline.json")
    done = run("--out", out.parent, "--fail-on-regression", "--format", "concise", family="cache")
    assert "regression check skipped: no family in common" in done.out


@with_model
def test_a_run_that_fails_on_a_regression_is_not_what_the_next_one_is_held_to(run, full, corpus, tmp_path):
    out = tmp_path / "out"
    path = out / "snapshots" / "baseline.json"
    corpus.thresholds["discovery"]["semantic"]["top1Min"] = 0.0
    corpus.discovery["lexical"][0]["acceptable"] = ["git.log"]
    corpus.write()
    assert run("--out", out, "--semantic", family=None).code == 0
    measured = json.loads(path.read_bytes())
    path.write_text(json.dumps(with_rank(measured, worst(measured), 1)))
    better = path.read_bytes()
    for _ in range(2):
        failed = run("--out", out, "--semantic", "--fail-on-regression", family=None)
        assert failed.code == 1
        assert "regression: discovery.overall.top1" in failed.err
        assert path.read_bytes() == better


def test_gates_that_no_case_is_held_to_qualify_the_verdict(run, corpus, tmp_path):
    del corpus.thresholds["hygiene"]
    corpus.discovery["lexical"] = []
    corpus.thresholds["discovery"]["lexical"] |= {"top3Min": 0.5, "mrrMin": 0.5, "endToEndMin": 0.5}
    corpus.thresholds["discovery"].pop("semantic")
    corpus.write()
    told = (
        "4 of 4 gates skipped: no cases for discovery.lexical.top1, discovery.lexical.top3,"
        " discovery.lexical.mrr and 1 more)"
    )
    for format in ("human", "concise", "markdown"):
        assert told in run("--format", format).out
    assert run("--format", "concise").out.endswith("gates 0/0\n")


def test_gates_of_a_family_without_cases_qualify_the_verdict(run, command, corpus, tmp_path):
    corpus.thresholds["invocation"] = {"repairSuccessMin": 1.0}
    corpus.scenarios = []
    corpus.write()
    done = run("--out", tmp_path / "out", family="invocation")
    assert "invocation skipped: the corpus has no case of it; " in done.out
    assert "; 1 of 1 gates skipped: no cases for invocation.repairSuccess) · gates 0/0" in done.out
    (name,) = snapshots(tmp_path / "out")
    path = tmp_path / "out" / "snapshots" / name
    assert command("eval", "diff", path, path).code == 0  # and what was written bears itself out


@pytest.mark.parametrize(
    ("family", "what", "reason"),
    [
        ("tokens", "fixed task of tokens", "the catalog has no confluence.search_pages"),
        ("cache", "reading call of cache", "no tool of the catalog is marked read-only"),
        ("performance", "coldStart of performance", "the program does not answer (FileNotFoundError)"),
    ],
)
def test_what_a_family_can_not_measure_qualifies_the_verdict(run, corpus, monkeypatch, family, what, reason):
    """As over anybody's corpus, which has none of this one's tools."""
    from discovercall.evals import suite
    from discovercall.evals.performance import measure_performance

    def quick(corpus, encoder):
        return measure_performance(
            corpus, encoder=encoder, runs=1, scale_tools=20, program=("no-such-program-anywhere",)
        )

    monkeypatch.setattr(suite, "measure_performance", quick)
    for tool in corpus.world["tools"]:
        tool["readOnly"] = False
    corpus.thresholds |= {"tokens": {"startupReductionMin": 0}, "cache": {"redundantCallReductionMin": 0}}
    corpus.write()
    result = json.loads(run("--format", "json", family=family).out)
    assert {"what": what, "reason": reason} in result["skipped"]
    for format in ("human", "concise", "markdown"):
        assert f"{what} skipped: {reason}" in run("--format", format, family=family).out
    part = what.removesuffix(f" of {family}")
    assert f"\n- {part}: not measured, {reason}\n" in run("--format", "markdown", family=family).out


def test_a_bank_that_ergonomics_can_not_use_qualifies_the_verdict(run, full, corpus):
    told = (
        "the corpus's bank in ergonomics skipped: the program's faces search with the bank that it comes with"
    )
    assert told in run(family="ergonomics").out
    assert told not in run(family="cache").out
    (corpus.folder / "capability-bank.jsonl").unlink()
    assert told not in run(family="ergonomics").out


@pytest.mark.parametrize("bounds", [{}, {"discovery": {"lexical": {"top1Min": 0.5}}}])
def test_a_run_that_nothing_is_gated_of_is_no_plain_pass(run, corpus, bounds):
    corpus.thresholds = {"version": 1, **bounds}
    corpus.write()
    result = json.loads(run("--format", "json", family="cache").out)
    assert result["gates"] == []
    assert {"what": "gates", "reason": "thresholds.json has no bound for what ran"} in result["skipped"]


@pytest.mark.parametrize("place", ["report", "diff", "ratchet", "run"])
def test_a_result_that_contradicts_itself_is_exit_2_wherever_it_is_read(
    run, command, corpus, tmp_path, place
):
    out = tmp_path / "out"
    result = json.loads(run("--format", "json").out)
    result["discovery"]["lexical"]["top1"] = 0.1
    path = out / "snapshots" / "baseline.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(result))
    done = {
        "report": lambda: command("eval", "report", "--out", out),
        "diff": lambda: command("eval", "diff", path, path),
        "ratchet": lambda: command("eval", "ratchet", path, "--data", corpus.folder),
        "run": lambda: run("--out", out),
    }[place]()
    assert_refused(done, r"baseline.json: discovery.lexical.top1: .*measure again")


def test_what_a_result_says_does_not_steer_the_terminal(run, command, tmp_path):
    out = tmp_path / "out"
    result = json.loads(run("--format", "json").out)
    result["skipped"][0]["reason"] = "none\x1b[2J\u202e"
    result["hygiene"]["findings"] = []
    result["cases"][0]["intent"] = "\x1b]0;x\x07"
    other = with_rank(result, 0, 7)
    path = out / "snapshots" / "baseline.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(result))
    (tmp_path / "b.json").write_text(json.dumps(other))
    for format in ("human", "concise", "markdown"):
        for words in (["report", "--out", out], ["diff", path, tmp_path / "b.json"]):
            printed = command("eval", *words, "--format", format)
            assert printed.code == 0
            assert printed.out
            assert not set(printed.out) & {"\x1b", "\x07", "\u202e"}


def test_a_result_with_a_family_of_another_shape_is_exit_2(run, command, tmp_path):
    result = json.loads(run("--format", "json").out) | {"performance": {"host": 1}}
    path = tmp_path / "out" / "snapshots" / "baseline.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(result))
    assert_refused(
        command("eval", "report", "--out", tmp_path / "out", "--format", "markdown"), "of an unknown shape"
    )


def test_a_baseline_that_is_no_result_is_exit_2(run, tmp_path):
    (tmp_path / "out" / "snapshots").mkdir(parents=True)
    (tmp_path / "out" / "snapshots" / "baseline.json").write_text('{"schema": "other"}')
    assert_refused(run("--out", tmp_path / "out"), "baseline.json: ")


def test_diff_compares_two_files(run, command, tmp_path):
    result = json.loads(run("--format", "json").out)
    (tmp_path / "a.json").write_text(json.dumps(result))
    first = next(i for i, case in enumerate(result["cases"]) if case["rank"] == 1)
    (tmp_path / "b.json").write_text(json.dumps(with_rank(result, first, 2)))
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    found = checked("eval-diff", command("eval", "diff", *files, "--format", "json").out)
    scope = result["cases"][first]["category"]
    assert {change["metric"] for change in found["metrics"]} == {
        f"{family}.{part}.{metric}"
        for family in ("discovery", "discoveryWords")
        for part in ("overall", scope)
        for metric in ("top1", "mrr")
    }
    assert len(found["flips"]) == 1
    assert "worse: discovery.overall.top1" in command("eval", "diff", *files).out
    assert command("eval", "diff", *files, "--format", "concise").out == (
        "8 worse, 8 metrics and 1 intents differ\n"
    )
    assert "## Since the baseline" in command("eval", "diff", *files, "--format", "markdown").out
    assert command("eval", "diff", *files, "--fail-on-regression").code == 1
    assert command("eval", "diff", *reversed(files), "--fail-on-regression").code == 0
    result["provenance"]["semanticRan"] = True
    result["gates"] = []
    (tmp_path / "other.json").write_text(json.dumps(result))
    unlike = command("eval", "diff", files[0], tmp_path / "other.json", "--fail-on-regression")
    assert unlike.code == 1
    assert "only one of them ran the semantic leg" in unlike.out
    assert "no metric differs" in command("eval", "diff", files[0], files[0]).out
    assert_refused(command("eval", "diff", files[0], tmp_path / "c.json"), "c.json: cannot be read")


def test_validate_tells_all_problems_and_is_exit_1(command, corpus):
    sound = command("eval", "validate", "--data", corpus.folder, "--format", "json")
    assert sound.code == 0
    assert checked("eval-problems", sound.out)["problems"] == []
    corpus.discovery["lexical"][0]["category"] = "vague"
    corpus.scenarios[0]["toolRef"] = "no.where"
    corpus.write()
    done = command("eval", "validate", "--data", corpus.folder)
    assert done.code == 1
    assert done.out.count("\n") == 2
    assert command("eval", "validate", "--data", corpus.folder, "--format", "concise").out == (
        "2 problems, 0 warnings\n"
    )
    assert_refused(command("eval", "validate", "--data", corpus.folder / "no"), "is no folder")


def test_validate_warns_of_intents_that_are_too_easy(command, corpus):
    corpus.discovery["semantic"][0]["intent"] = "weather forecast please\x1b"
    corpus.write()
    done = command("eval", "validate", "--data", corpus.folder)
    assert done.code == 0
    assert "warning: discovery/semantic.jsonl:1: weather forecast please\ufffd: " in done.out


def test_ratchet_raises_thresholds_and_never_lowers_them(run, command, corpus, tmp_path):
    out = tmp_path / "out"
    run("--out", out)
    (name,) = snapshots(out)
    words = ["eval", "ratchet", out / "snapshots" / name, "--data", corpus.folder]
    corpus.thresholds["discovery"]["lexical"]["top1Min"] = 0.1
    corpus.write()
    assert command(*words).out == "discovery.lexical.top1: 0.1 -> 0.6666\n"
    assert command(*words).out == "No bound can be tighter.\n"
    written = json.loads((corpus.folder / "thresholds.json").read_bytes())
    assert written["discovery"]["semantic"] == {"requiresSemanticLeg": True, "top1Min": 0.9}


def test_the_committed_corpus_is_found_from_any_directory(command, tmp_path):
    assert os.listdir(tmp_path) == []
    done = command("eval", "validate")
    assert done.code == 0
    assert done.out.endswith(": sound\n")


def test_the_program_itself_is_what_the_suite_runs():
    from discovercall.cli.eval_run import run_program

    good = run_program(["gateway", "describe", "stripe.get_balance", "--format", "json"])
    bad = run_program(["gateway", "describe", "no.where", "--format", "json"])
    wrong = run_program(["gateway", "describe"])
    assert (good.exit_code, json.loads(good.stdout)["toolRef"]) == (0, "stripe.get_balance")
    assert (bad.exit_code, json.loads(bad.stdout)["error"]["type"]) == (1, "TOOL_NOT_FOUND")
    assert (wrong.exit_code, wrong.stdout) == (2, "")


def test_an_interrupt_of_a_command_under_test_ends_the_measurement(monkeypatch):
    from discovercall.cli import main as program
    from discovercall.cli.eval_run import run_program

    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "app", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_program(["gateway", "list"])
