import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall import score_record
from discovercall.foundation.errors import InputError
from tests.support.records import constraint, failed, metadata, record, task

TASK = task()
ATTESTED = "parameterization needs required_parameter_accuracy and constraint_accuracy from 0 to 1"
WON = {
    "completed": True,
    "executed": True,
    "selection_grounded": True,
    "inspection_grounded": True,
    "required_parameter_accuracy": 1,
    "constraint_accuracy": 1,
    "call_success": True,
    "result_nonempty": True,
    "pre_result_gate_workflow_success": True,
    "workflow_success": True,
    "error_stage": None,
    "error_reason": None,
}


def score(**changes):
    return score_record(TASK, record(**changes))


def test_a_strict_success_has_all_fields_in_order():
    run = record(run_id="r1")
    result = score_record(TASK, run)
    assert result == {
        "run_id": "r1",
        "task_id": "weather",
        "model": "model-1",
        "trial": 1,
        **WON,
        "metadata": metadata(),
    }
    assert list(result) == ["run_id", "task_id", "model", "trial", *WON, "metadata"]


def test_metadata_is_left_out_where_the_record_has_none():
    run = record()
    del run["metadata"]
    assert "metadata" not in score_record(TASK, run)
    assert score(metadata=None)["metadata"] is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"status": "failed"}, {"completed": False}),
        ({"status": None}, {"completed": False}),
        ({"selection": {"tool_id": "c.tool"}}, {"selection_grounded": False, "inspection_grounded": False}),
        ({"selection": {"tool_id": "a.tool "}}, {"selection_grounded": False, "inspection_grounded": False}),
        ({"selection": {"tool_id": None}}, {"selection_grounded": False, "inspection_grounded": False}),
        ({"selection": {"tool_id": ""}}, {"selection_grounded": False, "inspection_grounded": False}),
        ({"selection": "a.tool"}, {"selection_grounded": False, "inspection_grounded": False}),
        ({"discovery": None}, {"selection_grounded": False}),
        ({"discovery": {"result_tool_ids": "a.tool"}}, {"selection_grounded": False}),
        ({"discovery": {"result_tool_ids": []}}, {"selection_grounded": False}),
        ({"inspection": {"returned_tool_ids": ["b.tool"]}}, {"inspection_grounded": False}),
        ({"inspection": None}, {"inspection_grounded": False}),
        ({"parameters": {}}, {"required_parameter_accuracy": 0, "constraint_accuracy": 0}),
        ({"parameters": None}, {"required_parameter_accuracy": 0, "constraint_accuracy": 0}),
        ({"parameters": {"city": "Paris"}}, {"constraint_accuracy": 0}),
        (
            {"inspection": {"returned_tool_ids": ["a.tool"], "required_parameters": ["city", "x", "y"]}},
            {"required_parameter_accuracy": 0.3333},
        ),
    ],
)
def test_a_missed_gate_ends_the_success(changes, expected):
    lost = {"pre_result_gate_workflow_success": False, "workflow_success": False}
    result = score(**changes)
    assert {name: result[name] for name in WON} == WON | lost | expected


def test_an_empty_selection_is_grounded_in_nothing():
    listed = {"result_tool_ids": [""], "returned_tool_ids": [""]}
    result = score(selection={"tool_id": ""}, discovery=listed, inspection=listed)
    assert (result["selection_grounded"], result["inspection_grounded"]) == (False, False)


def test_inspection_can_be_grounded_without_discovery():
    assert score(discovery={"result_tool_ids": ["b.tool"]})["inspection_grounded"] is True


