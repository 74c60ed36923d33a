"""From private records to a verified pair in place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from discovercall.contract.tasks import TaskSet
from discovercall.foundation.errors import DiscovercallError, InputError, RefusedError
from discovercall.foundation.jsonl import dump_lines
from discovercall.publication.pair import Pair, check_rehearsal_name, check_version
from discovercall.publication.policy import Policy
from discovercall.publication.sanitizing import project_records
from discovercall.publication.summary import publication_summary, summary_bytes
from discovercall.publication.transaction import write_pair
from discovercall.publication.validation import is_rehearsal_run, validate_official_run
from discovercall.publication.verification import MIN_TRIALS, PairFiles, VerifiedPair, verify_pair


def prepare_pair(
    pair: Pair,
    records: Sequence[dict[str, Any]],
    policy: Policy,
    task_set: TaskSet,
    *,
    key: bytes | None,
    secrets: Iterable[str],
    generated_at: str,
) -> PairFiles:
    """Make the two files of a pair from private records; nothing is written.

    Args:
        pair: the pair to be; its stem must fit the task set and say whether it is a rehearsal.
        records: the private records of one run, in plan order.
        policy: what may be public.
        task_set: the task set of the run.
        key: for the keyed digests of a version 2 policy.
        secrets: values that nothing published may contain.
        generated_at: time of the summary; of its newest record where that is later, as after a clock was set
            back.

    Raises:
        RefusedError: the records can't be published; says why.
    """
    if not records:
        raise RefusedError("there is no record to publish")
    check_version(pair, task_set.path)
    rehearsal = is_rehearsal_run(records)
    check_rehearsal_name(pair, rehearsal=rehearsal)
    public = project_records(records, policy, task_set.raw, key=key, secrets=secrets, rehearsal=rehearsal)
    validate_official_run(public, task_set_sha256=task_set.sha256, min_trials_per_task=MIN_TRIALS)
    runs = dump_lines(public)
    made_at = max(generated_at, *(record["finished_at"] for record in public))
    try:
        summary = publication_summary(task_set, public, runs, generated_at=made_at, rehearsal=rehearsal)
    except InputError as error:
        raise RefusedError(error.what, where=error.where, fix=error.fix) from None
    return PairFiles(pair, runs, summary_bytes(summary))


def publish(files: PairFiles, policy: Policy, task_set: TaskSet) -> VerifiedPair:
    """Verify a prepared pair as anybody would, and put it in place.

    Raises:
        RefusedError: the pair does not verify; nothing was written.
        DiscovercallError: a file can't be written; the previous pair is in place.
    """
    verified = verify_pair(files, policy, task_set)
    if verified.differences:
        raise RefusedError(f"the summary does not verify: {verified.differences[0]}")
    try:
        write_pair(files.pair, files.runs, files.summary)
    except OSError as error:
        raise DiscovercallError(
            f"cannot be written ({error.strerror or error})",
            where=error.filename or str(files.pair.folder),
            fix="the previous pair, if there was one, is in place",
        ) from None
    return verified
