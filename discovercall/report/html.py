"""A results folder as one HTML file that needs nothing else: no script, no font, no request."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from discovercall import __version__
from discovercall.foundation.artifacts import UNREPORTED
from discovercall.report import numbers, wording
from discovercall.report.results import ResultsReport, RunResults, TaskTrials, Trend

_PLOT_TOP, _PLOT_HEIGHT = 12, 165
_PLOT_LEFT_PERCENT, _PLOT_WIDTH_PERCENT = 14, 80


@dataclass(frozen=True, slots=True)
class Point:
    """A measurement in the trend's plot; `before` is the last one that is known."""

    x: str
    y: float
    low: float
    high: float
    known: bool
    before: Point | None


def results_html(report: ResultsReport, base: str) -> str:
    """The whole page; the same report gives the same bytes.

    Args:
        base: prefix of links to the folder's files, as `results/`, percent-encoded.
    """
    style = (files("discovercall.report") / "templates" / "report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        _environment()
        .get_template("report.html.jinja")
        .render(
            report=report,
            current=report.current,
            contents=list(_contents(report)),
            base=base,
            style=Markup(style),  # noqa: S704  # the package's own file
            style_hash=f"sha256-{digest}",
            version=__version__,
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("discovercall.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(
        title=wording.TITLE,
        rehearsal=wording.REHEARSAL,
        unreported=UNREPORTED,
        always_said=wording.ALWAYS_SAID,
        metric_names=wording.METRICS,
        provenance_names=wording.PROVENANCE,
        lane_name=wording.lane_name,
        stage_name=wording.stage_name,
        basis=wording.basis,
        start_up_sentence=wording.start_up_sentence,
        gap_statements=wording.gap_statements,
        trend_statements=wording.trend_statements,
        percent=numbers.percent,
        percent_interval=numbers.percent_interval,
        points=numbers.points,
        points_interval=numbers.points_interval,
        share=numbers.share,
        decimal=numbers.decimal,
        counted=_counted,
        place=_place,
        height=_height,
        all_passed=_all_passed,
        failing=_failing,
        trend_points=_trend_points,
    )
    return environment


def _contents(report: ResultsReport) -> Iterator[tuple[str, str]]:
    if report.refused:
        yield "refused", "Refused"
    if report.runs:
        yield "newest", "Newest result"
    if report.trends:
        yield "trend", "Trend"
    if report.gateway:
        yield "gateway", "Gateway"
    if report.scenarios:
        yield "invocation", "Agent invocation"
    if len(report.runs) > 1:
        yield "earlier", "Earlier results"
    if report.rehearsals:
        yield "rehearsals", "Rehearsals"
    yield "reading", "What every number means"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _place(rate: float) -> str:
    """Where a rate lies on a horizontal scale from 0 to 100%."""
    return f"{rate * 100:.2f}%"


def _height(rate: float) -> float:
    """Where a rate lies on the trend's vertical scale, in pixels from the top."""
    return round(_PLOT_TOP + (1 - rate) * _PLOT_HEIGHT, 1)


def _all_passed(lanes: Sequence[TaskTrials | None]) -> bool:
    return all(task is not None and all(one.success for one in task.trials) for task in lanes)


def _failing(run: RunResults) -> bool:
    return any(result.lane.failures for result in run.results)


def _trend_points(trend: Trend) -> list[Point]:
    """The measurements from left to right; one whose success is unknown leaves a gap."""
    steps = max(1, len(trend.measurements) - 1)
    placed: list[Point] = []
    before: Point | None = None
    for index, one in enumerate(trend.measurements):
        x = f"{_PLOT_LEFT_PERCENT + _PLOT_WIDTH_PERCENT * index / steps:.2f}%"
        rate = one.success.rate if one.success else None
        if rate is None or one.headline_95 is None:
            placed.append(Point(x, 0, 0, 0, known=False, before=None))
            continue
        low, high = (_height(limit) for limit in one.headline_95)
        before = Point(x, _height(rate), low, high, known=True, before=before)
        placed.append(before)
    return placed