@pytest.mark.parametrize(
    ("call", "executed", "success", "nonempty", "won"),
    [
        ({"attempted": True, "success": True, "result_nonempty": True}, True, True, True, True),
        ({"attempted": True, "success": True, "result_nonempty": False}, True, True, False, False),
        ({"attempted": True, "success": True}, True, True, None, None),
        ({"attempted": True, "success": True, "result_nonempty": None}, True, True, None, None),
        ({"attempted": True, "success": True, "result_nonempty": "yes"}, True, True, None, None),
        ({"attempted": True, "success": True, "result_valid": True}, True, True, True, True),
        ({"attempted": True, "success": True, "result_valid": False}, True, True, False, False),
        (
            {"attempted": True, "success": True, "result_nonempty": None, "result_valid": True},
            True, True, True, True,
        ),
        (
            {"attempted": True, "success": True, "result_nonempty": False, "result_valid": True},
            True, True, False, False,
        ),
        ({"attempted": True, "success": False, "result_nonempty": False}, True, False, False, False),
        ({"attempted": True, "success": False, "result_nonempty": True}, True, False, False, False),
        ({"attempted": True, "success": None}, True, False, False, False),
        ({"attempted": True, "success": "true", "result_nonempty": True}, True, False, False, False),
        ({"attempted": True, "success": 1, "result_nonempty": True}, True, False, False, False),
        ({"attempted": False, "success": None}, False, None, None, False),
        ({"attempted": False, "success": True, "result_nonempty": True}, False, None, None, False),
        ({"attempted": 1, "success": True, "result_nonempty": True}, False, None, None, False),
        ({}, False, None, None, False),
        (None, False, None, None, False),
    ],
)  # fmt: skip
def test_what_became_of_the_call(call, executed, success, nonempty, won):
    result = score(call=call)
    assert (result["executed"], result["call_success"], result["result_nonempty"]) == (
        executed,
        success,
        nonempty,
    )
    assert result["pre_result_gate_workflow_success"] is (success is True)
    assert result["workflow_success"] is won


@pytest.mark.parametrize(
    ("error", "stage", "reason"),
    [
        ({"stage": "api", "reason_code": "http_500"}, "api", "http_500"),
        ({"stage": "unknown", "reason_code": None}, "unknown", None),
        ({"stage": "api"}, "api", None),
        ({}, None, None),
        (None, None, None),
        ("api", None, None),
        (["api"], None, None),
    ],
)
def test_the_recorded_error(error, stage, reason):
    result = score_record(TASK, failed(error=error))
    assert (result["error_stage"], result["error_reason"]) == (stage, reason)


@pytest.mark.parametrize(
    ("accuracy", "rounded"),
    [
        (0.12345, 0.1235),
        (0.12344, 0.1234),
        (0.00005, 0.0001),
        (0.99995, 1),
        (0.99994, 0.9999),
        (1 / 3, 0.3333),
        (2 / 3, 0.6667),
    ],
)
def test_accuracies_are_rounded_half_up_to_four_decimals(accuracy, rounded):
    run = record(parameterization={"required_parameter_accuracy": accuracy, "constraint_accuracy": 1})
    del run["parameters"]
    assert score_record(TASK, run)["required_parameter_accuracy"] == rounded


def public(**changes):
    """A public record: evidence withheld, attested instead."""
    run = record(
        discovery={"result_count": 2, "snapshot_sha256": "f" * 64, "selection_grounded": True},
        selection={"tool_id": None, "tool_id_sha256": "f" * 64},
        inspection={"selection_grounded": True},
        parameterization={"required_parameter_accuracy": 1, "constraint_accuracy": 0.5},
    )
    del run["parameters"]
    return {**run, **changes}


def test_attestations_stand_in_for_withheld_evidence():
    result = score_record(TASK, public())
    assert result["selection_grounded"] is True
    assert result["inspection_grounded"] is True
    assert result["required_parameter_accuracy"] == 1
    assert result["constraint_accuracy"] == 0.5
    assert result["workflow_success"] is False


@pytest.mark.parametrize("attested", [True, False])
def test_a_boolean_attestation_wins_over_evidence_field_by_field(attested):
    ids = {"result_tool_ids": ["a.tool"], "returned_tool_ids": ["a.tool"]}
    result = score(discovery={**ids, "selection_grounded": attested}, inspection=ids)
    assert result["selection_grounded"] is attested
    assert result["inspection_grounded"] is True
    result = score(discovery=ids, inspection={**ids, "selection_grounded": attested})
    assert result["selection_grounded"] is True
    assert result["inspection_grounded"] is attested


