"""A public record field by field, and each line with which a private one is refused."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import pytest

from discovercall import sanitize_records
from discovercall.foundation.errors import DiscovercallError, InputError, RefusedError
from discovercall.foundation.json_text import compact_bytes
from discovercall.publication.sanitizing import UNCLASSIFIED, project_records
from tests.publication.runs import (
    APPROVED,
    COMMIT,
    KEY,
    LOOPBACK_URL,
    PRIVATE_TOOL,
    REAL_URL,
    outcomes,
    policy,
    policy_json,
    private_run,
    task_set,
)

KINDS = list(outcomes())
TASKS = task_set()
TEXT = "must be a string of 1 to 256 characters, not blank, without control or format characters"
COUNT = {"prompt_tokens": 0, "completion_tokens": 2**53 - 1, "cached_tokens": 2.0}


def sanitize(records: Any, version: int = 2, **options: Any) -> list[dict[str, Any]]:
    key = {"key": KEY} if version == 2 else {}
    return sanitize_records(records, policy_json(version), TASKS.raw, **key | options)


def refusal(records: Any, kind: type[DiscovercallError] = RefusedError, **options: Any) -> str:
    """What is said of records that can't be public."""
    with pytest.raises(kind) as error:
        sanitize(records, **options)
    return str(error.value)


def keyed(purpose: bytes, data: bytes) -> str:
    return hmac.new(KEY, purpose + b"\0" + data, hashlib.sha256).hexdigest()


def test_a_success_is_published_with_these_fields_and_no_others() -> None:
    private = private_run()
    first = private[0]
    observed = hashlib.sha256(
        compact_bytes(
            [
                {
                    "task_id": record["task_id"],
                    "trial": record["trial"],
                    "result_tool_ids": record["discovery"]["result_tool_ids"],
                }
                for record in private
            ]
        )
    ).hexdigest()
    found = sanitize(private)[0]
    assert found == {
        "schema_version": 1,
        "benchmark_version": "v2",
        "run_id": "run-0000",
        "model": "model-a",
        "metadata": {
            "lane": "configured-model",
            "model_revision": "unreported",
            "adapter_revision": f"{COMMIT}/codex",
            "toolkit_revision": COMMIT,
            "task_set_sha256": TASKS.sha256,
            "api_base_url": REAL_URL,
            "api_revision": "2026-11-01.2",
            "catalog_revision": "unreported",
            "catalog_observation_sha256": observed,
            "runtime": {"python": "3.11.7", "platform": "linux", "arch": "x86_64"},
            "discovery_limit": 10,
            "execute": True,
            "publication_policy": "discovercall-public-1",
        },
        "task_id": "london-weather",
        "trial": 1,
        "started_at": "2026-11-30T10:00:00.000Z",
        "status": "completed",
        "discovery": {
            "result_count": 3,
            "snapshot_sha256": hashlib.sha256(
                compact_bytes([APPROVED, PRIVATE_TOOL, "other.tool"])
            ).hexdigest(),
            "selection_grounded": True,
        },
        "selection": {"tool_id": APPROVED},
        "inspection": {"selection_grounded": True},
        "parameterization": {"required_parameter_accuracy": 1, "constraint_accuracy": 1},
        "call": {"attempted": True, "success": True, "result_nonempty": True},
        "finished_at": "2026-11-30T11:00:00.500Z",
        "source_record_sha256": keyed(b"record", compact_bytes(first)),
        "durations_ms": {"discover": 210, "select": 1400, "inspect": 180, "parameterize": 900, "call": 350},
        "usage": {"select": {"prompt_tokens": 900, "completion_tokens": 12}},
    }


def test_what_a_failure_shows_depends_on_where_it_ended() -> None:
    public = dict(zip(KINDS, sanitize(private_run()), strict=False))
    assert public["invented tool"]["selection"] == {
        "tool_id": None,
        "tool_id_sha256": keyed(b"tool_id", b"made.up"),
    }
    assert public["nothing found"]["discovery"] == {
        "result_count": 0,
        "snapshot_sha256": hashlib.sha256(b"[]").hexdigest(),
        "selection_grounded": False,
    }
    assert public["adapter failed"]["inspection"] == {"selection_grounded": True}
    assert public["call lost"]["call"] == {"attempted": True, "success": None}
    assert public["something else"]["error"] == {"stage": "unknown", "reason_code": UNCLASSIFIED}
    assert public["call refused"]["error"] == {"stage": "api", "reason_code": "http_503"}
    assert "usage" not in public["invented tool"]
    assert public["invented tool"]["durations_ms"] == {"discover": 1, "select": 2}


