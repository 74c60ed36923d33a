"""Private runs made with the contract's own functions, a record for each kind of outcome, and their pairs."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from discovercall.contract.plan import Lane, PlannedTrial, RunPlan
from discovercall.contract.record import Evidence, Failure, Identity, build_record, settle
from discovercall.contract.tasks import TaskSet, load_task_set
from discovercall.publication.pair import Pair
from discovercall.publication.policy import Policy, read_policy
from discovercall.publication.publishing import prepare_pair
from discovercall.publication.verification import PairFiles

ROOT = Path(__file__).resolve().parents[2]
REAL_URL = "https://qveris.ai/api/v1"
SANDBOX_URL = "sandbox://embedded"
LOOPBACK_URL = "http://127.0.0.1:8765/api/v1"
COMMIT = "c0ffee" + "0" * 34
KEY = bytes(range(32))
GENERATED_AT = "2026-11-30T12:00:00.000Z"
APPROVED = "visualcrossing.timeline.retrieve.v1"
PRIVATE_TOOL = "hidden.pricing.lookup.v7"
POLICY_V2: dict[str, Any] = json.loads((ROOT / "publication-policy.json").read_bytes())
POLICY_V1: dict[str, Any] = {
    name: value for name, value in POLICY_V2.items() if name not in ("value_scan", "schema_version")
} | {
    "schema_version": 1,
    "unapproved_selected_tool_handling": "hash",
    "approved_api_base_urls": [REAL_URL],
}
FIELDS = (
    "schema_version, benchmark_version, run_id, model, metadata, task_id, trial, started_at, status, "
    "discovery, selection, inspection, parameterization, call, error, finished_at, source_record_sha256, "
    "durations_ms, usage"
)
"""Of a public record, as a message lists them."""


def policy_json(version: int, **changes: Any) -> dict[str, Any]:
    """The repository's policy, or its like of version 1, with changes."""
    return copy.deepcopy(POLICY_V1 if version == 1 else POLICY_V2) | changes


def policy(version: int, **changes: Any) -> Policy:
    return read_policy(policy_json(version, **changes))


def task_set() -> TaskSet:
    return load_task_set(ROOT / "tasks" / "v4.jsonl")


def success(tool_id: str = APPROVED, others: Sequence[str] = (PRIVATE_TOOL, "other.tool")) -> Evidence:
    """Evidence of a strict success, but for the task's constraints."""
    return Evidence(
        result_tool_ids=(tool_id, *others),
        tool_id=tool_id,
        returned_tool_ids=(tool_id,),
        required_parameters=("city",),
        parameters={"city": "London"},
        attempted=True,
        success=True,
        result_nonempty=True,
        usage={"select": {"prompt_tokens": 900, "completion_tokens": 12}},
        durations_ms={"discover": 210, "select": 1400, "inspect": 180, "parameterize": 900, "call": 350},
    )


def _failed(at: str, evidence: Evidence, reason: str | None) -> tuple[Evidence, Failure]:
    return evidence, Failure(at, reason, "what the run said of it")


def outcomes() -> dict[str, tuple[Evidence, Failure | None]]:
    """A kind of outcome each: what was learnt, and the failure if there was one."""
    whole = success()
    selected = Evidence(
        result_tool_ids=whole.result_tool_ids, tool_id=APPROVED, durations_ms={"discover": 1, "select": 2}
    )
    inspected = replace(selected, returned_tool_ids=(APPROVED,), required_parameters=("city", ("a", "b")))
    sent = replace(whole, success=None, result_nonempty=None)
    return {
        "success": (whole, None),
        "success of an unapproved tool": (success(PRIVATE_TOOL, (APPROVED,)), None),
        "tool failed": (replace(whole, success=False, result_nonempty=False), None),
        "empty result": (replace(whole, result_nonempty=False), None),
        "wrong parameters": (replace(whole, parameters={"city": "Rome"}), None),
        "nothing found": _failed("discover", Evidence(durations_ms={"discover": 3}), "missing_search_id"),
        "nothing selected": _failed(
            "select", Evidence(result_tool_ids=whole.result_tool_ids), "missing_tool_id"
        ),
        "invented tool": _failed("select", replace(selected, tool_id="made.up"), "ungrounded_tool_id"),
        "not returned": _failed("inspect", selected, "selected_tool_not_returned"),
        "no strict schema": _failed("parameterize", inspected, "unsupported_parameter_schema"),
        "invalid values": _failed(
            "parameterize", replace(inspected, parameters={"city": ""}), "invalid_parameter_values"
        ),
        "adapter failed": _failed("adapter", inspected, "timeout"),
        "call lost": _failed("api", sent, "network_failure"),
        "call refused": _failed("api", sent, "http_503"),
        "something else": _failed("unknown", selected, None),
    }


