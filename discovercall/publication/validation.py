"""Validation of public records and of official runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from discovercall.capability.revisions import MIXED
from discovercall.foundation.artifacts import UNREPORTED
from discovercall.foundation.digests import is_commit, is_sha256
from discovercall.foundation.ecmascript import is_integer
from discovercall.foundation.errors import InputError, RefusedError
from discovercall.foundation.models import check
from discovercall.publication.consistency import REVISIONS, contradictions
from discovercall.publication.policy import LEGACY_LANE, Policy, is_rehearsal_url, plain_name, read_policy
from discovercall.publication.public_record import PublicRecord
from discovercall.publication.secret_scan import SecretScanner

_KEYED_ONLY = ("durations_ms", "usage")
_NEED_REVISION = ("reference", "pinned-model")


def validate_public_records(records: Any, policy: Any) -> None:
    """Check records that are, or are about to become, public.

    Args:
        records: public records, plain objects.
        policy: the policy, a plain object.

    Raises:
        InputError: the policy is invalid.
        RefusedError: names the record, the field and what is wrong, for the first problem.
    """
    check_public_records(records, read_policy(policy))


def check_public_records(
    records: Any, policy: Policy, *, rehearsal: bool = False, scanner: SecretScanner | None = None
) -> None:
    """`validate_public_records` with a policy that is checked.

    Args:
        rehearsal: lets loopback URLs through.
        scanner: one that knows secrets; where none is given, key shapes are searched as the policy says.
    """
    if not isinstance(records, Sequence) or isinstance(records, (str, bytes)):
        raise RefusedError("must be a list of records", where="records")
    scanner = scanner or SecretScanner(shapes=policy.keyed)
    run_ids: dict[str, str] = {}
    counts: dict[str, int] = {}
    names = _Names(policy)
    for index, value in enumerate(records):
        where = f"records[{index}]"
        record = _parse(value, policy, names, where)
        for field, problem in _problems(record, policy, rehearsal=rehearsal):
            raise RefusedError(problem, where=f"{where}.{field}")
        if record.run_id in run_ids:
            raise RefusedError(f"is that of {run_ids[record.run_id]} too", where=f"{where}.run_id")
        run_ids[record.run_id] = where
        found = record.discovery
        if counts.setdefault(found.snapshot_sha256, found.result_count) != found.result_count:
            raise RefusedError(
                "differs from that of another record with the same snapshot",
                where=f"{where}.discovery.result_count",
            )
        scanner.check(value, where)


def _parse(value: Any, policy: Policy, names: _Names, where: str) -> PublicRecord:
    if isinstance(value, dict):
        names.check(value, where)
        for field in _KEYED_ONLY:
            if field in value and not policy.keyed:
                raise RefusedError("is public under a version 2 policy only", where=f"{where}.{field}")
    try:
        return check(PublicRecord, value, where)
    except InputError as error:
        raise RefusedError(error.what, where=error.where, fix=error.fix) from None


class _Names:
    """Finds forbidden field names; records have the same few names, so each is looked at once."""

    def __init__(self, policy: Policy) -> None:
        self._forbidden = policy.forbidden
        self._allowed: set[str] = set()

    def check(self, record: dict[str, Any], where: str) -> None:
        stack = [record]
        while stack:
            part = stack.pop()
            if not self._allowed.issuperset(part):
                for name in part:
                    if plain_name(name) in self._forbidden:
                        raise RefusedError(f"holds the forbidden field {name[:64]!r}", where=where)
                self._allowed.update(part)
            for value in part.values():
                if isinstance(value, dict):
                    stack.append(value)
                elif isinstance(value, list):
                    stack += [item for item in value if isinstance(item, dict)]


def _problems(record: PublicRecord, policy: Policy, *, rehearsal: bool) -> Iterator[tuple[str, str]]:
    if record.metadata.publication_policy != policy.policy_id:
        yield "metadata.publication_policy", f"does not name the policy {policy.policy_id!r}"
    if not policy.approves_url(record.metadata.api_base_url, rehearsal=rehearsal):
        yield "metadata.api_base_url", "is not approved by the policy"
    if record.selection.tool_id is not None and record.selection.tool_id not in policy.approved_tools:
        yield "selection.tool_id", "is not approved by the policy"
    yield from contradictions(record)


def is_rehearsal_run(records: Sequence[Mapping[str, Any]]) -> bool:
    """Whether records, private or public, are of a rehearsal.

    Raises:
        RefusedError: some are and some are not.
    """
    kinds = {_is_rehearsal(record) for record in records}
    if len(kinds) > 1:
        raise RefusedError(
            "mix a rehearsal with a run against a real API", where="records", fix="publish them apart"
        )
    return kinds == {True}


def _is_rehearsal(record: Any) -> bool:
    metadata = record.get("metadata") if isinstance(record, Mapping) else None
    url = metadata.get("api_base_url") if isinstance(metadata, Mapping) else None
    return is_rehearsal_url(url)


def validate_official_run(records: Any, *, task_set_sha256: str | None, min_trials_per_task: int = 3) -> None:
    """Check what an official run needs beyond valid public records.

    Args:
        records: public records that `validate_public_records` accepts.
        task_set_sha256: digest of the task file, 64 lower-case hex digits.
        min_trials_per_task: trials that every task must have at least, a whole number from 1.

    Raises:
        InputError: the digest or the minimum is invalid.
        RefusedError: names the record and what is missing.
    """
    if not is_sha256(task_set_sha256):
        raise InputError("must be 64 lower-case hex digits", where="task_set_sha256")
    if not is_integer(min_trials_per_task) or min_trials_per_task < 1:
        raise InputError("must be a whole number from 1", where="min_trials_per_task")
    if not isinstance(records, Sequence) or isinstance(records, (str, bytes)):
        raise RefusedError("must be a list of records", where="records")
    trials: dict[tuple[Any, Any], list[Any]] = {}
    for index, record in enumerate(records):
        where = f"records[{index}]"
        metadata = record.get("metadata") if isinstance(record, Mapping) else None
        if not isinstance(metadata, Mapping):
            raise RefusedError("has no metadata", where=where)
        for field, problem in _official_problems(record, metadata, str(task_set_sha256)):
            raise RefusedError(problem, where=f"{where}.{field}")
        trials.setdefault((record.get("model"), record.get("task_id")), []).append(record.get("trial"))
    for (model, task_id), seen in trials.items():
        if set(seen) != set(range(1, len(seen) + 1)):
            raise RefusedError(f"model {model!r} must have the trials 1..n of task {task_id!r}, each once")
        if len(seen) < min_trials_per_task:
            raise RefusedError(
                f"model {model!r} has {len(seen)} trials of task {task_id!r}, an official run needs"
                f" {min_trials_per_task}"
            )


def _official_problems(
    record: Mapping[str, Any], metadata: Mapping[str, Any], task_set_sha256: str
) -> Iterator[tuple[str, str]]:
    if metadata.get("task_set_sha256") != task_set_sha256:
        yield "metadata.task_set_sha256", f"is not the digest of the task file, {task_set_sha256}"
    if metadata.get("execute") is not True:
        yield "metadata.execute", "must be true: a dry run measures no calls"
    if record.get("benchmark_version") != "v2":
        return
    lane = metadata.get("lane")
    if lane in (None, LEGACY_LANE):
        yield "metadata.lane", "must name a lane"
    if lane in _NEED_REVISION and metadata.get("model_revision") in (None, UNREPORTED):
        yield "metadata.model_revision", f"must be known in the lane {lane}"
    if not is_commit(metadata.get("toolkit_revision")):
        yield "metadata.toolkit_revision", "must be a commit: 40 or 64 hex digits"
    if metadata.get("adapter_revision") in (None, UNREPORTED):
        yield "metadata.adapter_revision", "must be known"
    for name in REVISIONS:
        if str(metadata.get(name)).startswith(MIXED):
            yield f"metadata.{name}", "is mixed: the API or its catalog changed during the run"
    call = record.get("call")
    if isinstance(call, Mapping) and call.get("success") is True and "result_nonempty" not in call:
        yield "call.result_nonempty", "must be known for a successful call"
