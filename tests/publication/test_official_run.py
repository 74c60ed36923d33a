"""What an official run needs beyond valid public records."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from discovercall import sanitize_records, validate_official_run
from discovercall.foundation.errors import InputError, RefusedError
from tests.publication.runs import KEY, outcomes, policy_json, private_run, task_set

KINDS = list(outcomes())
PUBLIC = sanitize_records(private_run(), policy_json(2), task_set().raw, key=KEY)


@pytest.mark.parametrize("records", [None, {}, "x", b"x", 5])
def test_what_is_no_list_is_refused(records: Any) -> None:
    assert refusal(records) == "records: must be a list of records"


def official(records: list[dict[str, Any]], **options: Any) -> None:
    validate_official_run(records, task_set_sha256=task_set().sha256, **options)


def refusal(records: Any, **options: Any) -> str:
    """What is said of a run that is not official."""
    with pytest.raises(RefusedError) as error:
        official(records, **options)
    return str(error.value)


def test_an_official_run_passes_and_an_empty_one_too() -> None:
    official(PUBLIC)
    official([])


def everywhere(path: str, value: Any) -> Callable[[list[dict[str, Any]]], None]:
    def change(records: list[dict[str, Any]]) -> None:
        for record in records:
            target = record
            *parents, last = path.split(".")
            for part in parents:
                target = target[part]
            target[last] = value

    return change


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("metadata.task_set_sha256", "b" * 64, f"is not the digest of the task file, {task_set().sha256}"),
        ("metadata.execute", False, "must be true: a dry run measures no calls"),
        ("metadata.execute", 1, "must be true: a dry run measures no calls"),
        ("metadata.lane", "model", "must name a lane"),
        ("metadata.lane", None, "must name a lane"),
        ("metadata.toolkit_revision", "unversioned", "must be a commit: 40 or 64 hex digits"),
        ("metadata.toolkit_revision", "C" * 40, "must be a commit: 40 or 64 hex digits"),
        ("metadata.adapter_revision", "unreported", "must be known"),
        ("metadata.adapter_revision", None, "must be known"),
        *(
            (f"metadata.{name}", "mixed:1,2", "is mixed: the API or its catalog changed during the run")
            for name in ("model_revision", "adapter_revision", "api_revision", "catalog_revision")
        ),
    ],
)
def test_what_an_official_run_lacks_is_refused(path: str, value: Any, said: str) -> None:
    records = copy.deepcopy(PUBLIC)
    everywhere(path, value)(records)
    assert refusal(records) == f"records[0].{path}: {said}"


@pytest.mark.parametrize("lane", ["reference", "pinned-model"])
@pytest.mark.parametrize("revision", ["unreported", None])
def test_some_lanes_need_a_model_revision(lane: str, revision: Any) -> None:
    records = copy.deepcopy(PUBLIC)
    everywhere("metadata.lane", lane)(records)
    everywhere("metadata.model_revision", revision)(records)
    assert refusal(records) == f"records[0].metadata.model_revision: must be known in the lane {lane}"
    everywhere("metadata.model_revision", "r1")(records)
    official(records)


EACH_ONCE = "model 'model-a' must have the trials 1..n of task 'london-weather', each once"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (everywhere("metadata", None), "records[0]: has no metadata"),
        (
            lambda records: records[0]["call"].pop("result_nonempty"),
            "records[0].call.result_nonempty: must be known for a successful call",
        ),
        (lambda records: records[0].update(trial=4), EACH_ONCE),
        (lambda records: records[0].update(trial=2), EACH_ONCE),
        (lambda records: records[0].update(trial=0), EACH_ONCE),
        (
            lambda records: records.__delitem__(slice(2, None, 3)),
            "model 'model-a' has 2 trials of task 'london-weather', an official run needs 3",
        ),
        (lambda records: records.insert(1, "text"), "records[1]: has no metadata"),
    ],
)
def test_what_else_an_official_run_lacks_is_refused(change: Callable[[Any], Any], said: str) -> None:
    records = copy.deepcopy(PUBLIC)
    change(records)
    assert refusal(records) == said


def test_a_call_that_failed_or_is_missing_needs_no_result() -> None:
    records = copy.deepcopy(PUBLIC)
    del records[KINDS.index("tool failed")]["call"]["result_nonempty"]
    del records[0]["call"]
    official(records)


def test_each_model_and_each_task_has_trials_of_its_own() -> None:
    official([*PUBLIC, *({**record, "model": "model-b"} for record in PUBLIC)])
    assert refusal([*PUBLIC, {**PUBLIC[0], "model": "model-b"}]) == (
        "model 'model-b' has 1 trials of task 'london-weather', an official run needs 3"
    )


def test_records_of_method_v1_need_no_provenance() -> None:
    records = copy.deepcopy(PUBLIC)
    everywhere("benchmark_version", "v1")(records)
    everywhere("metadata.toolkit_revision", "unreported")(records)
    everywhere("metadata.lane", "model")(records)
    official(records)


def test_the_minimum_of_trials_is_the_callers() -> None:
    official(PUBLIC, min_trials_per_task=1)
    single = [record for record in PUBLIC if record["trial"] == 1]
    official(single, min_trials_per_task=1)
    assert refusal(PUBLIC, min_trials_per_task=4) == (
        "model 'model-a' has 3 trials of task 'london-weather', an official run needs 4"
    )
    for minimum in (0, 1.5, True, "3"):
        with pytest.raises(InputError) as error:
            official(PUBLIC, min_trials_per_task=minimum)
        assert str(error.value) == "min_trials_per_task: must be a whole number from 1"
    with pytest.raises(InputError) as error:
        validate_official_run(PUBLIC, task_set_sha256=None)
    assert str(error.value) == "task_set_sha256: must be 64 lower-case hex digits"
