"""What can't be public, and what an official run needs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from discovercall import sanitize_records, validate_official_run, validate_public_records
from discovercall.foundation.errors import InputError, RefusedError
from discovercall.publication.consistency import EMPTY_SNAPSHOT
from discovercall.publication.validation import is_rehearsal_run
from tests.publication.runs import (
    KEY,
    LOOPBACK_URL,
    SANDBOX_URL,
    outcomes,
    policy_json,
    private_run,
    task_set,
)

KINDS = list(outcomes())
PUBLIC = sanitize_records(private_run(), policy_json(2), task_set().raw, key=KEY)


def changed(kind: str, path: str, value: Any) -> list[dict[str, Any]]:
    """The run with one field of the first record of a kind changed; `...` removes it."""
    records = copy.deepcopy(PUBLIC)
    target: Any = records[KINDS.index(kind)]
    *parents, last = path.split(".")
    for part in parents:
        target = target[part]
    if value is ...:
        del target[last]
    else:
        target[last] = value
    return records


CONTRADICTIONS: list[tuple[str, str, Any]] = [
    ("success", "metadata.model_revision", "pending"),
    ("success", "metadata.catalog_revision", "pending"),
    ("success", "metadata.lane", "pinned-model"),
    ("success", "metadata.lane", "oracle"),
    ("success", "metadata.discovery_limit", 2),
    ("success", "metadata.discovery_limit", 0),
    ("success", "metadata.execute", False),
    ("success", "metadata.publication_policy", "another"),
    ("success", "metadata.api_base_url", "https://elsewhere.example"),
    ("success", "metadata.runtime.node", "v24"),
    ("success", "metadata.runtime.python", ...),
    ("success", "metadata.runtime.hostname", "build-7"),
    ("success", "metadata.task_set_sha256", "A" * 64),
    ("success", "discovery.result_count", 11),
    ("success", "discovery.result_count", 0),
    ("success", "discovery.result_count", 2.5),
    ("success", "discovery.result_count", True),
    ("success", "discovery.snapshot_sha256", EMPTY_SNAPSHOT),
    ("nothing found", "discovery.result_count", 1),
    ("success", "discovery.selection_grounded", False),
    ("nothing selected", "discovery.selection_grounded", True),
    ("invented tool", "inspection.selection_grounded", True),
    ("success", "inspection.selection_grounded", False),
    ("success", "selection.tool_id", "not.approved"),
    ("success", "selection.tool_id", 5),
    ("success", "selection.tool_id", ...),
    ("success", "selection.tool_id_sha256", "a" * 64),
    ("success of an unapproved tool", "selection.tool_id_sha256", None),
    ("success of an unapproved tool", "selection.tool_id_sha256", "a" * 63),
    ("success of an unapproved tool", "selection.tool_id_sha256", ...),
    ("invented tool", "selection.tool_id_sha256", ...),
    ("nothing selected", "selection.tool_id", "finnhub.market.news.list.v1"),
    ("success", "parameterization.constraint_accuracy", 1.01),
    ("success", "parameterization.constraint_accuracy", float("nan")),
    ("success", "parameterization.constraint_accuracy", True),
    ("success", "call.attempted", False),
    ("success", "call.success", None),
    ("call lost", "call.success", True),
    ("call lost", "call.result_nonempty", False),
    ("tool failed", "call.result_nonempty", True),
    ("success", "call.result_nonempty", None),
    ("success", "error", {"stage": "call", "reason_code": "x_y"}),
    ("success", "error", None),
    ("call lost", "error", ...),
    ("call lost", "error.stage", "constructor"),
    ("call lost", "error.reason_code", "Http 503"),
    ("call lost", "error.reason_code", ...),
    ("call lost", "error.message", "text"),
    ("call lost", "status", "completed"),
    ("success", "status", "failed"),
    ("success", "status", "done"),
    ("success", "finished_at", "2026-11-30T09:00:00.000Z"),
    ("success", "started_at", "2026-02-30T09:00:00.000Z"),
    ("success", "started_at", "2026-11-30T09:00:00Z"),
    ("success", "started_at", "2026-11-30T09:00:00.000Z\n"),
    ("success", "run_id", "run-0001"),
    ("success", "run_id", "r" * 257),
    ("success", "model", "m\u202e"),
    ("success", "trial", 101),
    ("success", "trial", 1.5),
    ("success", "schema_version", 2),
    ("success", "benchmark_version", "v3"),
    ("success", "source_record_sha256", ...),
    ("success", "durations_ms.lunch", 5),
    ("success", "durations_ms.call", -1),
    ("success", "usage.select.prompt_tokens", 0.5),
    ("success", "note", "x"),
]


@pytest.mark.parametrize(("kind", "path", "value"), CONTRADICTIONS)
def test_what_can_not_be_true_is_refused_by_place(kind: str, path: str, value: Any) -> None:
    with pytest.raises(RefusedError) as error:
        validate_public_records(changed(kind, path, value), policy_json(2))
    assert f"records[{KINDS.index(kind)}]" in str(error.value) or "records[1].run_id" in str(error.value)


def test_the_unchanged_run_is_public_and_whole_numbers_may_be_written_as_floats() -> None:
    validate_public_records(PUBLIC, policy_json(2))
    validate_public_records(changed("success", "trial", 1.0), policy_json(2))


def test_one_snapshot_has_one_number_of_results() -> None:
    with pytest.raises(RefusedError, match="same snapshot"):
        validate_public_records(changed("tool failed", "discovery.result_count", 4), policy_json(2))


@pytest.mark.parametrize("records", [None, {}, "x", 5])
def test_what_is_no_list_is_refused(records: Any) -> None:
    with pytest.raises(RefusedError):
        validate_public_records(records, policy_json(2))
    with pytest.raises(RefusedError):
        validate_official_run(records, task_set_sha256="a" * 64)


def official(records: list[dict[str, Any]], **options: Any) -> None:
    validate_official_run(records, task_set_sha256=task_set().sha256, **options)


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
    "change",
    [
        everywhere("metadata.task_set_sha256", "b" * 64),
        everywhere("metadata.execute", False),
        everywhere("metadata.lane", "model"),
        everywhere("metadata.lane", "reference"),
        everywhere("metadata.lane", "pinned-model"),
        everywhere("metadata.toolkit_revision", "unversioned"),
        everywhere("metadata.toolkit_revision", "C" * 40),
        everywhere("metadata.adapter_revision", "unreported"),
        everywhere("metadata.api_revision", "mixed:1,2"),
        everywhere("metadata.catalog_revision", "mixed:1,2"),
        everywhere("metadata", None),
        lambda records: records[0]["call"].pop("result_nonempty"),
        lambda records: records[0].update(trial=4),
        lambda records: records[0].update(trial=2),
        lambda records: records.__delitem__(slice(2, None, 3)),
    ],
)
def test_what_an_official_run_lacks_is_refused(change: Callable[[Any], Any]) -> None:
    records = copy.deepcopy(PUBLIC)
    change(records)
    with pytest.raises(RefusedError):
        official(records)


def test_records_of_method_v1_need_no_provenance() -> None:
    records = copy.deepcopy(PUBLIC)
    everywhere("benchmark_version", "v1")(records)
    everywhere("metadata.toolkit_revision", "unreported")(records)
    everywhere("metadata.lane", "model")(records)
    official(records)


def test_the_minimum_of_trials_is_the_callers() -> None:
    official(PUBLIC, min_trials_per_task=1)
    with pytest.raises(RefusedError, match="needs 4"):
        official(PUBLIC, min_trials_per_task=4)
    for minimum in (0, 1.5, True, "3"):
        with pytest.raises(InputError):
            official(PUBLIC, min_trials_per_task=minimum)
    with pytest.raises(InputError):
        validate_official_run(PUBLIC, task_set_sha256=None)


def test_a_rehearsal_is_one_by_its_base_url() -> None:
    assert not is_rehearsal_run(PUBLIC)
    assert is_rehearsal_run(private_run(api_base_url=SANDBOX_URL))
    assert is_rehearsal_run(private_run(api_base_url=LOOPBACK_URL))
    with pytest.raises(RefusedError, match="mix"):
        is_rehearsal_run([*PUBLIC, *private_run(api_base_url=SANDBOX_URL)])
