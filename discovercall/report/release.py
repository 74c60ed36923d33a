"""A release's results in Markdown: the results section, and what the pull request's body shares with it.

Takes a run of the report model, or the plain object that `cadence document --format json` prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from discovercall.foundation.artifacts import UNREPORTED
from discovercall.report.comparison import (
    comparability_sentence,
    gap_evidence,
    needed_to_differ,
    power_sentence,
)
from discovercall.report.lane_tables import failure_table, headline_line, provenance_rows, result_table
from discovercall.report.markdown import code, table
from discovercall.report.model import Run
from discovercall.report.numbers import decimal, points
from discovercall.report.reading import run_of
from discovercall.report.wording import lane_name

Report = Run | Mapping[str, Any]


def results_section(report: Report) -> str:
    """The results section, complete in itself."""
    report = run_of(report)
    kind = "Rehearsal" if report.rehearsal else "Results"
    lines = [
        f"# {kind}: release {code(report.release_sha[:12])}, {report.date}",
        "",
        *rehearsal_note(report),
        *headline(report),
        "",
        "## Both lanes",
        "",
        *result_table(report.lanes),
        "",
        *gap_lines(report),
        "",
        "## Failures",
        "",
        *failure_lines(report),
        "",
        "## What the two catalog observations allow to be said",
        "",
        catalog_sentence(report),
        "",
        "## Provenance",
        "",
        *provenance_table(report),
        "",
        caveat(report),
    ]
    return "\n".join(lines) + "\n"


def rehearsal_note(report: Run) -> list[str]:
    """What marks a rehearsal; nothing for a real run."""
    if not report.rehearsal:
        return []
    adapter = code(str(report.lanes[1].provenance["adapter_revision"]))
    return [
        "> **This is a rehearsal on the embedded sandbox. It is no result of any model.**",
        f"> The configured-model lane was run by {adapter}.",
        "",
    ]


def headline(report: Run) -> list[str]:
    """Strict success of both lanes in two lines."""
    return [headline_line(lane) for lane in report.lanes]


def gap_lines(report: Run) -> list[str]:
    """The gap with its denominator, interval and exact test; a negative one is said plainly."""
    gap = report.gap
    if gap is None:
        return [f"The gap is unknown: {report.gap_refused or 'a lane has no rate'}."]
    counts = " − ".join("–" if c is None else f"{c.passed}/{c.of}" for c in (x.success for x in report.lanes))
    lines = [
        f"**Gap (reference − configured model): {points(gap.points)}**"
        f" ({counts}; {report.tasks} tasks × {report.trials} trials),"
        f" {gap_evidence(gap)}."
    ]
    if gap.points < 0:
        lines.append("**The gap is negative: the configured model scored higher than the reference.**")
    if not gap.could_differ:
        lines.append(
            f"{gap.differing_tasks} task(s) differ; {needed_to_differ(gap.differing_tasks_needed)}, so no"
            " difference could have been shown."
        )
    for label, tasks in (
        ("The reference did better on", gap.better),
        ("The configured model did better on", gap.worse),
    ):
        if tasks:
            lines.append(f"{label} {', '.join(code(task) for task in tasks)}.")
    sentence = power_sentence(gap)
    lines.append(sentence[0].upper() + sentence[1:])
    return [part for line in lines for part in (line, "")][:-1]


def failure_lines(report: Run) -> list[str]:
    """Strict failures by stage, reason and task."""
    return failure_table(report.lanes, lambda lane: lane_name(lane.lane))


def catalog_sentence(report: Run) -> str:
    """Comparability of the two catalog observations in plain words."""
    found = report.comparability
    sentence = comparability_sentence(
        replace(found, differing_tasks=tuple(code(task) for task in found.differing_tasks))
    )
    revisions = sorted({lane.provenance["catalog_revision"] for lane in report.lanes})
    if revisions == [UNREPORTED]:
        return f"{sentence} The catalog reported no revision, so what it held on that day is not pinned."
    return f"{sentence} Catalog revision as reported: {', '.join(code(revision) for revision in revisions)}."


def provenance_table(report: Run) -> list[str]:
    """Where the records come from, a column a lane."""
    return table(["", *(lane_name(lane.lane) for lane in report.lanes)], provenance_rows(report.lanes))


def caveat(report: Run) -> str:
    """What no interval covers."""
    shown = ", ".join(decimal(lane.design_effect) for lane in report.lanes)
    return (
        f"{report.tasks} tasks × {report.trials} trials, {report.records_per_lane} records per lane,"
        f" all planned trials scored ({report.methodology}). Design effect of trials: {shown}. Intervals"
        " cover a population of such tasks; none covers effects that a whole run shares, such as the day"
        " or the catalog's state."
    )
