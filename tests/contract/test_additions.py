import pytest

from discovercall import score_records
from discovercall.statistics.intervals import dirichlet_clopper_pearson
from tests.support.records import failed, record, run, task

TASKS = [task("t1"), task("t2"), task("t3")]


def added(records, tasks=TASKS):
    return score_records(tasks, records)["discovercall"]["models"][0]


def wins(*successes, trials=3):
    """Records in which task i wins its first `successes[i]` trials."""
    return [
        record(t["id"], trial) if trial <= won else failed(t["id"], trial)
        for t, won in zip(TASKS, successes, strict=True)
        for trial in range(1, trials + 1)
    ]


def test_success_statistics_are_over_tasks():
    entry = added(wins(3, 2, 0))
    assert entry["model"] == "model-1"
    assert entry["workflow_success_headline_95"] == list(dirichlet_clopper_pearson([1, 2 / 3, 0]))
    assert entry["pass_hat_k"] == {
        "1": pytest.approx((1 + 2 / 3 + 0) / 3),
        "2": pytest.approx((1 + 1 / 3 + 0) / 3),
        "3": pytest.approx(1 / 3),
    }


def test_trials_that_agree_within_tasks_carry_no_new_information():
    entry = added(wins(3, 3, 0))
    assert entry["intra_task_correlation"] == pytest.approx(1)
    assert entry["design_effect"] == pytest.approx(3)


def test_where_success_is_unknown_so_is_all_that_is_made_of_it():
    records = run(TASKS)
    del records[0]["call"]["result_nonempty"]
    entry = added(records)
    for name in ("workflow_success_headline_95", "pass_hat_k", "intra_task_correlation", "design_effect"):
        assert entry[name] is None


def test_required_parameters_are_also_told_for_trials_that_inspected():
    records = [record("t1"), record("t2", parameters={}), failed("t3")]
    summary = score_records(TASKS, records)
    assert (
        summary["models"][0]["required_parameter_accuracy"] == 0.6667
    )  # counts the trial that required nothing
    assert summary["discovercall"]["models"][0]["required_parameter_accuracy_inspected"] == 0.5


def test_nothing_inspected_has_no_accuracy():
    assert added([failed(t["id"]) for t in TASKS])["required_parameter_accuracy_inspected"] is None


def test_durations_and_usage_are_quantiles_by_nearest_rank():
    records = [
        record(
            "t1",
            trial,
            durations_ms={"discover": trial * 10},
            usage={"select": {"prompt_tokens": 100 - trial}},
        )
        for trial in range(1, 21)
    ]
    entry = added(records, [task("t1")])
    assert entry["durations_ms"]["discover"] == {"p50": 100, "p95": 190}
    assert entry["durations_ms"]["call"] is None
    assert entry["usage"]["select"]["prompt_tokens"] == {"p50": 89, "p95": 98}
    assert entry["usage"]["parameterize"]["prompt_tokens"] is None


@pytest.mark.parametrize(
    "junk", [None, [], "x", {"discover": "fast"}, {"discover": True}, {"discover": None}]
)
def test_malformed_durations_are_passed_over(junk):
    records = [record("t1", 1, durations_ms=junk), record("t1", 2, durations_ms={"discover": 5})]
    assert added(records, [task("t1")])["durations_ms"]["discover"] == {"p50": 5, "p95": 5}


def test_each_model_has_its_own():
    records = run(TASKS, 1, model="b") + run(TASKS, 1, model="a")
    names = [entry["model"] for entry in score_records(TASKS, records)["discovercall"]["models"]]
    assert names == ["b", "a"]