def test_old_names_of_a_field_are_read_too() -> None:
    private = private_run()
    for record in private:
        record["metadata"]["runtime"] = {"node": "v24", "platform": "linux", "arch": None}
    del private[0]["call"]["result_nonempty"]
    private[0]["call"]["result_valid"] = False
    private[1]["call"] |= {"result_nonempty": True, "result_valid": False}
    first, second = sanitize(private)[:2]
    assert first["metadata"]["runtime"] == {"node": "v24", "platform": "linux", "arch": "unreported"}
    assert first["call"] == {"attempted": True, "success": True, "result_nonempty": False}
    assert second["call"]["result_nonempty"] is True


def test_counts_have_both_their_limits() -> None:
    private = private_run()
    private[0]["usage"] = {"select": COUNT, "parameterize": {"prompt_tokens": 2**53}, "other": COUNT}
    private[0]["durations_ms"] = {"discover": 0, "select": 2**53 - 1, "call": 2**53, "inspect": "5"}
    private[1]["usage"] = {"select": {"prompt_tokens": -1}}
    private[1]["durations_ms"] = {"lunch": 5}
    first, second = sanitize(private)[:2]
    assert first["usage"] == {"select": COUNT}
    assert type(first["usage"]["select"]["cached_tokens"]) is int
    assert first["durations_ms"] == {"discover": 0, "select": 2**53 - 1}
    assert not {"usage", "durations_ms"} & set(second)


@pytest.mark.parametrize("damaged", ["text", 5, None, {}])
def test_what_is_no_list_holds_nothing(damaged: Any) -> None:
    private = private_run()
    failed = private[KINDS.index("nothing found")]
    failed["discovery"]["result_tool_ids"] = damaged
    failed["inspection"] = damaged
    found = sanitize(private)[KINDS.index("nothing found")]
    assert found["discovery"]["result_count"] == 0
    assert found["inspection"] == {"selection_grounded": False}


def test_accuracies_come_from_evidence_and_are_rounded() -> None:
    private = private_run()
    failed = private[KINDS.index("adapter failed")]
    failed["inspection"]["required_parameters"] = ["a", "b", "c"]
    failed["parameters"] = {"a": 1, "b": ""}
    found = sanitize(private)[KINDS.index("adapter failed")]
    assert found["parameterization"] == {"required_parameter_accuracy": 0.3333, "constraint_accuracy": 0}


def test_without_evidence_nothing_is_accurate_even_where_nothing_was_required() -> None:
    private = private_run()
    private[0]["inspection"]["required_parameters"] = []
    del private[0]["parameters"]
    found = sanitize(private)[0]
    assert found["parameterization"] == {"required_parameter_accuracy": 0, "constraint_accuracy": 0}


def test_many_revisions_are_told_as_many_and_others_as_they_are() -> None:
    longest = "mixed:" + "r" * 250
    private = private_run(api_revision=longest, catalog_revision=longest + "r")
    metadata = sanitize(private)[0]["metadata"]
    assert (metadata["api_revision"], metadata["catalog_revision"]) == (longest, "mixed:many")
    private = private_run(api_revision="r" * 257)
    assert refusal(private) == f"records[0]: metadata.api_revision: {TEXT}"
    private = private_run()
    private[0]["metadata"]["api_revision"] = 5
    assert refusal(private) == f"records[0]: metadata.api_revision: {TEXT}"


@pytest.mark.parametrize(
    ("lane", "revision", "public"),
    [
        ("pinned-model", "pending", "configured-model"),
        ("pinned-model", "unreported", "configured-model"),
        ("pinned-model", "r1", "pinned-model"),
        ("oracle", "r1", "reference"),
        (None, "r1", "model"),
    ],
)
def test_a_lane_is_rewritten_unless_it_is_pinned_for_good(lane: Any, revision: Any, public: str) -> None:
    private = private_run()
    for record in private:
        record["metadata"] |= {"lane": lane, "model_revision": revision}
    rewrites = {"oracle": "reference", "pinned-model": "configured-model"}
    rules = policy_json(2, legacy_lane_rewrites=rewrites)
    if revision == "pending":
        with pytest.raises(RefusedError, match=r"^records\[0\]\.metadata\.model_revision: is still pending"):
            sanitize_records(private, rules, TASKS.raw, key=KEY)
    else:
        assert sanitize_records(private, rules, TASKS.raw, key=KEY)[0]["metadata"]["lane"] == public


