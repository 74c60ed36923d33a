"""The results section, the pull request's body and the headline pages: counts from records, plain words."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from discovercall.cadence.bundle import read_bundle
from discovercall.cadence.document import RunFacts, release_report
from discovercall.cadence.plan import CadencePlan
from discovercall.cadence.proposal import results_of_bundle
from discovercall.publication.lanes import counts_of
from discovercall.report.headline import LANGUAGES, headline_page
from discovercall.report.markdown import BODY_LIMIT, code, cut
from discovercall.report.model import Count
from discovercall.report.numbers import share
from discovercall.report.pull_request import CHECKLIST, pull_request_body
from discovercall.report.release import results_section


@pytest.fixture(scope="module")
def report(measured: Path, plan: CadencePlan) -> dict[str, Any]:
    bundle = read_bundle(measured / "bundle")
    facts = RunFacts(
        plan.release_sha, plan.date, "v99", plan.branch, plan.digest, bundle.sha256, bundle.spent,
    )  # fmt: skip
    return release_report(results_of_bundle(bundle, plan), plan.inputs, facts)


@pytest.fixture
def real(report: dict[str, Any]) -> dict[str, Any]:
    """The same as if it were no rehearsal, to be changed by a test."""
    return {**deepcopy(report), "rehearsal": False}


def scores(**fields: list[Any]) -> list[dict[str, Any]]:
    names = ("workflow_success", "completed", "executed", "selection_grounded", "inspection_grounded")
    rest = {
        "required_parameter_accuracy": 1,
        "constraint_accuracy": 1,
        "call_success": True,
        "result_nonempty": True,
    }
    length = len(next(iter(fields.values())))
    return [
        {**dict.fromkeys(names, True), **rest, **{name: values[i] for name, values in fields.items()}}
        for i in range(length)
    ]


def test_counts_come_from_the_records_and_name_their_denominators() -> None:
    counts = counts_of(
        scores(call_success=[True, True, False, None], result_nonempty=[True, False, False, None])
    )
    assert counts["call_success"] == Count(2, 3)  # of calls
    assert counts["result_nonempty"] == Count(1, 2)  # of successful calls
    assert counts["completed"] == Count(4, 4)


def test_an_unknown_rate_is_a_dash_and_never_zero() -> None:
    counts = counts_of(scores(call_success=[None, None], result_nonempty=[None, None]))
    assert counts["call_success"] is None
    assert counts["result_nonempty"] is None
    assert share(None) == share([0, 0]) == "–"
    assert share([0, 3]) == "0.0% (0/3)"
    assert counts_of(scores(workflow_success=[True, None]))["workflow_success"] is None


def test_the_report_agrees_with_its_records(report: dict[str, Any]) -> None:
    for index, lane in enumerate(report["lanes"]):
        successes, runs = lane["counts"]["workflow_success"]
        assert runs == report["records_per_lane"] == 6
        assert sum(task["successes"][index] for task in report["successes_by_task"]) == successes
        assert sum(failure["count"] for failure in lane["failures"]) == runs - successes
        for failure in lane["failures"]:
            assert sum(failure["tasks"].values()) == failure["count"]
        left = [count for _, count in lane["gates"]]
        assert left == sorted(left, reverse=True)
        assert left[-1] == successes


def test_the_body_has_what_a_reviewer_needs(report: dict[str, Any]) -> None:
    body = pull_request_body(report)
    for what, _ in CHECKLIST:
        assert f"- [ ] **{what}**" in body
    assert len(CHECKLIST) == 4
    for needed in (
        "rehearsal on the embedded sandbox", "first-result", "exact sign-flip test over tasks p =",
        "(headline)",
        "```mermaid", "flowchart LR", "xychart-beta", report["plan_digest"], report["bundle_sha256"],
        report["release_sha"], "discovercall validate", "Billed calls: ", "same discovery lists",
        "unreported (not pinned)",
    ):  # fmt: skip
        assert needed in body, needed
    assert body.count("```") % 2 == 0


def test_no_text_calls_an_unreported_revision_pinned(real: dict[str, Any]) -> None:
    real["lanes"][1]["provenance"]["model_revision"] = "unreported"
    texts = [results_section(real), pull_request_body(real), *(headline_page(real, x) for x in LANGUAGES)]
    for text in texts:
        for line in text.splitlines():
            if "unreported" in line:
                assert "pinned" not in line.replace("(not pinned)", "").replace("called pinned", "")


def test_a_negative_gap_is_said_plainly(real: dict[str, Any]) -> None:
    real["gap"] = {**real["gap"], "points": -0.25}
    assert "the configured model scored higher" in results_section(real)
    assert "the configured model scored higher" in headline_page(real, "en")
    assert "配置模型的得分高于参考路线" in headline_page(real, "zh")


def test_an_unknown_gap_is_unknown(real: dict[str, Any]) -> None:
    real |= {"gap": None, "gap_refused": "evidence is missing"}
    real["lanes"][0]["counts"]["workflow_success"] = None
    real["lanes"][0]["headline_95"] = None
    real["successes_by_task"][0]["successes"][0] = None
    text = pull_request_body(real)
    assert "The gap is unknown: evidence is missing" in text
    assert "xychart" not in text
    assert "| **Strict workflow success** | **–** |" in text


NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


@pytest.mark.parametrize("gap", ["as it is", "negative", "unknown"])
@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("revision", ["unreported", "2026-05-01"])
def test_both_pages_say_the_same(real: dict[str, Any], gap: str, same: bool, revision: str) -> None:
    if gap != "as it is":
        real["gap"] = None if gap == "unknown" else {**real["gap"], "points": -0.25}
    real["comparability"] = {**real["comparability"], "same_discovery": same, "differing_trials": 2}
    real["lanes"][1]["provenance"]["model_revision"] = revision
    english, chinese = (headline_page(real, language) for language in LANGUAGES)
    assert sorted(NUMBER.findall(english.replace("p ≤ .05", ""))) == sorted(
        NUMBER.findall(chinese.replace("p ≤ .05", ""))
    )
    assert english.count("\n\n") == chinese.count("\n\n")
    for lane in real["lanes"]:
        assert code(lane["model"]) in english
        assert code(lane["model"]) in chinese


@pytest.mark.parametrize(
    "name",
    ["a|b", "`x`", "``", "<script>alert(1)</script>", "@everyone #1", "x\n| y | z |", "[a](b)", "שלום"],
)
def test_foreign_text_stays_inside_its_cell(real: dict[str, Any], name: str) -> None:
    real["lanes"][1]["model"] = name
    for task in real["successes_by_task"]:
        task["task"] = name
    for text in (results_section(real), pull_request_body(real)):
        tables = [line for line in text.splitlines() if line.startswith("| ")]
        for line in tables:
            cells = re.sub(r"\\\|", "", line).count("|")
            assert cells in (3, 4, 5, 6), line
        outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
        assert "<script" not in outside
        assert "@everyone" not in outside


def test_a_long_body_is_cut_before_github_refuses_it(real: dict[str, Any]) -> None:
    real["successes_by_task"] = [{"task": f"task-{n}" * 20, "successes": [3, 0]} for n in range(900)]
    body = pull_request_body(real)
    assert BODY_LIMIT - 1000 < len(body) <= BODY_LIMIT
    assert body.endswith("of this branch.*\n")
    fenced = cut("```\n" + "x\n" * 50_000)
    assert fenced.count("```") == 2
