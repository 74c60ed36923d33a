"""The report model of a results folder: validated results by run, what was refused, and trends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from discovercall.foundation.shown import shown_line
from discovercall.report.gateway import GatewaySnapshot
from discovercall.report.model import Comparability, Count, Gap, Interval, Lane
from discovercall.report.scenarios import ScenarioReport

REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial's strict outcome.

    Attributes:
        success: None where the evidence is missing.
        stage: first failed gate; None for a success and where nobody knows.
        reason: class of the failure, where it has one.
    """

    trial: int
    success: bool | None
    stage: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class TaskTrials:
    """All trials of one task in one lane."""

    task: str
    trials: tuple[Trial, ...]

    @property
    def successes(self) -> int | None:
        """How many trials succeeded; None where one is unknown."""
        if any(trial.success is None for trial in self.trials):
            return None
        return sum(trial.success is True for trial in self.trials)


@dataclass(frozen=True, slots=True)
class Result:
    """One model of a validated pair.

    Attributes:
        measured_at: when its first trial started, ISO 8601 in UTC.
        trials: per task.
        planned: trials that the run planned, tasks × trials per task.
        scored: records that were scored.
        intra_task_correlation: of trials within tasks; None where there is none.
    """

    lane: Lane
    rehearsal: bool
    methodology: str
    measured_at: str
    generated_at: str
    tasks: int
    trials: int
    planned: int
    scored: int
    intra_task_correlation: float | None
    by_task: tuple[TaskTrials, ...]


@dataclass(frozen=True, slots=True)
class LaneGap:
    """Reference minus another lane of the same run; `gap` is None where it is unknown, with the reason."""

    first: str
    second: str
    gap: Gap | None
    refused: str | None
    comparability: Comparability | None


@dataclass(frozen=True, slots=True)
class RunResults:
    """The lanes that were measured together: the same release, task set, method, trials and API."""

    release: str
    date: str
    task_set: str
    rehearsal: bool
    results: tuple[Result, ...]
    gaps: tuple[LaneGap, ...]

    def rows(self) -> list[tuple[str, list[TaskTrials | None]]]:
        """Each task with its trials in each lane; None where a lane lacks it."""
        lanes = [{task.task: task for task in result.by_task} for result in self.results]
        names = dict.fromkeys(name for lane in lanes for name in lane)
        return [(name, [lane.get(name) for lane in lanes]) for name in names]


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that did not validate: it is named, and nothing in it is shown."""

    file: str
    why: str


def refusal(file: str, why: str) -> Refused:
    """A refused file, with names and reasons fit to be shown, whatever characters they have."""
    return Refused(shown_line(file), shown_line(why))


@dataclass(frozen=True, slots=True)
class Measurement:
    """One release in a trend."""

    release: str
    date: str
    stem: str
    success: Count | None
    headline_95: Interval | None
    design_effect: float | None


@dataclass(frozen=True, slots=True)
class ReleaseNotice:
    """The newest release against the ones before it, with the names of its tasks.

    Attributes:
        history: earlier releases in the test.
        p_value: one-sided, exact.
        notice: whether it is at most 5%.
        lower: tasks below their mean over the history.
        dark: tasks without a success now that had one in every earlier release.
    """

    history: int
    p_value: float
    notice: bool
    lower: tuple[str, ...]
    dark: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trend:
    """Comparable measurements of one lane, a release each, the oldest first.

    Attributes:
        configuration: what its measurements share beside lane and model, by name.
        check: None where there is none, and `unchecked` says why.
    """

    lane: str
    model: str
    task_set: str
    tasks: int
    trials: int
    configuration: Mapping[str, Any]
    measurements: tuple[Measurement, ...]
    check: ReleaseNotice | None
    unchecked: str | None


@dataclass(frozen=True, slots=True)
class ResultsReport:
    """All there is to say of a results folder; runs with the newest first."""

    runs: tuple[RunResults, ...]
    rehearsals: tuple[RunResults, ...]
    refused: tuple[Refused, ...]
    trends: tuple[Trend, ...]
    gateway: GatewaySnapshot | None
    scenarios: tuple[ScenarioReport, ...]
    schema_version: Literal[1] = 1

    @property
    def current(self) -> RunResults | None:
        """The run that the headline tells of: the newest that is no rehearsal."""
        return self.runs[0] if self.runs else None
