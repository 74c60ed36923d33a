import copy
import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall import score_records
from discovercall.contract.summary import score_stream
from discovercall.contract.uniformity import METADATA_FIELDS
from discovercall.foundation.errors import InputError
from discovercall.foundation.json_text import pretty
from tests.support.records import DIGEST, failed, metadata, record, run, task

TASKS = [task("t1"), task("t2")]
ENTRY_FIELDS = [
    "model",
    "lane",
    "tasks",
    "trials_per_task",
    "runs",
    "completed",
    "executed",
    "selection_grounded_rate",
    "inspection_grounded_rate",
    "required_parameter_accuracy",
    "constraint_accuracy",
    "call_success_rate",
    "result_nonempty_rate",
    "pre_result_gate_workflow_success_rate",
    "workflow_success_rate",
    "workflow_success_task_cluster_bootstrap_95",
    "failures_by_stage",
    "failures_by_reason",
]


def entry(records, tasks=TASKS):
    return score_records(tasks, records, task_set_sha256=DIGEST)["models"][0]


def refusal(records, tasks=TASKS, digest: str | None = DIGEST):
    with pytest.raises(InputError) as refused:
        score_records(tasks, records, task_set_sha256=digest)
    return str(refused.value)


def with_call(call, **more):
    return {"call": {"attempted": True, **call}, **more}


def test_a_perfect_run():
    records = run(TASKS, 2)
    summary = score_records(TASKS, records, task_set_sha256=DIGEST, generated_at="2026-01-01T00:00:00.000Z")
    assert list(summary)[:5] == ["schema_version", "methodology", "generated_at", "models", "records"]
    assert (summary["schema_version"], summary["methodology"]) == (1, "discover-call-v2")
    assert summary["generated_at"] == "2026-01-01T00:00:00.000Z"
    assert [(s["task_id"], s["trial"]) for s in summary["records"]] == [
        ("t1", 1),
        ("t1", 2),
        ("t2", 1),
        ("t2", 2),
    ]
    (only,) = summary["models"]
    assert list(only) == ENTRY_FIELDS
    rates = {name: only[name] for name in ENTRY_FIELDS if name.endswith(("_rate", "_accuracy"))}
    assert set(rates.values()) == {1}
    assert [only[n] for n in ("tasks", "trials_per_task", "runs", "completed", "executed")] == [2, 2, 4, 4, 4]
    assert only["workflow_success_task_cluster_bootstrap_95"] == [1, 1]
    assert only["failures_by_stage"] == only["failures_by_reason"] == {}


def test_rates_are_means_over_all_records_and_over_those_they_are_about():
    records = [
        record("t1", 1),
        record("t1", 2, **with_call({"success": True, "result_nonempty": False})),
        record("t1", 3, **with_call({"success": False, "result_nonempty": False})),
        failed("t2", 1),
        record("t2", 2, parameters={"city": "Paris"}),
        record("t2", 3),
    ]
    only = entry(records)
    assert only["runs"] == 6
    assert only["completed"] == 5
    assert only["executed"] == 5
    assert only["selection_grounded_rate"] == 0.8333
    assert only["inspection_grounded_rate"] == 0.8333
    assert only["required_parameter_accuracy"] == 1  # the failed selection requires nothing
    assert only["constraint_accuracy"] == 0.6667
    assert only["call_success_rate"] == 0.8  # of five attempted calls
    assert only["result_nonempty_rate"] == 0.75  # of four successful calls
    assert only["pre_result_gate_workflow_success_rate"] == 0.5
    assert only["workflow_success_rate"] == 0.3333


def test_a_dry_run_is_no_success_and_no_failure():
    dry = {"call": {"attempted": False, "success": None}, "metadata": metadata(execute=False)}
    only = entry(run(TASKS, 1, **dry))
    assert only["executed"] == 0
    assert only["call_success_rate"] is None
    assert only["result_nonempty_rate"] is None
    assert only["workflow_success_rate"] == 0
    assert only["workflow_success_task_cluster_bootstrap_95"] == [0, 0]
    assert only["failures_by_stage"] == only["failures_by_reason"] == {}


def test_missing_result_evidence_makes_success_unknown():
    records = run(TASKS, 1)
    del records[1]["call"]["result_nonempty"]
    only = entry(records)
    assert only["workflow_success_rate"] is None
    assert only["workflow_success_task_cluster_bootstrap_95"] is None
    assert only["result_nonempty_rate"] is None
    assert only["pre_result_gate_workflow_success_rate"] == 1
    assert only["call_success_rate"] == 1
    assert only["failures_by_stage"] == {}


