"""What can't be public."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from discovercall import sanitize_records, validate_public_records
from discovercall.foundation.errors import RefusedError
from discovercall.publication.consistency import EMPTY_SNAPSHOT
from discovercall.publication.secret_scan import SecretScanner
from discovercall.publication.validation import check_public_records, is_rehearsal_run
from tests.publication.runs import (
    FIELDS,
    KEY,
    LOOPBACK_URL,
    SANDBOX_URL,
    outcomes,
    policy,
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


CONTRADICTIONS: list[tuple[str, str, Any, str]] = [
    (
        "success",
        "metadata.model_revision",
        "pending",
        ".metadata.model_revision: is still pending: the run did not end",
    ),
    (
        "success",
        "metadata.catalog_revision",
        "pending",
        ".metadata.catalog_revision: is still pending: the run did not end",
    ),
    (
        "success",
        "metadata.lane",
        "pinned-model",
        ".metadata.model_revision: is unreported, but a pinned model has a revision",
    ),
    (
        "success",
        "metadata.lane",
        "oracle",
        ": metadata.lane: should be 'reference', 'configured-model', 'pinned-model', 'current-model'"
        " or 'model'",
    ),
    ("success", "metadata.discovery_limit", 2, ".discovery.result_count: is above the discovery limit of 2"),
    (
        "success",
        "metadata.discovery_limit",
        0,
        ": metadata.discovery_limit: must be a whole number from 1 to 100",
    ),
    ("success", "metadata.execute", False, ".call.attempted: is true in a dry run"),
    (
        "success",
        "metadata.publication_policy",
        "another",
        ".metadata.publication_policy: does not name the policy 'discovercall-public-1'",
    ),
    (
        "success",
        "metadata.api_base_url",
        "https://elsewhere.example",
        ".metadata.api_base_url: is not approved by the policy",
    ),
    ("success", "metadata.runtime.node", "v24", ": metadata.runtime: must name one of python and node"),
    ("success", "metadata.runtime.python", ..., ": metadata.runtime: must name one of python and node"),
    (
        "success",
        "metadata.runtime.hostname",
        "build-7",
        ": metadata.runtime.hostname: unknown field; known are python, node, platform, arch",
    ),
    (
        "success",
        "metadata.task_set_sha256",
        "A" * 64,
        ": metadata.task_set_sha256: must be 64 lower-case hex digits",
    ),
    ("success", "discovery.result_count", 11, ".discovery.result_count: is above the discovery limit of 10"),
    (
        "success",
        "discovery.result_count",
        0,
        ".discovery.snapshot_sha256: does not fit result_count: only no results have the digest of []",
    ),
    (
        "success",
        "discovery.result_count",
        2.5,
        ": discovery.result_count: must be a whole number from 0 to 9007199254740991",
    ),
    (
        "success",
        "discovery.result_count",
        True,
        ": discovery.result_count: must be a whole number from 0 to 9007199254740991",
    ),
    (
        "success",
        "discovery.snapshot_sha256",
        EMPTY_SNAPSHOT,
        ".discovery.snapshot_sha256: does not fit result_count: only no results have the digest of []",
    ),
    (
        "nothing found",
        "discovery.result_count",
        1,
        ".discovery.snapshot_sha256: does not fit result_count: only no results have the digest of []",
    ),
    (
        "success",
        "discovery.selection_grounded",
        False,
        ".inspection.selection_grounded: is true, but the selection was not among the results",
    ),
    (
        "nothing selected",
        "discovery.selection_grounded",
        True,
        ".discovery.selection_grounded: is true without a selection",
    ),
    (
        "invented tool",
        "inspection.selection_grounded",
        True,
        ".inspection.selection_grounded: is true, but the selection was not among the results",
    ),
    (
        "success",
        "inspection.selection_grounded",
        False,
        ".inspection.selection_grounded: is false on a completed record",
    ),
    ("success", "selection.tool_id", "not.approved", ".selection.tool_id: is not approved by the policy"),
    ("success", "selection.tool_id", 5, ": selection.tool_id: must be a string or null"),
    ("success", "selection.tool_id", ..., ": selection.tool_id: field required"),
    ("success", "selection.tool_id_sha256", "a" * 64, ": selection: must not have a digest beside an id"),
    (
        "success of an unapproved tool",
        "selection.tool_id_sha256",
        None,
        ": selection.tool_id_sha256: must be 64 lower-case hex digits",
    ),
    (
        "success of an unapproved tool",
        "selection.tool_id_sha256",
        "a" * 63,
        ": selection.tool_id_sha256: must be 64 lower-case hex digits",
    ),
    (
        "success of an unapproved tool",
        "selection.tool_id_sha256",
        ...,
        ".discovery.selection_grounded: is true without a selection",
    ),
    (
        "invented tool",
        "selection.tool_id_sha256",
        ...,
        ".selection: is missing although the reason is ungrounded_tool_id",
    ),
    (
        "nothing selected",
        "selection.tool_id",
        "finnhub.market.news.list.v1",
        ".selection: is there although the reason is missing_tool_id",
    ),
    (
        "success",
        "parameterization.constraint_accuracy",
        1.01,
        ": parameterization.constraint_accuracy: must be a number from 0 to 1",
    ),
    (
        "success",
        "parameterization.constraint_accuracy",
        float("nan"),
        ": parameterization.constraint_accuracy: must be a number from 0 to 1",
    ),
    (
        "success",
        "parameterization.constraint_accuracy",
        True,
        ": parameterization.constraint_accuracy: must be a number from 0 to 1",
    ),
    (
        "success",
        "call.attempted",
        False,
        ".call.attempted: is false on a completed record of a run that calls",
    ),
    (
        "success",
        "call.success",
        None,
        ".call.success: must be a boolean exactly where a call was sent and the record is completed",
    ),
    (
        "call lost",
        "call.success",
        True,
        ".call.success: must be a boolean exactly where a call was sent and the record is completed",
    ),
    (
        "call lost",
        "call.result_nonempty",
        False,
        ".call.result_nonempty: is there although success is unknown",
    ),
    ("tool failed", "call.result_nonempty", True, ".call.result_nonempty: is true although the call failed"),
    ("success", "call.result_nonempty", None, ": call.result_nonempty: should be a valid boolean"),
    ("success", "error", {"stage": "call", "reason_code": "x_y"}, ".error: is there on a completed record"),
    ("success", "error", None, ": error: must be a JSON object"),
    ("call lost", "error", ..., ".error: is missing on a failed record"),
    (
        "call lost",
        "error.stage",
        "constructor",
        ": error.stage: should be 'discover', 'select', 'inspect', 'parameterize', 'api', 'adapter', 'call'"
        " or 'unknown'",
    ),
    (
        "call lost",
        "error.reason_code",
        "Http 503",
        ": error.reason_code: must be null or 2 to 64 characters of a-z, 0-9 and _, the first a letter",
    ),
    ("call lost", "error.reason_code", ..., ": error.reason_code: field required"),
    ("call lost", "error.message", "text", ": error.message: unknown field; known are stage, reason_code"),
    ("call lost", "status", "completed", ".error: is there on a completed record"),
    ("success", "status", "failed", ".error: is missing on a failed record"),
    ("success", "status", "done", ": status: should be 'completed' or 'failed'"),
    ("success", "finished_at", "2026-11-30T09:00:00.000Z", ".finished_at: is before started_at"),
    (
        "success",
        "started_at",
        "2026-02-30T09:00:00.000Z",
        ": started_at: must be a real time written as YYYY-MM-DDTHH:MM:SS.mmmZ",
    ),
    (
        "success",
        "started_at",
        "2026-11-30T09:00:00Z",
        ": started_at: must be a real time written as YYYY-MM-DDTHH:MM:SS.mmmZ",
    ),
    (
        "success",
        "started_at",
        "2026-11-30T09:00:00.000Z\n",
        ": started_at: must be a real time written as YYYY-MM-DDTHH:MM:SS.mmmZ",
    ),
    ("success", "run_id", "run-0001", ".run_id: is that of records[0] too"),
    (
        "success",
        "run_id",
        "r" * 257,
        ": run_id: must be a string of 1 to 256 characters, not blank, without control or format characters",
    ),
    (
        "success",
        "model",
        "m\u202e",
        ": model: must be a string of 1 to 256 characters, not blank, without control or format characters",
    ),
    ("success", "trial", 101, ": trial: must be a whole number from 1 to 100"),
    ("success", "trial", 1.5, ": trial: must be a whole number from 1 to 100"),
    ("success", "schema_version", 2, ": schema_version: must be 1"),
    ("success", "benchmark_version", "v3", ": benchmark_version: should be 'v1' or 'v2'"),
    ("success", "source_record_sha256", ..., ": source_record_sha256: field required"),
    (
        "success",
        "durations_ms.lunch",
        5,
        ": durations_ms.lunch: unknown field; known are discover, select, inspect, parameterize, call",
    ),
    (
        "success",
        "durations_ms.call",
        -1,
        ": durations_ms.call: must be a whole number from 0 to 9007199254740991",
    ),
    (
        "success",
        "usage.select.prompt_tokens",
        0.5,
        ": usage.select.prompt_tokens: must be a whole number from 0 to 9007199254740991",
    ),
    ("success", "note", "x", f": note: unknown field; known are {FIELDS}"),
]


@pytest.mark.parametrize(("kind", "path", "value", "said"), CONTRADICTIONS)
def test_what_can_not_be_true_is_refused_by_place(kind: str, path: str, value: Any, said: str) -> None:
    with pytest.raises(RefusedError) as error:
        validate_public_records(changed(kind, path, value), policy_json(2))
    number = 1 if path == "run_id" and value == "run-0001" else KINDS.index(kind)
    assert str(error.value) == f"records[{number}]{said}"


def test_the_unchanged_run_is_public_and_whole_numbers_may_be_written_as_floats() -> None:
    validate_public_records(PUBLIC, policy_json(2))
    validate_public_records(changed("success", "trial", 1.0), policy_json(2))


def test_one_snapshot_has_one_number_of_results() -> None:
    assert checked(changed("tool failed", "discovery.result_count", 4)) == (
        "records[2].discovery.result_count: differs from that of another record with the same snapshot"
    )


@pytest.mark.parametrize("records", [None, {}, "x", b"x", 5])
def test_what_is_no_list_is_refused(records: Any) -> None:
    said = "records: must be a list of records"
    assert checked(records) == said


def test_a_rehearsal_is_one_by_its_base_url() -> None:
    assert not is_rehearsal_run(PUBLIC)
    nothing: list[Any] = [{"metadata": None}, {}, 5, None]
    assert not is_rehearsal_run(nothing)
    assert not is_rehearsal_run([])
    assert is_rehearsal_run(private_run(api_base_url=SANDBOX_URL))
    assert is_rehearsal_run(private_run(api_base_url=LOOPBACK_URL))
    with pytest.raises(RefusedError) as error:
        is_rehearsal_run([*PUBLIC, *private_run(api_base_url=SANDBOX_URL)])
    assert str(error.value) == ("records: mix a rehearsal with a run against a real API; publish them apart")


def checked(records: Any, **options: Any) -> str:
    """What is said of public records under the policy."""
    with pytest.raises(RefusedError) as error:
        check_public_records(records, policy(options.pop("version", 2)), **options)
    return str(error.value)


def test_only_a_rehearsal_may_name_a_loopback_url() -> None:
    records = changed("success", "metadata.api_base_url", LOOPBACK_URL)
    assert checked(records) == "records[0].metadata.api_base_url: is not approved by the policy"
    check_public_records(records, policy(2), rehearsal=True)


def test_a_scanner_that_knows_secrets_is_used() -> None:
    scanner = SecretScanner(["visualcrossing"], shapes=False)
    assert checked(PUBLIC, scanner=scanner).startswith("records[0].")
    check_public_records(PUBLIC, policy(2), scanner=SecretScanner(["not in there"], shapes=False))


def test_shapes_of_keys_are_searched_as_the_policy_says() -> None:
    key = "sk-proj-" + "Ab1" * 12
    records = changed("success", "metadata.adapter_revision", key)
    assert checked(records).startswith("records[0].metadata.adapter_revision: ")
    plain = sanitize_records(private_run(), policy_json(1), task_set().raw)
    plain[0]["metadata"]["adapter_revision"] = key
    check_public_records(plain, policy(1))


def test_measurements_are_public_under_version_2_only() -> None:
    plain = sanitize_records(private_run(), policy_json(1), task_set().raw)
    for field in ("durations_ms", "usage"):
        records = [plain[0] | {field: {}}, *plain[1:]]
        assert checked(records, version=1) == (f"records[0].{field}: is public under a version 2 policy only")


def test_a_forbidden_name_is_told_up_to_64_characters_wherever_it_is() -> None:
    for path, value in (
        ("metadata", {"runtime": [{"deep": {"Api-Key": 1}}]}),
        ("call", [1, {"x": 1}, {"API_KEY": None}]),
    ):
        records = changed("success", path, value)
        found = checked(records)
        assert found.startswith("records[0]: holds the forbidden field '")
        assert "key" in found.lower()
    long = "password" + "-" * 100
    assert checked(changed("success", long, 1)) == (f"records[0]: holds the forbidden field {long[:64]!r}")


def test_a_list_hides_no_forbidden_name_beside_it() -> None:
    records = changed("success", "notes", [{"x": [{"y": 1}]}, "text"])
    records[0]["call"]["session_id"] = "x"
    assert checked(records) == "records[0]: holds the forbidden field 'session_id'"


def test_a_name_is_forbidden_in_every_record() -> None:
    records = copy.deepcopy(PUBLIC)
    records[3]["call"]["session_id"] = "x"
    assert checked(records) == "records[3]: holds the forbidden field 'session_id'"
