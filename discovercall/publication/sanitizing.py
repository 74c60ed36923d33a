"""From a private record to a public one: a projection onto the fields that may be public.

Nothing is deleted from a record; each public field is taken by name or computed from evidence. What is
not named here can't get out.
"""

from __future__ import annotations

import secrets as randomness
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from discovercall.capability.revisions import INVALID, MIXED, PENDING
from discovercall.contract.additions import DECISIONS, STAGES
from discovercall.contract.matching import constraint_accuracy, required_parameter_accuracy
from discovercall.contract.record import catalog_observation_sha256, is_reason_code
from discovercall.contract.scoring import check_identity
from discovercall.contract.tasks import validate_task_set
from discovercall.foundation.artifacts import UNREPORTED
from discovercall.foundation.digests import sha256_of_json
from discovercall.foundation.ecmascript import is_blank, utf16_length
from discovercall.foundation.errors import DiscovercallError, InputError, RefusedError
from discovercall.foundation.token_usage import USAGE_FIELDS, counts_of
from discovercall.publication.digesting import KEY_BYTES, Digests
from discovercall.publication.fields import TEXT_LIMIT
from discovercall.publication.policy import LEGACY_LANE, Policy, read_policy
from discovercall.publication.secret_scan import SecretScanner
from discovercall.publication.validation import check_public_records
from discovercall.statistics.bootstrap import round_half_up

UNCLASSIFIED = "unclassified"
_FROM_API = ("api_revision", "catalog_revision")


def sanitize_records(
    records: Sequence[Any],
    policy: Any,
    tasks: Sequence[Mapping[str, Any]],
    *,
    key: bytes | None = None,
    secrets: Iterable[str] = (),
    rehearsal: bool = False,
) -> list[dict[str, Any]]:
    """Turn private records into public ones.

    Args:
        records: private records of one run in plan order.
        policy: the publication policy, a plain object.
        tasks: the task set, plain objects.
        key: 32 bytes for the keyed digests of a version 2 policy; a random key when not given.
        secrets: known secret values that no public string may contain in any form.
        rehearsal: lets records of a loopback API through.

    Returns:
        The public records in the same order.

    Raises:
        InputError: the policy or the task set is invalid.
        RefusedError: a record can't be public; names the record and the field.
    """
    checked = read_policy(policy)
    return project_records(records, checked, tasks, key=key, secrets=secrets, rehearsal=rehearsal)


def project_records(
    records: Sequence[Any],
    policy: Policy,
    tasks: Sequence[Mapping[str, Any]],
    *,
    key: bytes | None = None,
    secrets: Iterable[str] = (),
    rehearsal: bool = False,
) -> list[dict[str, Any]]:
    """`sanitize_records` with a policy that is checked."""
    if not isinstance(records, Sequence) or isinstance(records, (str, bytes)):
        raise RefusedError("must be a list of records", where="records")
    validate_task_set(tasks)
    by_id = {task["id"]: task for task in tasks}
    for index, record in enumerate(records):
        _check_private(record, by_id, policy, f"records[{index}]", rehearsal=rehearsal)
    observed = _observation(records)
    scanner = SecretScanner(secrets, shapes=policy.keyed)
    projection = _Projection(policy, _digests(policy, key), observed, scanner)
    public = [projection.record(record, by_id[record["task_id"]]) for record in records]
    check_public_records(public, policy, rehearsal=rehearsal, scanner=scanner)
    return public


def _digests(policy: Policy, key: bytes | None) -> Digests:
    if not policy.keyed:
        return Digests(None)
    key = randomness.token_bytes(KEY_BYTES) if key is None else key
    if len(key) != KEY_BYTES:
        raise InputError(f"must have {KEY_BYTES} bytes", where="publication key")
    return Digests(key)