def test_evidence_that_only_a_failed_call_lacks_is_not_missing():
    records = [record("t1"), record("t2", **with_call({"success": False}))]
    assert entry(records)["workflow_success_rate"] == 0.5
    assert entry(records)["result_nonempty_rate"] == 1


NO_ID = {"selection": {"tool_id": "x.tool"}}


@pytest.mark.parametrize(
    ("changes", "stage", "reason"),
    [
        ({"status": "failed", "error": {"stage": "api", "reason_code": "http_503"}}, "api", "http_503"),
        ({"error": {"stage": "api", "reason_code": "http_503"}, **NO_ID}, "api", "http_503"),
        ({"status": "failed", "error": {"stage": "unknown", "reason_code": None}}, "unknown", None),
        ({"status": "failed"}, "unknown", "incomplete_trial"),
        ({"status": "failed", **NO_ID}, "unknown", "incomplete_trial"),
        (NO_ID, "select", "ungrounded_selection"),
        ({**NO_ID, "parameters": {}}, "select", "ungrounded_selection"),
        (
            {"inspection": {"returned_tool_ids": [], "required_parameters": ["x"]}},
            "inspect",
            "ungrounded_inspection",
        ),
        ({"parameters": {}}, "parameterize", "incomplete_required_parameters"),
        (
            {"parameters": {"city": "Rome"}, **with_call({"success": False})},
            "parameterize",
            "constraint_mismatch",
        ),
        (with_call({"success": False}), "call", "tool_returned_failure"),
        (with_call({"success": True, "result_nonempty": False}), "result", "empty_result"),
    ],
)
def test_a_failure_counts_once_at_its_first_failed_gate(changes, stage, reason):
    only = entry([record("t1", **changes), record("t2")])
    assert only["failures_by_stage"] == {stage: 1}
    assert only["failures_by_reason"] == ({} if reason is None else {reason: 1})


@pytest.mark.parametrize("name", ["constructor", "__proto__", "toString"])
def test_names_that_other_languages_inherit_are_counted_like_any(name):
    records = [failed("t1", error={"stage": name, "reason_code": name}), record("t2")]
    assert entry(records)["failures_by_stage"] == {name: 1}
    assert entry(records)["failures_by_reason"] == {name: 1}


@pytest.mark.parametrize(
    ("error", "stage", "reasons"),
    [
        ({"stage": 5.0, "reason_code": 7}, "5", {"7": 1}),
        ({"stage": ["api"], "reason_code": {"a": None}}, '["api"]', {'{"a":null}': 1}),
        ({"stage": "api", "reason_code": ["x"]}, "api", {'["x"]': 1}),
        ({"stage": True, "reason_code": None}, "true", {}),
    ],
)
def test_a_stage_or_reason_that_is_no_text_is_counted_under_its_json(error, stage, reasons):
    only = entry([failed("t1", error=error), record("t2")])
    assert only["failures_by_stage"] == {stage: 1}
    assert only["failures_by_reason"] == reasons


def test_the_interval_is_the_bootstrap_over_task_means_in_order_of_appearance():
    tasks = [task(f"t{i}") for i in range(5)]
    wins = {"t0": 3, "t1": 0, "t2": 1, "t3": 2, "t4": 3}
    records = [
        record(name, trial) if trial <= won else failed(name, trial)
        for name, won in reversed(wins.items())
        for trial in (1, 2, 3)
    ]
    means = [won / 3 for won in reversed(wins.values())]
    assert entry(records, tasks)["workflow_success_rate"] == 0.6
    assert entry(records, tasks)["workflow_success_task_cluster_bootstrap_95"] == [
        round(bound, 4) for bound in bootstrap(means)
    ]


