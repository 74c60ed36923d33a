"""What a run says: its plan before the first request, progress on a terminal, the outcome."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from discovercall.adapter.exposure import Exposure
from discovercall.adapter.isolation import opening
from discovercall.contract.execution import RunResult
from discovercall.contract.ledger import read_ledger
from discovercall.contract.options import PreparedRun
from discovercall.contract.plan import SANDBOX_BASE_URL, RunPlan
from discovercall.foundation.errors import DiscovercallError

_ROOM_FOR_A_BAR = 80
_REASONS = 4


def announce(prepared: PreparedRun, exposure: Exposure | None) -> None:
    """Say on stderr what will run, what it may cost at most, and every warning.

    Args:
        exposure: another process that gives the catalog key away.
    """
    plan = prepared.plan
    for warning in prepared.warnings:
        print(f"Warning: {warning}", file=sys.stderr)
    if (opened := opening(prepared.adapter_user, exposure)) is not None:
        print(f"Warning: nothing keeps adapters from the catalog key: {opened}", file=sys.stderr)
    names = ", ".join(f"{lane.model} ({lane.lane})" for lane in plan.lanes)
    print(
        f"{names}: {len(plan.task_set.tasks)} tasks × {plan.trials} trials against {plan.api_base_url}",
        file=sys.stderr,
    )
    bound = (
        f"at most {plan.max_billed_calls} billed calls" if plan.execute else "no billed call (no --execute)"
    )
    if plan.execute and plan.max_credits is not None:
        bound += f", at most {plan.max_credits:g} credits"
    if plan.execute and plan.api_base_url == SANDBOX_BASE_URL:
        bound += "; the sandbox bills nothing"
    print(f"Limit: {bound}", file=sys.stderr)


class Watch:
    """Counts what this process's trials came to.

    Attributes:
        finished: trials that ended.
        failures: how many of them failed, by gate or part, and reason.
    """

    def __init__(self) -> None:
        self.finished = 0
        self.failures: Counter[tuple[str, str | None]] = Counter()

    def trial_finished(self, record: Mapping[str, Any]) -> None:
        """A record is done; it is that of a failure where it has an error."""
        self.finished += 1
        if "error" in record:
            self.failures[record["error"]["stage"], record["error"]["reason_code"]] += 1

    def call_sent(self, billed_calls: int) -> None:
        """Nobody watches."""


class _Bar(Watch):
    def __init__(self, progress: Progress, plan: RunPlan, done: int, billed: int) -> None:
        super().__init__()
        self._progress = progress
        self._billed = billed
        self._plan = plan
        self._task = progress.add_task(
            "trials", total=plan.planned_records, completed=done, state=self._state()
        )

    def _state(self) -> str:
        parts = []
        if self._plan.execute:
            parts.append(f"billed {self._billed}/{self._plan.max_billed_calls}")
        stages: Counter[str] = Counter()
        for (stage, _), count in self.failures.items():
            stages[stage] += count
        parts += [f"{stage} {count} failed" for stage, count in stages.items()]
        return " · ".join(parts)

    def trial_finished(self, record: Mapping[str, Any]) -> None:
        super().trial_finished(record)
        self._progress.update(self._task, advance=1, state=self._state())

    def call_sent(self, billed_calls: int) -> None:
        self._billed = billed_calls
        self._progress.update(self._task, state=self._state())


@contextlib.contextmanager
def observer_for(plan: RunPlan, *, resume: bool) -> Iterator[Watch]:
    """A progress bar on stderr where that is a terminal, from what a resumed run has done; else silence."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Watch()
        return
    columns = (
        *([] if console.width < _ROOM_FOR_A_BAR else [TextColumn("{task.description}"), BarColumn()]),
        MofNCompleteColumn(
            table_column=Column(no_wrap=True, min_width=2 * len(str(plan.planned_records)) + 1)
        ),
        TimeRemainingColumn(table_column=Column(no_wrap=True, min_width=len("0:00:00"))),
        TextColumn("{task.fields[state]}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
    )
    done, billed = _before(plan) if resume else (0, 0)
    with Progress(*columns, console=console) as progress:
        yield _Bar(progress, plan, done, billed)


def _before(plan: RunPlan) -> tuple[int, int]:
    """Trials and billed calls of an earlier part of the run; none where its journal can't be read."""
    try:
        ledger = read_ledger(plan.journal)
    except DiscovercallError:  # said when the run is resumed
        return 0, 0
    return len(ledger.records), len(ledger.drafts)


def conclude(prepared: PreparedRun, result: RunResult, watch: Watch) -> None:
    """Say where the records are, what was billed, what failed, and how to go on after an early end."""
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
    if watch.failures:
        print(failed_line(watch), file=sys.stderr)
    if result.interrupted and result.lost is None:
        print(
            "Interrupted. What is finished is kept; continue with the same command and --resume.",
            file=sys.stderr,
        )


def failed_line(watch: Watch) -> str:
    """How many trials broke off at what, and what to look at where none got a decision."""
    reasons = ", ".join(
        f"{stage} {reason or 'without a reason'} {count}"
        for (stage, reason), count in watch.failures.most_common(_REASONS)
    )
    more = len(watch.failures) - _REASONS
    beyond = f", and {more} other reason{'s' if more > 1 else ''}" if more > 0 else ""
    hint = ""
    if sum(count for (stage, _), count in watch.failures.items() if stage == "adapter") == watch.finished:
        hint = "; no decision was made: see that the model answers, and what `discovercall doctor` says"
    return f"{watch.failures.total()} of {watch.finished} trials ended early: {reasons}{beyond}{hint}"
