import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from discovercall.contract.plan import Lane, PlannedTrial, RunPlan
from discovercall.contract.record import (
    Evidence,
    Failure,
    Identity,
    build_record,
    catalog_observation_sha256,
    recovered_record,
    settle,
)
from discovercall.contract.tasks import Task, TaskSet

TASKS = tuple(Task(i, "Do it.", "query", {"id": i}) for i in ("t1", "t2"))
PLAN = RunPlan(
    task_set=TaskSet(Path("tasks.jsonl"), "d" * 64, TASKS),
    lanes=(Lane("reference", "model-1", "m1", "a1", ("/bin/adapter",), Path("out.jsonl")),),
    trials=2,
    discovery_limit=10,
    execute=True,
    api_base_url="https://api.example/v1",
    toolkit_revision="c" * 40,
    adapter_timeout_ms=1000,
    max_billed_calls=4,
    max_credits=None,
    journal=Path("out.jsonl.journal.jsonl"),
)
IDENTITY = Identity(
    PLAN, PLAN.lanes[0], PlannedTrial(TASKS[0], 2), "run-1", "start", {"python": "3.11"}, "none"
)


def test_a_record_begins_empty_and_in_order():
    record = build_record(IDENTITY, Evidence(), Failure("discover", "missing_search_id", "none"), "end")
    assert list(record)[:15] == [
        "schema_version",
        "benchmark_version",
        "run_id",
        "model",
        "metadata",
        "task_id",
        "trial",
        "started_at",
        "status",
        "discovery",
        "selection",
        "inspection",
        "parameters",
        "call",
        "error",
    ]
    assert record["discovery"] == {"result_tool_ids": []}
    assert record["selection"] == {"tool_id": None}
    assert record["inspection"] == {"returned_tool_ids": [], "required_parameters": []}
    assert record["parameters"] is None
    assert record["call"] == {"attempted": False, "success": None}
    assert record["error"] == {"stage": "discover", "reason_code": "missing_search_id", "message": "none"}
    for field in ("api_revision", "catalog_revision", "catalog_observation_sha256"):
        assert record["metadata"][field] == "pending"


def test_what_was_learnt_is_in_the_record():
    evidence = Evidence(
        result_tool_ids=("a", "b"),
        tool_id="a",
        returned_tool_ids=("a",),
        required_parameters=("city", ("lat", "lon")),
        parameters={"city": "x"},
        attempted=True,
        success=True,
        result_nonempty=False,
        usage={"select": {"prompt_tokens": 3}},
    )
    record = build_record(IDENTITY, evidence, None, "end")
    assert record["status"] == "completed"
    assert "error" not in record
    assert record["inspection"]["required_parameters"] == ["city", ["lat", "lon"]]
    assert record["call"] == {"attempted": True, "success": True, "result_nonempty": False}
    assert record["usage"] == {"select": {"prompt_tokens": 3}}
    assert (record["run_id"], record["task_id"], record["trial"]) == ("run-1", "t1", 2)


@pytest.mark.parametrize(
    ("code", "kept"),
    [
        ("http_500", True),
        ("ab", True),
        ("a" * 64, True),
        ("a", False),
        ("a" * 65, False),
        ("Http", False),
        ("1ab", False),
        ("a-b", False),
        ("ab\n", False),
        ("a b", False),
        ("äb", False),
        ("", False),
        (None, False),
    ],
)
def test_only_a_safe_reason_code_is_kept(code, kept):
    assert Failure("api", code, "x").to_json()["reason_code"] == (code if kept else None)


def test_a_message_has_at_most_500_characters():
    assert Failure("unknown", None, "x" * 501).to_json()["message"] == "x" * 500


def test_the_catalog_digest_is_that_of_the_compact_observations_in_plan_order():
    records = [
        build_record(IDENTITY, Evidence(result_tool_ids=("ä", "b")), None, "end"),
        build_record(replace(IDENTITY, planned=PlannedTrial(TASKS[1], 1)), Evidence(), None, "end"),
    ]
    text = (
        '[{"task_id":"t1","trial":2,"result_tool_ids":["ä","b"]},'
        '{"task_id":"t2","trial":1,"result_tool_ids":[]}]'
    )
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert catalog_observation_sha256(records) == digest
    settled = settle(records, api_revision="mixed:a,b", catalog_revision="unreported")
    for before, after in zip(records, settled, strict=True):
        assert after["metadata"] == {
            **before["metadata"],
            "api_revision": "mixed:a,b",
            "catalog_revision": "unreported",
            "catalog_observation_sha256": digest,
        }
        assert before["metadata"]["api_revision"] == "pending"
        assert {**after, "metadata": None} == {**before, "metadata": None}


DRAFT = build_record(IDENTITY, Evidence(tool_id="a", attempted=True), None, "sent")


def test_a_call_of_which_nobody_knows_the_outcome_is_a_failure_that_says_so():
    record = recovered_record(DRAFT, None)
    assert record["status"] == "failed"
    assert record["call"] == {"attempted": True, "success": None}
    assert record["error"]["stage"] == "call"
    assert record["error"]["reason_code"] == "outcome_unknown"
    assert list(record).index("error") < list(record).index("finished_at")


def test_a_call_whose_outcome_the_journal_knows_is_recorded_as_it_was():
    outcome = {"outcome": "answered", "success": True, "result_nonempty": False, "cost": None}
    record = recovered_record(DRAFT, outcome)
    assert record["status"] == "completed"
    assert record["call"] == {"attempted": True, "success": True, "result_nonempty": False}
    lost = {"outcome": "network_failure", "success": None, "result_nonempty": None, "cost": None}
    record = recovered_record(DRAFT, lost)
    assert record["status"] == "failed"
    assert (record["error"]["stage"], record["error"]["reason_code"]) == ("api", "network_failure")


def test_trials_are_planned_by_task_and_then_by_trial():
    assert [(p.task.id, p.trial) for p in PLAN.planned_trials()] == [
        ("t1", 1),
        ("t1", 2),
        ("t2", 1),
        ("t2", 2),
    ]
    assert PLAN.planned_records == 4
    assert replace(PLAN, lanes=PLAN.lanes * 3).planned_records == 12


@pytest.mark.parametrize(
    "change",
    [
        {"task_set": replace(PLAN.task_set, sha256="e" * 64)},
        {"trials": 3},
        {"discovery_limit": 9},
        {"execute": False},
        {"api_base_url": "https://other.example/v1"},
        {"toolkit_revision": "b" * 40},
        {"adapter_timeout_ms": 1001},
        {"lanes": (replace(PLAN.lanes[0], model="other"),)},
        {"lanes": (replace(PLAN.lanes[0], command=("/bin/adapter", "--effort")),)},
        {"lanes": (replace(PLAN.lanes[0], adapter_revision="a2"),)},
        {"lanes": PLAN.lanes * 2},
        {"max_billed_calls": 5},
        {"max_credits": 1.0},
    ],
)
def test_the_plan_digest_names_exactly_this_plan_and_its_limits(change):
    other = replace(PLAN, **change)
    assert other.digest != PLAN.digest
    limits = {"max_billed_calls", "max_credits"}
    assert (other.header() == PLAN.header()) is bool(limits & set(change))
    assert replace(other, **{name: getattr(PLAN, name) for name in change}).digest == PLAN.digest