def bootstrap(means):
    """The interval as section 6 of the contract words it."""
    state, estimates = 0x51F15E, []
    for _ in range(20_000):
        total = 0.0
        for _ in means:
            state = (1664525 * state + 1013904223) % 2**32
            total += means[state * len(means) // 2**32]
        estimates.append(total / len(means))
    estimates.sort()
    return estimates[500], estimates[19_500]


def test_one_task_has_its_own_rate_twice():
    records = [record("t1", 1), record("t1", 2), failed("t1", 3)]
    assert entry(records, [task("t1")])["workflow_success_task_cluster_bootstrap_95"] == [0.6667, 0.6667]


def test_models_are_apart_in_order_of_first_appearance():
    records = run(TASKS, 1, model="b") + [failed(t["id"], model="a") for t in TASKS]
    mixed = [records[2], records[0], records[3], records[1]]
    models = score_records(TASKS, mixed)["models"]
    assert [(m["model"], m["runs"], m["workflow_success_rate"]) for m in models] == [("a", 2, 0), ("b", 2, 1)]


def test_the_lane_is_that_of_the_metadata():
    assert entry(run(TASKS, 1))["lane"] == "configured-model"
    old = run(TASKS, 1, benchmark_version="v1", metadata={})
    assert entry(old)["lane"] == "model"
    for one in old:
        del one["metadata"], one["benchmark_version"]
    summary = score_records(TASKS, old, task_set_sha256=DIGEST)
    assert (summary["methodology"], summary["models"][0]["lane"]) == ("discover-call-v1", "model")


def test_no_time_is_made_up():
    assert score_records(TASKS, run(TASKS, 1))["generated_at"] is None


# What is refused.


def test_a_record_is_needed():
    assert refusal([]) == "there is no record to score"


@pytest.mark.parametrize("value", [None, [], "x"])
def test_records_are_objects(value):
    assert refusal([record("t1"), value]) == "a run record must be a JSON object"


def test_unknown_tasks():
    assert refusal([record("t3", run_id="r1")]) == "record r1: unknown task: t3"
    assert refusal([record(None, run_id="r1")]) == "record r1: unknown task: None"


def test_missing_tasks():
    assert refusal([record("t1")]) == "model model-1 has no record of task t2"


def test_unequal_trial_counts():
    records = [record("t1", 1), record("t1", 2), record("t2", 1)]
    assert refusal(records) == "model model-1 has unequal numbers of trials per task"


@pytest.mark.parametrize("trials", [(2, 3), (1, 3), (1, 1), (0, 1)])
def test_trials_that_are_not_one_to_n(trials):
    records = [record(t["id"], trial) for t in TASKS for trial in trials]
    message = refusal(records)
    assert "trials 1..n of task t1" in message or "trial must be a whole number from 1" in message


def test_duplicate_run_ids():
    assert refusal([record("t1", run_id="r1"), record("t2", run_id="r1")]) == "duplicate run_id r1"


@pytest.mark.parametrize("run_id", [None, "", " ", 7])
def test_run_ids_are_needed(run_id):
    assert refusal([record("t1", run_id=run_id)]) == "record 1: run_id is required"


@pytest.mark.parametrize("other", ["v1", None])
def test_mixed_benchmark_versions(other):
    records = [record("t1"), record("t2", benchmark_version=other)]
    assert refusal(records) == "records of different benchmark versions cannot be scored together"


@pytest.mark.parametrize("version", ["v3", "", 2, ["v2"]])
def test_unknown_benchmark_versions(version):
    records = run(TASKS, 1, benchmark_version=version)
    assert refusal(records).startswith("unsupported benchmark_version")


def test_another_task_set_digest():
    records = run(TASKS, 1, run_id="r1", metadata=metadata(task_set_sha256="a" * 64))
    assert refusal(records[:1]).startswith(
        f"record r1: made with task set {'a' * 64}, not {DIGEST}; score it with"
    )


@pytest.mark.parametrize("recorded", [{}, {"task_set_sha256": None}, None, "x"])
def test_a_missing_task_set_digest(recorded):
    assert "made with task set of no recorded digest" in refusal(run(TASKS, 1, metadata=recorded))
    assert score_records(
        TASKS, run(TASKS, 1, metadata=recorded, benchmark_version="v1"), task_set_sha256=DIGEST
    )


def test_without_a_digest_to_compare_nothing_is_compared():
    assert score_records(TASKS, run(TASKS, 1, metadata=metadata(task_set_sha256="a" * 64)))


@pytest.mark.parametrize("digest", ["A" * 64, "a" * 63, "", DIGEST + "\n"])
def test_a_digest_that_is_none(digest):
    assert refusal(run(TASKS, 1), digest=digest) == "task_set_sha256 must be 64 lower-case hex digits"


@pytest.mark.parametrize("field", ["schema_version", *METADATA_FIELDS])
@pytest.mark.parametrize("how", ["other", "null", "absent"])
def test_mixed_provenance_within_a_model(field, how):
    records = run(TASKS, 1)
    holder = records[1] if field == "schema_version" else records[1]["metadata"]
    if how == "absent":
        del holder[field]
    else:
        holder[field] = (
            {"other": "another"} if how == "other" and field == "runtime" else "z"[how == "null" :] or None
        )
    assert refusal(records, digest=None) == f"model model-1 mixes different {field} values"


def test_models_may_differ_from_each_other():
    other = run(TASKS, 1, model="other", metadata=metadata(lane="reference", model_revision="r"))
    assert len(score_records(TASKS, run(TASKS, 1) + other)["models"]) == 2


def test_a_runtime_is_a_value_whatever_the_order_of_its_keys():
    records = run(TASKS, 1)
    runtime = records[1]["metadata"]["runtime"]
    records[1]["metadata"]["runtime"] = dict(reversed(runtime.items()))
    assert entry(records)
    runtime["arch"] = "arm64"
    records[1]["metadata"]["runtime"] = runtime
    assert refusal(records) == "model model-1 mixes different runtime values"


def test_the_task_set_is_checked_too():
    with pytest.raises(InputError, match="holds no task"):
        score_records([], run(TASKS, 1))
    with pytest.raises(InputError, match="is taken by task 1"):
        score_records([task("t1"), task("t1")], run(TASKS, 1))


OUTCOMES = {
    "won": {},
    "empty": with_call({"success": True, "result_nonempty": False}),
    "refused": with_call({"success": False}),
    "mismatch": {"parameters": {"city": "Rome"}},
    "dry": {"call": {"attempted": False, "success": None}},
}


@settings(deadline=None, max_examples=25)
@given(st.lists(st.sampled_from([*OUTCOMES, "failed"]), min_size=4, max_size=4))
def test_every_record_is_a_success_a_failure_or_a_dry_run(outcomes):
    keys = [(t["id"], trial) for t in TASKS for trial in (1, 2)]
    records = [
        failed(*key) if outcome == "failed" else record(*key, **copy.deepcopy(OUTCOMES[outcome]))
        for key, outcome in zip(keys, outcomes, strict=True)
    ]
    only = entry(records)
    count = Counter(outcomes)
    assert only["workflow_success_rate"] == count["won"] / 4
    assert sum(only["failures_by_stage"].values()) == 4 - count["won"] - count["dry"]
    low, high = only["workflow_success_task_cluster_bootstrap_95"]
    assert 0 <= low <= only["workflow_success_rate"] <= high <= 1
    assert only["pre_result_gate_workflow_success_rate"] >= only["workflow_success_rate"]
    json.dumps(only)


def test_a_stream_is_scored_like_a_list():
    records = run(TASKS, 3, model="a") + run(TASKS, 2, model="b", metadata=metadata(lane="reference"))
    records[4] = failed("t2", 2, model="a")
    of_list = score_records(TASKS, records, task_set_sha256=DIGEST, generated_at="now")
    of_stream = score_stream(TASKS, iter(records), task_set_sha256=DIGEST, generated_at="now")
    assert pretty(of_stream) == pretty(of_list)


@pytest.mark.parametrize(
    "change",
    [
        {"benchmark_version": "v1"},
        {"benchmark_version": "v3"},
        {"run_id": "same"},
        {"task_id": "t9"},
        {"trial": 0},
        {"metadata": None},
        {"metadata": metadata(execute=1)},
    ],
)
def test_a_stream_is_refused_like_a_list(change):
    records = run(TASKS, 2)
    records[0]["run_id"] = "same"
    records[2] |= change
    with pytest.raises(InputError) as refused:
        score_stream(TASKS, iter(records), task_set_sha256=DIGEST)
    assert str(refused.value) == refusal(records)


def test_an_empty_stream_is_refused():
    with pytest.raises(InputError, match="no record to score"):
        score_stream(TASKS, iter([]))


@pytest.mark.parametrize("other", [1, 1.0, "true", None])
def test_values_that_python_takes_for_equal_are_mixed(other):
    records = run(TASKS, 2)
    records[2]["metadata"]["execute"] = other
    assert refusal(records) == "model model-1 mixes different execute values"


def test_whole_numbers_are_the_same_however_they_are_written():
    records = run(TASKS, 2)
    records[2]["metadata"]["discovery_limit"] = 10.0
    assert entry(records)


def test_each_score_has_the_metadata_of_its_record():
    records = run(TASKS, 2)
    records[1]["metadata"] = dict(reversed(metadata().items()))
    records[2]["metadata"] = metadata(note="x")
    scores = score_records(TASKS, records, task_set_sha256=DIGEST)["records"]
    assert [list(s["metadata"].items()) for s in scores] == [list(r["metadata"].items()) for r in records]
