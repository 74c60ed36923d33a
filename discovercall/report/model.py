"""The report model: what there is to say of lanes and runs, built from validated pairs.

Every rendering (terminal, Markdown, HTML, step summary, pull request) takes its figures from here. Numbers
that nobody knows are None, and renderings show them as a dash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Count:
    """`passed` of `of`; a rate with its denominator."""

    passed: int
    of: int

    @property
    def rate(self) -> float | None:
        """Between 0 and 1; None where there was nothing to count."""
        return self.passed / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class Failure:
    """Strict failures of one class: first failed gate and reason, with the number of trials of each task."""

    stage: str
    reason: str | None
    count: int
    tasks: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Gate:
    """How many trials passed a gate and all before it."""

    name: str
    left: int


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane of a run.

    Attributes:
        stem: of its pair.
        counts: numerator and denominator of each rate by its name; None where one is unknown.
        headline_95: interval of strict success over tasks.
        bootstrap_95: the same by method v2.
        provenance: metadata that all records share.
        runs_sha256: digest of the records file; None where the summary is of another harness.
    """

    lane: str
    stem: str
    model: str
    counts: Mapping[str, Count | None]
    required_parameter_accuracy: float
    constraint_accuracy: float
    headline_95: Interval | None
    bootstrap_95: Interval | None
    design_effect: float | None
    failures: tuple[Failure, ...]
    gates: tuple[Gate, ...]
    provenance: Mapping[str, Any]
    runs_sha256: str | None

    @property
    def success(self) -> Count | None:
        """Strict workflow success."""
        return self.counts["workflow_success"]


@dataclass(frozen=True, slots=True)
class Gap:
    """Strict success of one lane minus another, task by task; rates, with the tasks' names."""

    points: float
    interval_95: Interval
    p_value: float
    differing_tasks: int
    differing_tasks_needed: int
    better: tuple[str, ...]
    equal: tuple[str, ...]
    worse: tuple[str, ...]
    smallest_detectable: float | None
    tasks_needed_for_5_points: int | None

    @property
    def could_differ(self) -> bool:
        """Whether enough tasks differ for p ≤ .05 at all."""
        return self.differing_tasks >= self.differing_tasks_needed


@dataclass(frozen=True, slots=True)
class Comparability:
    """What the discovery lists of two lanes allow to be said about their gap."""

    same_discovery: bool | None
    unknown_trials: int
    trials: int
    differing_trials: int
    differing_tasks: tuple[str, ...]
    mean_overlap: float | None


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run cost, where somebody knows it."""

    attempt: int
    accepted_attempts: int
    billed_calls: int
    credits: float | None


@dataclass(frozen=True, slots=True)
class TaskSuccesses:
    """Strict successes of one task, a number a lane; None where one is unknown."""

    task: str
    successes: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """A release's run: its two lanes, the reference first, and what is known beside them."""

    rehearsal: bool
    release_sha: str
    date: str
    methodology: str
    task_set_version: str
    tasks: int
    trials: int
    records_per_lane: int
    lanes: tuple[Lane, ...]
    gap: Gap | None
    gap_refused: str | None
    comparability: Comparability
    successes_by_task: tuple[TaskSuccesses, ...]
    plan_digest: str | None
    bundle_sha256: str | None
    spent: Spent | None
