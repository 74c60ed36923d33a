"""Comparing two runs: the gap with its check values, and what the catalogs allow to be said."""

from __future__ import annotations

from typing import Any

import pytest

from discovercall.contract.comparison import Side, comparability, compare_runs
from discovercall.foundation.errors import RefusedError
from discovercall.report.comparison import comparability_sentence, gap_sentence
from tests.support.records import DIGEST, record, task

TASKS = [task(f"t{number}") for number in range(18)]


def lane(model: str, failing: int, *, trials: int = 3, **changes: Any) -> list[dict[str, Any]]:
    """A run in which the first `failing` tasks fail in every trial."""
    rows = []
    for index, each in enumerate(TASKS):
        for trial in range(1, trials + 1):
            success = index >= failing
            call = {"attempted": True, "success": success, "result_nonempty": success}
            run_id = f"{model}-{index}-{trial}"
            rows.append(record(each["id"], trial, run_id=run_id, model=model, call=call, **changes))
    return rows


def compare(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> dict[str, Any]:
    return compare_runs(TASKS, Side("A", a), Side("B", b), task_set_sha256=DIGEST)


def test_one_differing_task_of_eighteen_has_the_published_check_values() -> None:
    gap = compare(lane("one", 1), lane("two", 2))["gap"]
    assert round(gap["points"] * 100, 1) == 5.6
    assert [round(limit * 100, 1) for limit in gap["interval_95"]] == [-14.2, 23.9]
    assert gap["p_value"] == 1
    assert (gap["better"], gap["worse"], len(gap["equal"])) == (["t1"], [], 17)
    assert "1 task(s) differ; p ≤ .05 needs at least 6 in one direction" in gap_sentence(gap)


def test_six_tasks_in_one_direction_are_significant() -> None:
    gap = compare(lane("one", 0), lane("two", 6))["gap"]
    assert gap["p_value"] == pytest.approx(2 / 2**6)
    assert "needs at least" not in gap_sentence(gap)


def test_a_lane_compared_with_itself_has_no_gap() -> None:
    gap = compare(lane("one", 3), lane("two", 3))["gap"]
    assert (gap["points"], gap["p_value"], gap["differing_tasks"]) == (0, 1, 0)


def test_runs_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(RefusedError, match="the number of trials per task differs: A has 3, B has 2"):
        compare(lane("one", 0), lane("two", 0, trials=2))
    with pytest.raises(RefusedError, match=r"holds 2 models \(one, two\)"):
        compare(lane("one", 0) + lane("two", 0), lane("three", 0))
    dry = [{**row, "call": {"attempted": False, "success": None}} for row in lane("one", 0)]
    with pytest.raises(RefusedError, match="is a dry run"):
        compare(dry, lane("two", 0))


def listed(rows: list[dict[str, Any]], ids: list[str], tasks: set[str]) -> list[dict[str, Any]]:
    return [
        {**row, "discovery": {"result_tool_ids": ids}} if row["task_id"] in tasks else row for row in rows
    ]


def test_equal_lists_make_the_gap_a_routing_effect() -> None:
    found = comparability(lane("one", 0), lane("two", 3))
    assert found["same_discovery"] is True
    assert "the gap is a routing effect" in comparability_sentence(found)


def test_other_lists_are_counted_by_trial_and_named_by_task() -> None:
    base = listed(lane("one", 0), ["a", "b", "c"], {"t4", "t5"})
    other = listed(lane("two", 0), ["b", "c", "d"], {"t4", "t5"})
    found = comparability(base, other)
    assert (found["same_discovery"], found["differing_trials"], found["trials"]) == (False, 6, 54)
    assert found["differing_tasks"] == ["t4", "t5"]
    assert found["mean_overlap"] == pytest.approx(2 / 4)
    assert "6 of 54 trials (t4, t5)" in comparability_sentence(found)


def test_missing_evidence_is_said_and_not_taken_for_equality() -> None:
    bare = [{**row, "discovery": {"selection_grounded": True}} for row in lane("one", 0)]
    found = comparability(bare, bare)
    assert (found["same_discovery"], found["unknown_trials"]) == (None, 54)
    assert "is unknown" in comparability_sentence(found)


def test_odd_lists_are_no_evidence_and_no_crash() -> None:
    odd = listed(lane("one", 0), [["x"], {}], {"t1"})  # type: ignore[list-item]
    assert comparability(odd, odd)["unknown_trials"] == 3


def test_public_records_compare_by_their_digests() -> None:
    public = [{**row, "discovery": {"snapshot_sha256": "a" * 64}} for row in lane("one", 0)]
    changed = [
        {**row, "discovery": {"snapshot_sha256": ("b" if row["task_id"] == "t0" else "a") * 64}}
        for row in lane("two", 0)
    ]
    found = comparability(public, changed)
    assert (found["differing_trials"], found["mean_overlap"]) == (3, None)
