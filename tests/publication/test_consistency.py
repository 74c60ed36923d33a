"""Every contradiction of a public record is found, and nothing else is one."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from discovercall import sanitize_records
from discovercall.foundation.models import check
from discovercall.publication.consistency import EMPTY_SNAPSHOT, REVISIONS, contradictions
from discovercall.publication.public_record import PublicRecord
from tests.publication.runs import KEY, outcomes, policy_json, private_run, task_set

PUBLIC = dict(
    zip(outcomes(), sanitize_records(private_run(), policy_json(2), task_set().raw, key=KEY), strict=False)
)
COUNT_WITHOUT = ("discovery.selection_grounded", "is true without results")
NO_SELECTION = ("discovery.selection_grounded", "is true without a selection")
NOT_FOUND = ("inspection.selection_grounded", "is true, but the selection was not among the results")
NOT_INSPECTED = ("inspection.selection_grounded", "is false on a completed record")
SNAPSHOT = (
    "discovery.snapshot_sha256",
    "does not fit result_count: only no results have the digest of []",
)
EXTRA_ERROR = ("error", "is there on a completed record")
NO_ERROR = ("error", "is missing on a failed record")
DRY = ("call.attempted", "is true in a dry run")
NOT_CALLED = ("call.attempted", "is false on a completed record of a run that calls")
SUCCESS = (
    "call.success",
    "must be a boolean exactly where a call was sent and the record is completed",
)
UNKNOWN_SUCCESS = ("call.result_nonempty", "is there although success is unknown")
FAILED_CALL = ("call.result_nonempty", "is true although the call failed")
UNREPORTED_PIN = ("metadata.model_revision", "is unreported, but a pinned model has a revision")


def found(kind: str, **changes: Any) -> list[tuple[str, str]]:
    """The contradictions of a record with some fields changed; `__` parts the path, `...` removes."""
    record = copy.deepcopy(PUBLIC[kind])
    for path, value in changes.items():
        *parents, last = path.split("__")
        target = record
        for part in parents:
            target = target[part]
        if value is ...:
            del target[last]
        else:
            target[last] = value
    return list(contradictions(check(PublicRecord, record, "record")))


@pytest.mark.parametrize("kind", PUBLIC)
def test_no_kind_of_outcome_contradicts_itself(kind: str) -> None:
    assert found(kind) == []


@pytest.mark.parametrize("name", REVISIONS)
def test_no_revision_may_be_pending(name: str) -> None:
    assert found("success", **{f"metadata__{name}": "pending"}) == [
        (f"metadata.{name}", "is still pending: the run did not end")
    ]


def test_a_pinned_model_has_a_revision() -> None:
    assert found("success", metadata__lane="pinned-model") == [UNREPORTED_PIN]
    assert found("success", metadata__lane="pinned-model", metadata__model_revision="r1") == []
    assert found("success", metadata__model_revision="r1") == []


@pytest.mark.parametrize(
    ("kind", "changes", "expected"),
    [
        ("success", {"metadata__discovery_limit": 3}, []),
        (
            "success",
            {"metadata__discovery_limit": 2},
            [("discovery.result_count", "is above the discovery limit of 2")],
        ),
        ("success", {"discovery__result_count": 0}, [SNAPSHOT, COUNT_WITHOUT]),
        ("success", {"discovery__snapshot_sha256": EMPTY_SNAPSHOT}, [SNAPSHOT]),
        (
            "success",
            {"discovery__result_count": 0, "discovery__snapshot_sha256": EMPTY_SNAPSHOT},
            [COUNT_WITHOUT],
        ),
        ("success", {"discovery__result_count": 1}, []),
        ("success", {"discovery__selection_grounded": False}, [NOT_FOUND]),
        ("success", {"inspection__selection_grounded": False}, [NOT_INSPECTED]),
        (
            "success",
            {"discovery__selection_grounded": False, "inspection__selection_grounded": False},
            [NOT_INSPECTED],
        ),
        ("success of an unapproved tool", {"selection__tool_id_sha256": ...}, [NO_SELECTION]),
        ("nothing selected", {"discovery__selection_grounded": True}, [NO_SELECTION]),
        ("nothing found", {"discovery__selection_grounded": True}, [NO_SELECTION, COUNT_WITHOUT]),
        ("invented tool", {"inspection__selection_grounded": True}, [NOT_FOUND]),
    ],
)
def test_grounding(kind: str, changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert found(kind, **changes) == expected


@pytest.mark.parametrize(
    ("kind", "reason", "said"),
    [
        ("nothing selected", "missing_tool_id", None),
        ("nothing selected", "ungrounded_tool_id", "is missing although the reason is ungrounded_tool_id"),
        ("nothing selected", "timeout", None),
        ("nothing selected", None, None),
        ("invented tool", "ungrounded_tool_id", None),
        ("invented tool", "missing_tool_id", "is there although the reason is missing_tool_id"),
        ("invented tool", "timeout", None),
    ],
)
def test_a_selection_fits_the_reason_for_which_it_failed(
    kind: str, reason: str | None, said: str | None
) -> None:
    assert found(kind, error__reason_code=reason) == ([("selection", said)] if said else [])
    assert found(kind, error__reason_code=reason, error__stage="adapter") == []


@pytest.mark.parametrize(
    ("kind", "changes", "expected"),
    [
        ("success", {"error": {"stage": "call", "reason_code": None}}, [EXTRA_ERROR]),
        ("adapter failed", {"error": ...}, [NO_ERROR]),
        ("success", {"status": "failed"}, [NO_ERROR, SUCCESS]),
        ("adapter failed", {"status": "completed"}, [EXTRA_ERROR, NOT_CALLED]),
        (
            "success",
            {"finished_at": "2026-11-30T09:00:00.000Z"},
            [("finished_at", "is before started_at")],
        ),
        (
            "success",
            {"started_at": "2026-11-30T09:00:00.000Z", "finished_at": "2026-11-30T09:00:00.000Z"},
            [],
        ),
    ],
)
def test_how_it_ended(kind: str, changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert found(kind, **changes) == expected


@pytest.mark.parametrize(
    ("kind", "changes", "expected"),
    [
        ("success", {"metadata__execute": False}, [DRY]),
        ("call lost", {"metadata__execute": False}, [DRY]),
        (
            "success",
            {
                "metadata__execute": False,
                "call__attempted": False,
                "call__success": None,
                "call__result_nonempty": ...,
            },
            [],
        ),
        ("success", {"call__attempted": False}, [NOT_CALLED, SUCCESS]),
        ("success", {"call__success": None, "call__result_nonempty": ...}, [SUCCESS]),
        ("success", {"call__success": None}, [SUCCESS, UNKNOWN_SUCCESS]),
        ("success", {"call__success": False}, [FAILED_CALL]),
        ("success", {"call__success": False, "call__result_nonempty": False}, []),
        ("success", {"call__result_nonempty": False}, []),
        ("success", {"call__result_nonempty": ...}, []),
        ("call lost", {"call__success": True}, [SUCCESS]),
        ("call lost", {"call__success": False}, [SUCCESS]),
        ("call lost", {"call__result_nonempty": False}, [UNKNOWN_SUCCESS]),
        ("adapter failed", {"call__success": False}, [SUCCESS]),
        ("tool failed", {"call__result_nonempty": True}, [FAILED_CALL]),
    ],
)
def test_what_became_of_the_call(kind: str, changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert found(kind, **changes) == expected