def changed(path: str, value: Any, number: int = 1) -> list[dict[str, Any]]:
    """A private run with one field of one record changed; `...` removes it."""
    private = private_run()
    *parents, last = path.split(".")
    target: Any = private[number]
    for part in parents:
        target = target[part]
    if value is ...:
        del target[last]
    else:
        target[last] = value
    return private


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("model", " ", "records[1]: model is required"),
        ("trial", 0, "records[1]: trial must be a whole number from 1"),
        ("task_id", "another", "records[1].task_id: names no task of the task set"),
        ("task_id", ["london-weather"], "records[1].task_id: names no task of the task set"),
        ("task_id", ..., "records[1].task_id: names no task of the task set"),
        (
            "metadata.api_base_url",
            "https://elsewhere.example",
            "records[1].metadata.api_base_url: is not approved by the policy; add it to"
            " approved_api_base_urls if what that API shows may be public",
        ),
        (
            "metadata",
            None,
            "records[1].metadata.api_base_url: is not approved by the policy; add it to"
            " approved_api_base_urls if what that API shows may be public",
        ),
        ("selection.tool_id", 5, "records[1].selection.tool_id: must be a string or null"),
        (
            "metadata.catalog_observation_sha256",
            "a" * 64,
            "records[1].metadata.catalog_observation_sha256: is not the digest of what these records"
            " observed; give all records of the run, in the order in which they were written",
        ),
        ("error", "text", "records[1]: error.stage: should be 'discover', 'select', 'inspect',"),
        ("metadata.lane", 5, "records[1]: metadata.lane: should be 'reference', "),
        ("schema_version", ..., "records[1]: schema_version: must be 1"),
        ("run_id", ..., f"records[1]: run_id: {TEXT}"),
        ("started_at", ..., "records[1]: started_at: must be a real time written as YYYY-MM-DDTHH:MM:SS."),
        ("metadata.discovery_limit", ..., "records[1]: metadata.discovery_limit: must be a whole number "),
        ("metadata.execute", ..., "records[1]: metadata.execute: should be a valid boolean"),
    ],
)
def test_a_private_record_is_refused_by_place(path: str, value: Any, said: str) -> None:
    found = refusal(changed(path, value))
    assert found == said or (said.endswith((",", ", ", ".", " ")) and found.startswith(said))


def test_an_observation_that_is_not_stated_is_made() -> None:
    private = private_run()
    stated = private[0]["metadata"]["catalog_observation_sha256"]
    for record in private:
        del record["metadata"]["catalog_observation_sha256"]
    assert {record["metadata"]["catalog_observation_sha256"] for record in sanitize(private)} == {stated}


def test_no_list_no_key_and_no_record_are_told_so() -> None:
    nothing: list[Any] = [None, "x", b"x", 5, {}]
    for records in nothing:
        assert refusal(records) == "records: must be a list of records"
    assert refusal([5]) == "records[0]: a run record must be a JSON object"
    assert refusal(private_run(), InputError, key=b"short") == "publication key: must have 32 bytes"
    assert refusal(private_run(), InputError, key=bytes(33)) == "publication key: must have 32 bytes"
    with pytest.raises(InputError):
        sanitize_records([], {}, TASKS.raw)
    with pytest.raises(InputError):
        sanitize_records([], policy_json(2), [{"id": "x"}])


def test_a_checked_policy_is_taken_with_the_same_options() -> None:
    private = private_run(api_base_url=LOOPBACK_URL)
    with pytest.raises(RefusedError):
        project_records(private, policy(2), TASKS.raw, key=KEY)
    public = project_records(private, policy(2), TASKS.raw, key=KEY, rehearsal=True)
    assert public == sanitize(private, rehearsal=True)
    secret = COMMIT
    with pytest.raises(RefusedError, match="a secret of this run"):
        project_records(private, policy(2), TASKS.raw, key=KEY, rehearsal=True, secrets=[secret])
    other = project_records(private, policy(2), TASKS.raw, key=bytes(32), rehearsal=True)
    assert other[0]["source_record_sha256"] != public[0]["source_record_sha256"]


def test_plain_digests_need_no_key_and_take_none() -> None:
    private = private_run()
    assert sanitize(private, 1) == sanitize(private, 1, key=KEY)
