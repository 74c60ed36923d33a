"""The published summary: scores of the public records, and digests that tie the pair together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discovercall.contract.summary import score_records
from discovercall.contract.tasks import TaskSet
from discovercall.foundation.digests import sha256_hex, sha256_of_json
from discovercall.foundation.json_text import pretty

EXTRAS = "discovercall"
RUNS_DIGEST = "runs_sha256"
SELF_DIGEST = "summary_sha256"


def publication_summary(
    task_set: TaskSet,
    records: Sequence[Mapping[str, Any]],
    runs: bytes,
    *,
    generated_at: str,
    rehearsal: bool,
) -> dict[str, Any]:
    """Score public records and tie the summary to their file.

    Args:
        task_set: the task set of the records.
        records: the public records.
        runs: the bytes of the records file.
        generated_at: time of the summary.
        rehearsal: whether the run was one.

    Raises:
        InputError: the records can't be scored together.
    """
    summary = score_records(task_set.raw, records, task_set_sha256=task_set.sha256, generated_at=generated_at)
    summary[EXTRAS] = {**summary[EXTRAS], "rehearsal": rehearsal, RUNS_DIGEST: sha256_hex(runs)}
    summary[EXTRAS][SELF_DIGEST] = summary_digest(summary)
    return summary


def summary_digest(summary: Mapping[str, Any]) -> str:
    """SHA-256 of the compact JSON of a summary without its own digest."""
    extras = {name: value for name, value in summary[EXTRAS].items() if name != SELF_DIGEST}
    return sha256_of_json({**summary, EXTRAS: extras})


def summary_bytes(summary: Mapping[str, Any]) -> bytes:
    """A summary as the file holds it."""
    return pretty(summary).encode() + b"\n"
