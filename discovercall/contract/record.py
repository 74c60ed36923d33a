"""The private record of one trial in one lane."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from discovercall.adapter.isolation import Isolation
from discovercall.capability.revisions import PENDING
from discovercall.contract.plan import Lane, PlannedTrial, RunPlan
from discovercall.foundation.digests import sha256_of_json
from discovercall.foundation.ecmascript import is_safe

ANSWERED = "answered"
AUTO = "=auto"
MAX_MESSAGE = 500
_REASON_CODE = re.compile(r"[a-z][a-z0-9_]{1,63}\Z")


def is_reason_code(value: object) -> bool:
    """True for a reason code: a lower-case letter, then 1 to 63 of `a-z0-9_`."""
    return isinstance(value, str) and bool(_REASON_CODE.match(value))


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a trial ended at a gate: the stage, the reason code if there is one, a message without secrets."""

    stage: str
    reason_code: str | None
    message: str

    def to_json(self) -> dict[str, Any]:
        """The record's `error`."""
        return {
            "stage": self.stage,
            "reason_code": self.reason_code if is_reason_code(self.reason_code) else None,
            "message": self.message[:MAX_MESSAGE],
        }


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a trial has learnt so far; a failed trial keeps all of it.

    Args:
        required_parameters: names; a nested tuple is a one-of group.
        success: None until the call was answered; so is `result_nonempty`.
        usage: token counts per adapter stage, where the adapter reported them.
        notes: what the adapter noted, per stage, where it did.
        durations_ms: wall time per stage, for the stages that ran.
    """

    result_tool_ids: tuple[str, ...] = ()
    tool_id: str | None = None
    returned_tool_ids: tuple[str, ...] = ()
    required_parameters: tuple[str | tuple[str, ...], ...] = ()
    parameters: Mapping[str, Any] | None = None
    attempted: bool = False
    success: bool | None = None
    result_nonempty: bool | None = None
    usage: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    notes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    durations_ms: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Identity:
    """Which trial of which lane a record is of.

    Args:
        pair_id: names the one discovery that several lanes share; None in a run of one lane.
    """

    plan: RunPlan
    lane: Lane
    planned: PlannedTrial
    run_id: str
    started_at: str
    runtime: Mapping[str, str]
    isolation: Isolation
    pair_id: str | None = None


def build_record(
    identity: Identity, evidence: Evidence, failure: Failure | None, finished_at: str
) -> dict[str, Any]:
    """The private record as a plain object, its three run-wide fields still pending."""
    call: dict[str, Any] = {"attempted": evidence.attempted, "success": evidence.success}
    if evidence.result_nonempty is not None:
        call["result_nonempty"] = evidence.result_nonempty
    record: dict[str, Any] = {
        "schema_version": 1,
        "benchmark_version": "v2",
        "run_id": identity.run_id,
        "model": identity.lane.model,
        "metadata": _metadata(identity),
        "task_id": identity.planned.task.id,
        "trial": identity.planned.trial,
        "started_at": identity.started_at,
        "status": "completed" if failure is None else "failed",
        "discovery": {"result_tool_ids": list(evidence.result_tool_ids)},
        "selection": {"tool_id": evidence.tool_id},
        "inspection": {
            "returned_tool_ids": list(evidence.returned_tool_ids),
            "required_parameters": [
                item if isinstance(item, str) else list(item) for item in evidence.required_parameters
            ],
        },
        "parameters": evidence.parameters,
        "call": call,
    }
    if failure is not None:
        record["error"] = failure.to_json()
    record["finished_at"] = finished_at
    if identity.pair_id is not None:
        lanes = [{"lane": lane.lane, "model": lane.model} for lane in identity.plan.lanes]
        record["pairing"] = {"id": identity.pair_id, "lanes": lanes}
    record["isolation"] = identity.isolation
    record["durations_ms"] = dict(evidence.durations_ms)
    if evidence.usage:
        record["usage"] = {stage: dict(counts) for stage, counts in evidence.usage.items()}
    if evidence.notes:
        record["adapter_notes"] = {stage: dict(notes) for stage, notes in evidence.notes.items()}
    return record


OUTCOME_UNKNOWN = Failure("call", "outcome_unknown", "the run broke off after the call was sent")


def recovered_record(draft: Mapping[str, Any], outcome: Mapping[str, Any] | None) -> dict[str, Any]:
    """The record of a trial that broke off between its call and its end.

    Args:
        draft: its record as it stood when the call was sent.
        outcome: what the journal says of the call; None where it says nothing, and nobody knows.
    """
    failure: dict[str, Any] | None = None
    call = dict(draft["call"])
    if outcome is None:
        failure = OUTCOME_UNKNOWN.to_json()
    elif outcome["outcome"] == ANSWERED:
        call |= {"success": outcome["success"], "result_nonempty": outcome["result_nonempty"]}
    else:
        failure = Failure("api", outcome["outcome"], "API request failed").to_json()
    record = {**draft, "status": "completed" if failure is None else "failed", "call": call}
    finished_at = record.pop("finished_at")
    extras: dict[str, Any] = {
        name: record.pop(name)
        for name in ("pairing", "isolation", "durations_ms", "usage", "adapter_notes")
        if name in record
    }
    if failure is not None:
        record["error"] = failure
    return {**record, "finished_at": finished_at, **extras}


def _metadata(identity: Identity) -> dict[str, Any]:
    plan, lane = identity.plan, identity.lane
    return {
        "lane": lane.lane,
        "model_revision": lane.model_revision,
        "adapter_revision": lane.adapter_revision,
        "toolkit_revision": plan.toolkit_revision,
        "task_set_sha256": plan.task_set.sha256,
        "api_base_url": plan.api_base_url,
        "api_revision": PENDING,
        "catalog_revision": PENDING,
        "catalog_observation_sha256": PENDING,
        "runtime": dict(identity.runtime),
        "discovery_limit": plan.discovery_limit,
        "execute": plan.execute,
    }


def catalog_observation_sha256(records: Sequence[Mapping[str, Any]]) -> str:
    """Digest of what discovery listed, over records in plan order."""
    return sha256_of_json(
        [
            {
                "task_id": record["task_id"],
                "trial": record["trial"],
                "result_tool_ids": record["discovery"]["result_tool_ids"],
            }
            for record in records
        ]
    )


def settle(
    records: Sequence[Mapping[str, Any]], *, api_revision: str, catalog_revision: str
) -> list[dict[str, Any]]:
    """The records of a finished lane with the three fields filled that were pending until the run ended."""
    final = {
        "api_revision": api_revision,
        "catalog_revision": catalog_revision,
        "catalog_observation_sha256": catalog_observation_sha256(records),
    }
    if records:
        final["adapter_revision"] = settled_adapter_revision(records)
    return [{**record, "metadata": {**record["metadata"], **final}} for record in records]


def settled_adapter_revision(records: Sequence[Mapping[str, Any]]) -> str:
    """The adapter revision with what the adapter found out on the way.

    A revision that ends in `NAME=auto` names in its place what the adapter noted under NAME: the one value,
    or `mixed:a,b`; nothing noted leaves it as it is.
    """
    revision = str(records[0]["metadata"]["adapter_revision"])
    head, _, name = revision.removesuffix(AUTO).rpartition("/")
    if not revision.endswith(AUTO) or not name:
        return revision
    notes = (notes for record in records for notes in record.get("adapter_notes", {}).values())
    found = sorted({note[name] for note in notes if name in note})
    if not found:
        return revision
    settled = f"{head}/{name}={found[0] if len(found) == 1 else 'mixed:' + ','.join(found)}"
    return settled if is_safe(settled) else revision
