"""Checks of a repository's own files: task sets, policy, fixture, and every published pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discovercall.contract.summary import score_records
from discovercall.contract.tasks import TaskSet, load_task_set
from discovercall.contract.validation import check_task_files
from discovercall.foundation.errors import DiscovercallError, RefusedError
from discovercall.foundation.jsonl import read_objects
from discovercall.publication.pair import Pair, pairs_in
from discovercall.publication.policy import Policy, load_policy
from discovercall.publication.transaction import interrupted, journal_of, locked
from discovercall.publication.verification import read_pair, verify_pair

POLICY_FILE = "publication-policy.json"
FIXTURE = ("tasks", "fixtures", "sample.runs.jsonl")


@dataclass(slots=True)
class Findings:
    """What was checked, an entry a file, and what was refused, in the order of checking.

    Args:
        checked: entries with `kind` and `file`, and what else there is to say.
        refused: lines, each with the file and the reason.
        errors: the errors behind them; a summary that differs counts as one.
    """

    checked: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    errors: list[DiscovercallError] = field(default_factory=list)

    def add(self, check: Callable[..., list[dict[str, Any]]], *arguments: Any) -> None:
        """Run a check and keep its entries, or the reason why there are none."""
        try:
            self.checked += check(*arguments)
        except DifferingSummary as error:
            self.refused += error.lines
            self.errors.append(error)
        except DiscovercallError as error:
            self.refused.append(str(error))
            self.errors.append(error)


class DifferingSummary(RefusedError):
    """A summary that is not that of its records; `lines` has every field."""

    def __init__(self, file: str, differences: tuple[str, ...]) -> None:
        self.lines = [f"{file}: {line}" for line in differences]
        super().__init__(differences[0], where=file)


def check_repository(root: Path) -> Findings:
    """Check the files of a repository, or of an installation's data folder, which has no results."""
    findings = Findings()
    findings.add(_check_task_sets, root / "tasks")
    task_sets = list(_task_sets(root / "tasks"))
    policy: list[Policy] = []
    findings.add(check_policy, root / POLICY_FILE, policy)
    findings.add(_check_fixture, root.joinpath(*FIXTURE), task_sets)
    results = root / "results"
    if results.is_dir():
        pairs: list[Pair] = []
        findings.add(_check_complete, results, pairs)
        for pair in pairs if policy else ():
            findings.add(_check_pair, pair, policy[0], task_sets)
    return findings


def check_policy(path: Path, found: list[Policy]) -> list[dict[str, Any]]:
    """Check a policy file and keep the policy."""
    policy = load_policy(path)
    found.append(policy)
    return [
        {
            "kind": "policy",
            "file": str(path),
            "schema_version": policy.version,
            "policy_id": policy.policy_id,
            "approved_tools": len(policy.approved_tools),
        }
    ]


def check_pair(pair: Pair, policy: Policy, task_set: TaskSet) -> list[dict[str, Any]]:
    """Verify a pair; the entry that says so.

    Raises:
        DifferingSummary: the summary is not that of the records.
        DiscovercallError: the pair can't be read or is refused.
    """
    verified = verify_pair(read_pair(pair), policy, task_set)
    if verified.differences:
        raise DifferingSummary(str(pair.summary), verified.differences)
    return [
        {
            "kind": "rehearsal pair" if verified.rehearsal else "official pair",
            "file": str(pair.runs),
            "summary": str(pair.summary),
            "records": len(verified.records),
            "tasks": str(task_set.path),
        }
    ]


def _check_task_sets(folder: Path) -> list[dict[str, Any]]:
    return [{"kind": "task set", **entry} for entry in check_task_files(folder)]


def _task_sets(folder: Path) -> Iterator[TaskSet]:
    for path in sorted(folder.glob("*.jsonl")):
        try:
            yield load_task_set(path)
        except DiscovercallError:
            continue  # refused by name already


def _check_complete(folder: Path, pairs: list[Pair]) -> list[dict[str, Any]]:
    with locked(folder, shared=True):
        for pair in interrupted(folder):
            raise RefusedError(
                "a publication was cut off here",
                where=str(journal_of(pair)),
                fix="finish it with `discovercall validate --repair`, or publish the pair again",
            )
        pairs += pairs_in(folder)
    return [{"kind": "results", "file": str(folder), "pairs": len(pairs)}]


def _check_pair(pair: Pair, policy: Policy, task_sets: list[TaskSet]) -> list[dict[str, Any]]:
    for task_set in task_sets:
        if task_set.path.name == f"v{pair.version}.jsonl":
            return check_pair(pair, policy, task_set)
    raise RefusedError(f"there is no valid task set v{pair.version}", where=str(pair.runs))


def _check_fixture(path: Path, task_sets: list[TaskSet]) -> list[dict[str, Any]]:
    """Score the synthetic records of every method; they measure the scorer and nothing else."""
    by_digest = {task_set.sha256: task_set for task_set in task_sets}
    groups: dict[tuple[Any, str], list[dict[str, Any]]] = {}
    for number, record in enumerate(read_objects(path), 1):
        if record.get("synthetic") is not True:
            raise RefusedError("does not say that it is synthetic", where=f"{path}: record {number}")
        metadata = record.get("metadata")
        digest = metadata.get("task_set_sha256") if isinstance(metadata, dict) else None
        groups.setdefault((record.get("benchmark_version"), str(digest)), []).append(record)
    entries = []
    for (_, digest), records in groups.items():
        if digest not in by_digest:
            raise RefusedError(f"names no valid task set ({digest[:64]})", where=str(path))
        task_set = by_digest[digest]
        summary = score_records(task_set.raw, records, task_set_sha256=task_set.sha256)
        entries.append(
            {
                "kind": "synthetic fixture",
                "file": str(path),
                "method": summary["methodology"],
                "records": len(records),
                "tasks": str(task_set.path),
            }
        )
    return entries
