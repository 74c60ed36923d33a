"""What a run is going to do: lanes, tasks, trials, limits, and the digest that names exactly this plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discovercall.contract.tasks import Task, TaskSet
from discovercall.foundation.digests import sha256_of_json

LANES = ("reference", "configured-model", "pinned-model", "current-model")
SANDBOX_BASE_URL = "sandbox://embedded"
GATEWAY_BASE_URL = "http://127.0.0.1/gateway"
"""Recorded for runs over one's own MCP servers: they leave this machine through a gateway in this process,
whose port differs each time. A loopback address, so such a run is a rehearsal."""
USUAL_ADAPTER_MEMORY_MIB = 2048


@dataclass(frozen=True, slots=True)
class Lane:
    """One way through the tasks: a model behind an adapter, and where its records go.

    Args:
        program_sha256: digest of the adapter's files, so that another program is another plan.
        environment: names of the variables that the adapter is given on request.
    """

    lane: str
    model: str
    model_revision: str
    adapter_revision: str
    command: tuple[str, ...]
    output: Path
    program_sha256: str = ""
    environment: tuple[str, ...] = ()

    def header(self) -> dict[str, Any]:
        """All that fixes what it measures as a plain object."""
        header = {
            "lane": self.lane,
            "model": self.model,
            "model_revision": self.model_revision,
            "adapter_revision": self.adapter_revision,
            "command": list(self.command),
            "program_sha256": self.program_sha256,
            "output": self.output.name,
        }
        return header | ({"environment": list(self.environment)} if self.environment else {})


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """One task in one trial; all lanes of a run go through it on one discovery."""

    task: Task
    trial: int


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Everything that fixes what a run does and what it may cost.

    Args:
        api_base_url: as recorded; `sandbox://embedded` for the embedded gateway.
        discovery_limit: results asked for per discovery, 1 to 100.
        execute: whether tools are called; without it a trial ends before its call.
        adapter_timeout_ms: time limit of one decision.
        max_billed_calls: calls that may be sent in the whole run, over all lanes.
        max_credits: what the calls may cost together, where the API reports prices; None for no limit.
        journal: the run's spend ledger.
        api_definition_sha256: digest of what stands behind the API where the address does not tell; None
            where it does.
        adapter_memory_mib: resident memory that a decision's processes may hold.
        adapter_user: the account that adapters run as; None for the harness's own.
    """

    task_set: TaskSet
    lanes: tuple[Lane, ...]
    trials: int
    discovery_limit: int
    execute: bool
    api_base_url: str
    toolkit_revision: str
    adapter_timeout_ms: int
    max_billed_calls: int
    max_credits: float | None
    journal: Path
    api_definition_sha256: str | None = None
    adapter_memory_mib: int = USUAL_ADAPTER_MEMORY_MIB
    adapter_user: str | None = None

    def planned_trials(self) -> Iterator[PlannedTrial]:
        """All trials in plan order: by task, then by trial."""
        for task in self.task_set.tasks:
            for trial in range(1, self.trials + 1):
                yield PlannedTrial(task, trial)

    @property
    def planned_records(self) -> int:
        """Records that the complete run has, over all lanes."""
        return len(self.task_set.tasks) * self.trials * len(self.lanes)

    def header(self) -> dict[str, Any]:
        """All but the spend limits as a plain object; runs with equal headers measure the same."""
        header: dict[str, Any] = {
            "task_set_sha256": self.task_set.sha256,
            "tasks": [task.id for task in self.task_set.tasks],
            "trials": self.trials,
            "discovery_limit": self.discovery_limit,
            "execute": self.execute,
            "api_base_url": self.api_base_url,
            "toolkit_revision": self.toolkit_revision,
            "adapter_timeout_ms": self.adapter_timeout_ms,
            "lanes": [lane.header() for lane in self.lanes],
        }
        # What is as usual is left out: older plans keep their digests.
        if self.api_definition_sha256 is not None:
            header["api_definition_sha256"] = self.api_definition_sha256
        if self.adapter_memory_mib != USUAL_ADAPTER_MEMORY_MIB:
            header["adapter_memory_mib"] = self.adapter_memory_mib
        if self.adapter_user is not None:
            header["adapter_user"] = self.adapter_user
        return header

    def limits(self) -> dict[str, Any]:
        """The spend limits as a plain object; a resumed run may have others."""
        return {"max_billed_calls": self.max_billed_calls, "max_credits": self.max_credits}

    @property
    def digest(self) -> str:
        """The plan digest: SHA-256 of the compact JSON of header and limits."""
        return sha256_of_json({"plan": self.header(), "limits": self.limits()})
