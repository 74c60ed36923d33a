"""What a run says: its plan before the first request, progress on a terminal, the outcome."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from discovercall.adapter.isolation import isolation_level
from discovercall.contract.execution import RunResult
from discovercall.contract.options import PreparedRun
from discovercall.contract.plan import RunPlan
from discovercall.contract.runner import RunObserver


def announce(prepared: PreparedRun) -> None:
    """Say on stderr what will run, what it may cost at most, and every warning."""
    plan = prepared.plan
    for warning in prepared.warnings:
        print(f"Warning: {warning}", file=sys.stderr)
    if isolation_level(prepared.adapter_user) == "none":
        print(
            "Warning: nothing keeps adapters from the keys of this process, which is root; run it as an"
            " unprivileged user, or give --adapter-user",
            file=sys.stderr,
        )
    names = ", ".join(f"{lane.model} ({lane.lane})" for lane in plan.lanes)
    print(
        f"{names}: {len(plan.task_set.tasks)} tasks × {plan.trials} trials against {plan.api_base_url}",
        file=sys.stderr,
    )
    bound = (
        f"at most {plan.max_billed_calls} billed calls" if plan.execute else "no billed call (no --execute)"
    )
    print(f"Limit: {bound}", file=sys.stderr)


class _Silent:
    def trial_finished(self, record: Mapping[str, Any]) -> None:
        """Nobody watches."""

    def call_sent(self, billed_calls: int) -> None:
        """Nobody watches."""


class _Bar:
    def __init__(self, progress: Progress, plan: RunPlan) -> None:
        self._progress = progress
        self._failures: Counter[str] = Counter()
        self._billed = 0
        self._plan = plan
        self._task = progress.add_task("trials", total=plan.planned_records, state=self._state())

    def _state(self) -> str:
        parts = []
        if self._plan.execute:
            parts.append(f"billed {self._billed}/{self._plan.max_billed_calls}")
        parts += [f"{stage} {count} failed" for stage, count in self._failures.items()]
        return " · ".join(parts)

    def trial_finished(self, record: Mapping[str, Any]) -> None:
        if "error" in record:
            self._failures[record["error"]["stage"]] += 1
        self._progress.update(self._task, advance=1, state=self._state())

    def call_sent(self, billed_calls: int) -> None:
        self._billed = billed_calls
        self._progress.update(self._task, state=self._state())


@contextlib.contextmanager
def observer_for(plan: RunPlan) -> Iterator[RunObserver]:
    """A progress bar on stderr where that is a terminal, else silence."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Silent()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[state]}"),
    )
    with Progress(*columns, console=console) as progress:
        yield _Bar(progress, plan)


def conclude(prepared: PreparedRun, result: RunResult) -> None:
    """Say where the records are, what was billed, and how to go on after an early end."""
    plan, requests = prepared.plan, result.requests
    for lane in plan.lanes:
        print(f"Wrote {lane.output}")
    sent = requests.searches + requests.inspects + requests.call_requests
    credits = f" ({result.credits:g} credits as far as the API told)" if result.credits else ""
    by_kind = f"{requests.searches} discover, {requests.inspects} inspect, {requests.call_requests} call"
    print(
        f"{result.finished} of {result.planned} trials; {result.billed} billed calls{credits};"
        f" {sent} requests ({by_kind})",
        file=sys.stderr,
    )
    if result.interrupted and result.lost is None:
        print(
            "Interrupted. What is finished is kept; continue with the same command and --resume.",
            file=sys.stderr,
        )
