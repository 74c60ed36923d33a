"""What few results hold: gaps the other way, trends with holes, a gateway without figures."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from discovercall.contract.comparison import Side, compare_runs
from discovercall.report.approval import approval_summary
from discovercall.report.comparison import comparability_sentence, power_sentence, print_comparison
from discovercall.report.gateway import GatewaySnapshot, StartUp, gateway_of
from discovercall.report.html import results_html
from discovercall.report.model import Comparability, Gap
from discovercall.report.results import LaneGap, Measurement, ReleaseNotice, ResultsReport, Trend
from discovercall.report.results_markdown import results_markdown, trends_markdown
from discovercall.report.scenarios import scenarios_of
from discovercall.report.wording import gap_statements, trend_statements
from tests.report.made import gateway_result, lane_records, report_of, result_of
from tests.support.records import DIGEST, failed, task

IDS = ["t1", "t2", "t3"]
GAP = Gap(
    points=-0.5,
    interval_95=(-0.9, -0.1),
    p_value=0.03125,
    differing_tasks=6,
    differing_tasks_needed=6,
    better=(),
    equal=("t7",),
    worse=("t1", "t2"),
    smallest_detectable=0.25,
    tasks_needed_for_5_points=400,
)
LISTS = Comparability(
    same_discovery=False,
    unknown_trials=0,
    trials=9,
    differing_trials=2,
    differing_tasks=("t1",),
    mean_overlap=0.5,
)


def said(found: LaneGap) -> list[str]:
    return [f"{one.text} {', '.join(one.tasks)}".strip() for one in gap_statements(found)]


def test_a_gap_the_other_way_is_said() -> None:
    assert said(LaneGap("r", "m", GAP, None, LISTS)) == [
        "Reference minus this lane: -50.0 points, 95% [-90.0, -10.0], exact sign-flip test over tasks"
        " p = 0.0312.",
        "The gap is negative: this lane scored higher than the reference.",
        "This lane did better on: t1, t2",
        "The smallest gap it would have found with 80% power is 25.0 points; a gap of 5 points would take"
        " about 400 tasks.",
        "The runs saw different catalogs: other discovery lists in 2 of 9 trials (tasks named below). The gap"
        " mixes routing with catalog drift. Where lists differ, they share 50% of their tools on average.",
        "Tasks with other discovery lists: t1",
    ]


@pytest.mark.parametrize(("differing", "begins"), [(1, "1 task differs;"), (2, "2 tasks differ;")])
def test_too_few_differing_tasks_are_said(differing: int, begins: str) -> None:
    few = replace(GAP, points=0.5, differing_tasks=differing, better=("t1",), worse=())
    text = said(LaneGap("r", "m", few, None, None))
    assert text[1].startswith(f"{begins} p ≤ .05 needs at least 6 in one direction")
    assert text[2] == "The reference did better on: t1"
    assert len(text) == 4


def test_power_where_nothing_could_be_found() -> None:
    none = replace(GAP, smallest_detectable=None, tasks_needed_for_5_points=None)
    assert power_sentence(none) == "with so few tasks no gap would have been found with 80% power."


@pytest.mark.parametrize(
    ("changes", "begins"),
    [
        ({"same_discovery": None, "unknown_trials": 4}, "For 4 of 9 trials the records don't say"),
        ({"same_discovery": True}, "Both runs saw the same discovery lists in every trial"),
        (
            {"mean_overlap": None},
            "The runs saw different catalogs: other discovery lists in 2 of 9 trials (t1)",
        ),
    ],
)
def test_what_the_discovery_lists_allow(changes: dict[str, Any], begins: str) -> None:
    text = comparability_sentence(replace(LISTS, **changes))
    assert text.startswith(begins)
    assert "on average" not in text


def with_failures(ids: list[str], *lost: str, **more: Any) -> list[Any]:
    rows = lane_records(ids, **more)
    return [
        {**failed(row["task_id"], row["trial"]), **{k: row[k] for k in ("model", "metadata", "started_at")}}
        if row["task_id"] in lost
        else row
        for row in rows
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_a_comparison_on_a_terminal(turned: bool) -> None:
    sides = [
        Side("A", lane_records(IDS, "model-a")),
        Side("B", with_failures(IDS, "t2", model="model-b")),
    ]
    report = compare_runs(
        [task(name) for name in IDS], *(sides[::-1] if turned else sides), task_set_sha256=DIGEST
    )
    console = Console(file=io.StringIO(), width=150)
    print_comparison(report, console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    for part in ("Strict success", "3 × 3", "Equal on 2 tasks.", "Power: "):
        assert part in text, part
    assert ("A worse on 1: t2" in text) == turned
    assert ("A better on 1: t2" in text) != turned
    assert f"A − B: {'-' if turned else '+'}33.3 points" in text


def gateway(**changes: Any) -> GatewaySnapshot:
    return replace(gateway_of(gateway_result(), "baseline.json"), **changes)


def test_a_gateway_without_figures_has_no_tables() -> None:
    bare = gateway(scopes=(), rates=(), bounds=(), start_up=None, scoreboard=None)
    text = results_markdown(report_of(IDS, lane_records(IDS), gateway=bare), "")
    section = text.partition("## Gateway")[2].partition("\n## ")[0]
    assert "Verdict `fail`" in section
    assert "|" not in section
    full = results_markdown(report_of(IDS, lane_records(IDS), gateway=gateway(scoreboard="B.md")), "")
    assert "All of it: [`B.md`](B.md)." in full
    assert "| Rate | Cases |" in full


def test_a_gateway_result_without_tokens_has_no_start_up() -> None:
    for tokens in (None, {"startupReduction": None}):
        assert gateway_of(gateway_result() | {"tokens": tokens}, "b.json").start_up is None


def test_a_broker_that_costs_more_tokens_is_said_to_cost_more() -> None:
    start_up = StartUp(direct=100, broker=110, reduction=-0.1, estimator="chars/4")
    text = results_markdown(report_of(IDS, lane_records(IDS), gateway=gateway(start_up=start_up)), "")
    assert "an agent reads 110 tokens instead of 100: 10.0% more." in text


def measured(number: int, rate: int | None) -> Measurement:
    success = None if rate is None else result_of(IDS, lane_records(IDS)).lane.success
    return Measurement(
        f"{number:040x}", f"2026-01-0{number}", f"r{number}", success, (0.5, 1.0) if success else None, None
    )


def trend(check: ReleaseNotice | None, unchecked: str | None = None) -> Trend:
    points = tuple(measured(number, rate) for number, rate in ((1, 1), (2, None), (3, 1)))
    return Trend(
        lane="configured-model",
        model="m",
        task_set="v9",
        tasks=3,
        trials=3,
        configuration={"discovery_limit": 10},
        measurements=points,
        check=check,
        unchecked=unchecked,
    )


NOTICE = ReleaseNotice(history=5, p_value=0.01, notice=True, lower=("t1",), dark=())


@pytest.mark.parametrize(
    ("check", "count", "begins"),
    [
        (NOTICE, 2, "Notice: release "),
        (replace(NOTICE, notice=False), 1, "No notice for release "),
        (replace(NOTICE, notice=False, dark=("t2",)), 2, "No notice for release "),
        (None, 1, "Not tested: too young."),
    ],
)
def test_a_trend_with_a_hole_is_drawn_and_said(check: ReleaseNotice | None, count: int, begins: str) -> None:
    found = trend(check, None if check else "too young")
    statements = list(trend_statements(found))
    assert len(statements) == count
    assert statements[0].text.startswith(begins)
    report = report_of(IDS, lane_records(IDS), trends=(found,))
    assert "| – | – |" in trends_markdown(report)
    page = results_html(report, "")
    assert 'href="#trend"' in page
    whole = replace(found, measurements=tuple(measured(number, 1) for number in (1, 2, 3)))
    other = results_html(replace(report, trends=(whole,)), "")
    assert other.count("<circle") == page.count("<circle") + 1


def test_an_empty_report_says_so() -> None:
    nothing = ResultsReport((), (), (), (), None, ())
    assert "No official result is published yet: there is no trend." in trends_markdown(nothing)
    assert "No official result is published yet." in results_markdown(nothing, "")
    assert "No official result is published yet." in results_html(nothing, "")


def test_a_task_that_a_lane_lacks_is_a_dash() -> None:
    report = report_of(IDS, lane_records(IDS, lane="reference"), lane_records(IDS, "model-b"))
    (run,) = report.runs
    first, second = run.results
    shorter = replace(second, by_task=second.by_task[1:])
    text = results_markdown(replace(report, runs=(replace(run, results=(first, shorter)),)), "")
    assert "| `t1` | pass | pass | pass | – | – | – |" in text


def scenario_report(comparison: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "generated_at": "2026-11-30T12:00:00.000Z",
        "settings": {
            "client": "live", "model": "m", "runs_per_case": 2, "modes": ["broker", "direct"],
            "cases": ["a", "b"],
        },
        "toolkit": {"commit": "c" * 40, "dirty": False},
        "cells": [
            {"case": "a", "mode": "broker", "passed": 2, "runs": 2},
            {"case": "b", "mode": "broker", "passed": 1, "runs": 2},
            {"case": "a", "mode": "direct", "passed": 0, "runs": 2},
        ],
        "comparison": comparison,
    }  # fmt: skip


def test_scenarios_of_a_model_have_their_gap() -> None:
    gap = {
        "difference": 0.75, "interval_95": [0.1, 1.0], "p_value": 0.5, "better": ["a", "b"], "worse": [],
        "differing_cases_needed": 6,
    }  # fmt: skip
    found = scenarios_of(scenario_report({"first": "broker", "second": "direct", "gap": gap}), "r.json")
    assert [(count.passed, count.of) for count in found.passed] == [(3, 4), (0, 2)]
    text = results_markdown(report_of(IDS, lane_records(IDS), scenarios=(found,)), "")
    assert "replayed" not in text
    assert "| `b` | 50.0% (1/2) | – |" in text
    assert "2 of the at least 6 differing cases that p ≤ .05 needs. No winner is declared." in text
    alone = scenarios_of(scenario_report(None), "r.json")
    assert alone.gap is None
    assert "winner" not in results_markdown(report_of(IDS, lane_records(IDS), scenarios=(alone,)), "")


APPROVAL: dict[str, Any] = {
    "plan": {
        "rehearsal": False,
        "release_sha": "c" * 40,
        "trials": 3,
        "task_set": {"tasks": 18, "file": "tasks/v4.jsonl", "sha256": "d" * 64},
        "budget": {"records_per_lane": 54, "lanes": 2, "max_credits": 50, "most_billed_calls": 108},
        "lanes": [],
        "discovery_limit": 10,
        "api_base_url": "https://qveris.ai/api/v1",
        "code": {"kind": "files", "digest": "e" * 64},
        "policy": {"id": "p-1"},
        "branch": "benchmark/x",
    },
    "plan_digest": "f" * 64,
    "attempt": 1,
    "accepted_attempts": 0,
    "most_calls_over_attempts": 108,
    "tags": {},
    "guard": {"verdict": "refuse", "reason": "pull request #7 was closed without being merged"},
    "previous": "2026-01-01-a",
    "previous_problem": None,
    "changes": [],
    "drafts": "Drafts are there.",
    "earlier_runs": [],
}


def test_an_approver_is_told_that_nothing_will_run_and_that_nothing_changed() -> None:
    text = approval_summary(APPROVAL)
    assert "**Nothing will run:** pull request #7 was closed without being merged." in text
    assert "Compared with `2026-01-01-a`:\n\nNothing that the pair names differs, but for the release" in text
    assert "Calls stop at **50 credits**" in text
    assert "| Release tags | – |" in text
    problem = approval_summary(APPROVAL | {"previous_problem": "not valid JSON"})
    assert "`2026-01-01-a` does not validate, so nothing is compared with it:** `not valid JSON`" in problem