def _part(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = record.get(name)
    return value if isinstance(value, Mapping) else {}


def _listed(record: Mapping[str, Any], part: str, name: str) -> list[Any]:
    value = _part(record, part).get(name)
    return value if isinstance(value, list) else []


def _check_private(
    record: Any, tasks: Mapping[str, Any], policy: Policy, where: str, *, rehearsal: bool
) -> None:
    try:
        check_identity(record)
    except DiscovercallError as error:
        raise RefusedError(error.what, where=where) from None
    task_id = record.get("task_id")
    if not isinstance(task_id, str) or task_id not in tasks:
        raise RefusedError("names no task of the task set", where=f"{where}.task_id")
    if not policy.approves_url(_part(record, "metadata").get("api_base_url"), rehearsal=rehearsal):
        raise RefusedError(
            "is not approved by the policy",
            where=f"{where}.metadata.api_base_url",
            fix="add it to approved_api_base_urls if what that API shows may be public",
        )
    tool_id = _part(record, "selection").get("tool_id")
    if tool_id is not None and not isinstance(tool_id, str):
        raise RefusedError("must be a string or null", where=f"{where}.selection.tool_id")


def _observation(records: Sequence[Mapping[str, Any]]) -> str:
    """Digest of what discovery listed in all records, which each record's own digest must equal."""
    observed = catalog_observation_sha256(
        [
            {
                "task_id": record["task_id"],
                "trial": record["trial"],
                "discovery": {"result_tool_ids": _listed(record, "discovery", "result_tool_ids")},
            }
            for record in records
        ]
    )
    for index, record in enumerate(records):
        if _part(record, "metadata").get("catalog_observation_sha256", PENDING) not in (PENDING, observed):
            raise RefusedError(
                "is not the digest of what these records observed",
                where=f"records[{index}].metadata.catalog_observation_sha256",
                fix="give all records of the run, in the order in which they were written",
            )
    return observed


class _Projection:
    """Projects records of one run."""

    def __init__(self, policy: Policy, digests: Digests, observed: str, scanner: SecretScanner) -> None:
        self.policy = policy
        self.digests = digests
        self.observed = observed
        self.scanner = scanner

    def record(self, record: Mapping[str, Any], task: Mapping[str, Any]) -> dict[str, Any]:
        """The public record; what is wrong with its values is for the validation to say."""
        tool_id = _part(record, "selection").get("tool_id")
        tool_id = None if tool_id is None or is_blank(tool_id) else tool_id
        found = _listed(record, "discovery", "result_tool_ids")
        returned = _listed(record, "inspection", "returned_tool_ids")
        public: dict[str, Any] = {
            "schema_version": record.get("schema_version"),
            "benchmark_version": record.get("benchmark_version"),
            "run_id": record.get("run_id"),
            "model": record["model"],
            "metadata": self._metadata(_part(record, "metadata")),
            "task_id": record["task_id"],
            "trial": int(record["trial"]),
            "started_at": record.get("started_at"),
            "status": record.get("status"),
            "discovery": {
                "result_count": len(found),
                "snapshot_sha256": sha256_of_json(found),
                "selection_grounded": tool_id is not None and tool_id in found,
            },
            "selection": self._selection(tool_id),
            "inspection": {"selection_grounded": tool_id is not None and tool_id in returned},
            "parameterization": _parameterization(record, task),
            "call": _call(_part(record, "call")),
        }
        error = record.get("error")
        if error is not None:
            public["error"] = _error(error)
        public["finished_at"] = record.get("finished_at")
        public["source_record_sha256"] = self.digests.record(record)
        if self.policy.keyed:
            public |= _measurements(record)
        return public

    def _selection(self, tool_id: str | None) -> dict[str, Any]:
        if tool_id is None or tool_id in self.policy.approved_tools:
            return {"tool_id": tool_id}
        return {"tool_id": None, "tool_id_sha256": self.digests.tool_id(tool_id)}

    def _metadata(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        revision = _or_unreported(metadata.get("model_revision"))
        return {
            "lane": self._lane(metadata.get("lane"), revision),
            "model_revision": revision,
            "adapter_revision": _or_unreported(metadata.get("adapter_revision")),
            "toolkit_revision": _or_unreported(metadata.get("toolkit_revision")),
            "task_set_sha256": _or_unreported(metadata.get("task_set_sha256")),
            "api_base_url": metadata.get("api_base_url"),
            **{name: self._from_api(metadata.get(name)) for name in _FROM_API},
            "catalog_observation_sha256": self.observed,
            "runtime": _runtime(_part(metadata, "runtime")),
            "discovery_limit": metadata.get("discovery_limit"),
            "execute": metadata.get("execute"),
            "publication_policy": self.policy.policy_id,
        }

    def _lane(self, lane: Any, revision: Any) -> Any:
        if lane is None:
            return LEGACY_LANE
        if not isinstance(lane, str) or (lane == "pinned-model" and revision not in (UNREPORTED, PENDING)):
            return lane
        return self.policy.lane_rewrites.get(lane, lane)

    def _from_api(self, value: Any) -> Any:
        """A revision that the API chose: nothing it may say can make the run unpublishable."""
        value = _or_unreported(value)
        if isinstance(value, str) and value.startswith(MIXED) and utf16_length(value) > TEXT_LIMIT:
            return f"{MIXED}many"
        return INVALID if self.scanner.finds(value) else value


def _or_unreported(value: Any) -> Any:
    return UNREPORTED if value is None else value


def _runtime(runtime: Mapping[str, Any]) -> dict[str, Any]:
    interpreter = "python" if runtime.get("python") is not None else "node"
    return {name: _or_unreported(runtime.get(name)) for name in (interpreter, "platform", "arch")}


def _parameterization(record: Mapping[str, Any], task: Mapping[str, Any]) -> dict[str, Any]:
    """Accuracies from the evidence; 0 where the evidence is missing."""
    evident = "parameters" in record
    parameters = record.get("parameters")
    required = _part(record, "inspection").get("required_parameters")
    required_evident = evident and isinstance(required, list)
    return {
        "required_parameter_accuracy": (
            round_half_up(required_parameter_accuracy(required, parameters)) if required_evident else 0
        ),
        "constraint_accuracy": (
            round_half_up(constraint_accuracy(task["constraints"], parameters)) if evident else 0
        ),
    }


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    public = {"attempted": call.get("attempted"), "success": call.get("success")}
    nonempty = call.get("result_nonempty")
    if nonempty is None:
        nonempty = call.get("result_valid")
    return public if nonempty is None else {**public, "result_nonempty": nonempty}


def _error(error: Any) -> dict[str, Any]:
    fields = error if isinstance(error, Mapping) else {}
    code = fields.get("reason_code")
    return {
        "stage": fields.get("stage"),
        "reason_code": code if is_reason_code(code) else UNCLASSIFIED,
    }


def _measurements(record: Mapping[str, Any]) -> dict[str, Any]:
    durations = counts_of(_part(record, "durations_ms"), STAGES)
    usage = {stage: counts_of(_part(_part(record, "usage"), stage), USAGE_FIELDS) for stage in DECISIONS}
    usage = {stage: counts for stage, counts in usage.items() if counts}
    return {**({"durations_ms": durations} if durations else {}), **({"usage": usage} if usage else {})}
