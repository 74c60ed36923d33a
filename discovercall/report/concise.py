"""A results folder in one line."""

from __future__ import annotations

from discovercall.report.markdown import isolated
from discovercall.report.numbers import percent, percent_interval
from discovercall.report.results import ResultsReport


def results_line(report: ResultsReport) -> str:
    """The newest result's lanes, the trends with a notice, and how much was refused."""
    current = report.current
    if current is None:
        parts = [f"rehearsals only: {len(report.rehearsals)}"]
    else:
        lanes = ", ".join(
            f"{result.lane.lane} {isolated(result.lane.model)}"
            f" {percent(result.lane.success.rate if result.lane.success else None)}"
            f" {percent_interval(result.lane.headline_95)}"
            for result in current.results
        )
        parts = [f"release {isolated(current.release[:12])}, {current.date}, {current.task_set}: {lanes}"]
    for trend in report.trends:
        if trend.check is not None and trend.check.notice:
            tasks = ", ".join(isolated(task) for task in trend.check.lower)
            parts.append(f"notice for {trend.lane} {isolated(trend.model)}: {tasks}")
    return " · ".join([*parts, f"refused {len(report.refused)}"])