def plan(**changes: Any) -> RunPlan:
    """A plan of one lane with three trials a task."""
    settings: dict[str, Any] = {
        "task_set": task_set(),
        "lanes": (
            Lane("configured-model", "model-a", "unreported", f"{COMMIT}/codex", ("codex",), Path("a.jsonl")),
        ),
        "trials": 3,
        "discovery_limit": 10,
        "execute": True,
        "api_base_url": REAL_URL,
        "toolkit_revision": COMMIT,
        "adapter_timeout_ms": 120_000,
        "max_billed_calls": 54,
        "max_credits": None,
        "journal": Path("a.journal.jsonl"),
    }
    return RunPlan(**settings | changes)


def _record(run: RunPlan, planned: PlannedTrial, number: int, outcome: Any) -> dict[str, Any]:
    evidence, failure = outcome
    identity = Identity(
        plan=run,
        lane=run.lanes[0],
        planned=planned,
        run_id=f"run-{number:04d}",
        started_at=f"2026-11-30T10:{number // 60:02d}:{number % 60:02d}.000Z",
        runtime={"python": "3.11.7", "platform": "linux", "arch": "x86_64"},
        isolation="same-user",
    )
    finished = f"2026-11-30T11:{number // 60:02d}:{number % 60:02d}.500Z"
    return build_record(identity, evidence, failure, finished)


def _answering(evidence: Evidence, planned: PlannedTrial) -> Evidence:
    """The evidence with what its task asks for in place of London."""
    if evidence.parameters != {"city": "London"}:
        return evidence
    asked = {c["aliases"][0]: c["value"] for c in planned.task.raw["constraints"]}
    return replace(evidence, parameters=asked, required_parameters=tuple(asked))


def private_run(
    kinds: Iterator[tuple[Evidence, Failure | None]] | None = None,
    *,
    api_revision: str = "2026-11-01.2",
    catalog_revision: str = "unreported",
    **changes: Any,
) -> list[dict[str, Any]]:
    """The private records of a whole run; every kind of outcome comes up in turn."""
    run = plan(**changes)
    every = list(outcomes().values())
    records = []
    for number, planned in enumerate(run.planned_trials()):
        evidence, failure = next(kinds) if kinds is not None else every[number % len(every)]
        records.append(_record(run, planned, number, (_answering(evidence, planned), failure)))
    return settle(records, api_revision=api_revision, catalog_revision=catalog_revision)


def prepared(
    folder: Path,
    version: int = 2,
    records: list[dict[str, Any]] | None = None,
    stem: str = "2026-11-30-model-a-configured-v4",
    tasks: TaskSet | None = None,
    **options: Any,
) -> PairFiles:
    """A pair made from a private run, not written."""
    tasks = task_set() if tasks is None else tasks
    settings: dict[str, Any] = {"key": KEY, "secrets": (), "generated_at": GENERATED_AT}
    return prepare_pair(
        Pair(folder, stem),
        private_run(task_set=tasks) if records is None else records,
        policy(version),
        tasks,
        **settings | options,
    )


def one_task() -> TaskSet:
    """The first task of the set, for small pairs."""
    whole = task_set()
    return replace(whole, tasks=whole.tasks[:1])


def small_pair(folder: Path, version: int, first: int = 0, **changes: Any) -> PairFiles:
    """An official pair of one task and three trials, with as many kinds of outcome from the first on."""
    kinds = list(outcomes().values())[first : first + 3]
    records = private_run(iter(kinds), task_set=one_task(), **changes)
    return prepared(folder, version, records, tasks=one_task())