@pytest.mark.parametrize("attested", [1, "true", None])
def test_any_other_attestation_counts_for_nothing(attested):
    assert score(discovery={"selection_grounded": attested})["selection_grounded"] is False


@pytest.mark.parametrize("parameters", [None, {}, {"city": "London"}])
def test_attested_accuracies_count_only_where_the_parameters_are_absent(parameters):
    attested = {"required_parameter_accuracy": 0.25, "constraint_accuracy": 0.25}
    result = score(parameters=parameters, parameterization=attested)
    assert result["constraint_accuracy"] == (1 if parameters else 0)


@pytest.mark.parametrize(
    "parameterization",
    [
        {},
        [],
        "text",
        {"required_parameter_accuracy": 1},
        {"required_parameter_accuracy": 1, "constraint_accuracy": None},
        {"required_parameter_accuracy": 1, "constraint_accuracy": True},
        {"required_parameter_accuracy": 1, "constraint_accuracy": "1"},
        {"required_parameter_accuracy": 1.0001, "constraint_accuracy": 1},
        {"required_parameter_accuracy": -0.0001, "constraint_accuracy": 1},
        {"required_parameter_accuracy": math.nan, "constraint_accuracy": 1},
        {"required_parameter_accuracy": math.inf, "constraint_accuracy": 1},
    ],
)
def test_impossible_attestations_are_refused(parameterization):
    run = public(run_id="r9", parameterization=parameterization)
    with pytest.raises(InputError, match=rf"^record r9: {ATTESTED}$"):
        score_record(TASK, run)


def test_without_parameters_and_attestation_nothing_was_supplied():
    run = record()
    del run["parameters"]
    assert score_record(TASK, run)["constraint_accuracy"] == 0


@pytest.mark.parametrize("model", [None, "", " ", 7, ["m"]])
def test_a_model_is_needed(model):
    with pytest.raises(InputError, match=r"^record r1: model is required$"):
        score_record(TASK, record(run_id="r1", model=model))


def test_a_record_without_a_name_is_told_by_a_question_mark():
    run = record(model=None)
    del run["run_id"]
    with pytest.raises(InputError, match=r"^record \?: model is required$"):
        score_record(TASK, run)


@pytest.mark.parametrize("trial", [None, 0, -1, 1.5, True, "1", math.inf, math.nan, [1]])
def test_a_whole_trial_is_needed(trial):
    with pytest.raises(InputError, match=r"^record r1: trial must be a whole number from 1$"):
        score_record(TASK, record(run_id="r1", trial=trial))


def test_a_trial_may_be_written_with_a_fraction_of_zero():
    assert score(trial=2.0)["trial"] == 2


@pytest.mark.parametrize("value", [None, [], "record", 7])
def test_a_record_must_be_an_object(value):
    with pytest.raises(InputError, match=r"^a run record must be a JSON object$"):
        score_record(TASK, value)


@pytest.mark.parametrize("value", [None, [], "task", 7])
def test_a_task_must_be_known(value):
    with pytest.raises(InputError, match=r"^record r1: unknown task: weather$"):
        score_record(value, record(run_id="r1"))


def test_several_constraints_give_a_share():
    three = task(constraints=[constraint("a", "x"), constraint("b", "y"), constraint("c", "z")])
    run = record(parameters={"a": "x", "b": "y", "city": "London"})
    assert score_record(three, run)["constraint_accuracy"] == 0.6667


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
EVIDENCE = ["discovery", "selection", "inspection", "parameters", "call", "error", "status"]


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.sampled_from(EVIDENCE), JSON))
def test_malformed_evidence_never_breaks_scoring_and_never_helps(changes):
    result = score(**changes)
    assert 0 <= result["required_parameter_accuracy"] <= 1
    assert 0 <= result["constraint_accuracy"] <= 1
    if result["workflow_success"]:
        assert set(changes) <= {"error", "inspection"}
