"""The agent invocation benchmark as the report shows it, read from its own report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discovercall.report.model import Count, Interval


@dataclass(frozen=True, slots=True)
class CaseResult:
    """Passed runs of one case, a count a mode in the order of `ScenarioReport.modes`."""

    case: str
    passed: tuple[Count | None, ...]


@dataclass(frozen=True, slots=True)
class ModeGap:
    """Pass rates, first mode minus second, the case as the unit."""

    first: str
    second: str
    difference: float
    interval_95: Interval
    p_value: float
    differing_cases: int
    differing_cases_needed: int


@dataclass(frozen=True, slots=True)
class ScenarioReport:
    """One published report of the agent invocation benchmark.

    Attributes:
        mock: fixed answers were replayed: that shows that everything works and measures no model.
        passed: a count a mode.
    """

    file: str
    generated_at: str
    mock: bool
    model: str | None
    commit: str | None
    dirty: bool
    runs_per_case: int
    modes: tuple[str, ...]
    passed: tuple[Count, ...]
    cases: tuple[CaseResult, ...]
    gap: ModeGap | None


def scenarios_of(report: Mapping[str, Any], file: str) -> ScenarioReport:
    """The report of the benchmark from its plain object, which is known to be valid.

    Args:
        report: what `report.json` holds.
        file: how links name it.
    """
    settings, toolkit = report["settings"], report["toolkit"]
    modes = tuple(settings["modes"])
    cells = {(cell["case"], cell["mode"]): Count(cell["passed"], cell["runs"]) for cell in report["cells"]}
    return ScenarioReport(
        file=file,
        generated_at=report["generated_at"],
        mock=settings["client"] == "mock",
        model=settings["model"],
        commit=toolkit["commit"],
        dirty=toolkit["dirty"],
        runs_per_case=settings["runs_per_case"],
        modes=modes,
        passed=tuple(
            Count(
                sum(count.passed for (_, own), count in cells.items() if own == mode),
                sum(count.of for (_, own), count in cells.items() if own == mode),
            )
            for mode in modes
        ),
        cases=tuple(
            CaseResult(case, tuple(cells.get((case, mode)) for mode in modes)) for case in settings["cases"]
        ),
        gap=_gap(report["comparison"]),
    )


def _gap(comparison: Mapping[str, Any] | None) -> ModeGap | None:
    if comparison is None:
        return None
    gap = comparison["gap"]
    low, high = gap["interval_95"]
    return ModeGap(
        first=comparison["first"],
        second=comparison["second"],
        difference=gap["difference"],
        interval_95=(low, high),
        p_value=gap["p_value"],
        differing_cases=len(gap["better"]) + len(gap["worse"]),
        differing_cases_needed=gap["differing_cases_needed"],
    )
