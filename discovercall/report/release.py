"""A release's results in Markdown: the results section, and what the pull request's body shares with it.

Takes a run of the report model, or the plain object that `cadence document --format json` prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from discovercall.report.comparison import comparability_sentence, power_sentence
from discovercall.report.markdown import code, table
from discovercall.report.model import Lane, Run
from discovercall.report.numbers import DASH, decimal, percent_interval, points, points_interval, share
from discovercall.report.reading import run_of
from discovercall.report.wording import LANE_NAMES, METRICS, PROVENANCE

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
        *result_table(report),
        "",
        *gap_lines(report),
        "",
        "## Failures",
        "",
        *failure_table(report),
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
    return [
        f"- {LANE_NAMES[lane.lane]} {code(lane.model)}: strict success"
        f" **{share(lane.success)}**,"
        f" 95% over tasks {percent_interval(lane.headline_95)}"
        for lane in report.lanes
    ]


def result_table(report: Run) -> list[str]:
    """All rates of both lanes with counts and intervals."""
    lanes = report.lanes
    rows = [
        [
            "**Strict workflow success**",
            *(f"**{share(lane.success)}**" for lane in lanes),
        ],
        ["95% over tasks (headline)", *(percent_interval(lane.headline_95) for lane in lanes)],
        ["95% bootstrap (method v2)", *(percent_interval(lane.bootstrap_95) for lane in lanes)],
        *([label, *(share(lane.counts[field]) for lane in lanes)] for label, field in METRICS),
    ]
    header = ["", *(f"{LANE_NAMES[lane.lane]}<br>{code(lane.model)}" for lane in lanes)]
    return table(header, rows, right=(1, 2))


def gap_lines(report: Run) -> list[str]:
    """The gap with its denominator, interval and exact test; a negative one is said plainly."""
    gap = report.gap
    if gap is None:
        return [f"The gap is unknown: {report.gap_refused or 'a lane has no rate'}."]
    counts = " − ".join("–" if c is None else f"{c.passed}/{c.of}" for c in (x.success for x in report.lanes))
    lines = [
        f"**Gap (reference − configured model): {points(gap.points)}**"
        f" ({counts}; {report.tasks} tasks × {report.trials} trials),"
        f" 95% {points_interval(gap.interval_95)}, exact sign-flip test over tasks p = {gap.p_value:.3g}."
    ]
    if gap.points < 0:
        lines.append("**The gap is negative: the configured model scored higher than the reference.**")
    if not gap.could_differ:
        lines.append(
            f"{gap.differing_tasks} task(s) differ; p ≤ .05 needs at least"
            f" {gap.differing_tasks_needed} in one direction, so no difference could have been shown."
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


def failure_table(report: Run) -> list[str]:
    """Strict failures by stage, reason and task."""
    rows = [
        [
            LANE_NAMES[lane.lane],
            failure.stage,
            code(failure.reason) if failure.reason else DASH,
            str(failure.count),
            ", ".join(f"{code(task)} {count}" for task, count in failure.tasks.items()),
        ]
        for lane in report.lanes
        for failure in lane.failures
    ]
    if not rows:
        return ["No strict failure."]
    return table(["Lane", "First failed gate", "Reason", "Trials", "Tasks (trials)"], rows, right=(3,))


def catalog_sentence(report: Run) -> str:
    """Comparability of the two catalog observations in plain words."""
    found = report.comparability
    sentence = comparability_sentence(
        replace(found, differing_tasks=tuple(code(task) for task in found.differing_tasks))
    )
    revisions = sorted({lane.provenance["catalog_revision"] for lane in report.lanes})
    if revisions == ["unreported"]:
        return f"{sentence} The catalog reported no revision, so what it held on that day is not pinned."
    return f"{sentence} Catalog revision as reported: {', '.join(code(revision) for revision in revisions)}."


def provenance_table(report: Run) -> list[str]:
    """Where the records come from, a column a lane."""
    lanes = report.lanes
    rows = [[label, *(_provenance(lane, field) for lane in lanes)] for label, field in PROVENANCE]
    rows.append(["Records SHA-256", *(code(lane.runs_sha256 or "") for lane in lanes)])
    return table(["", *(LANE_NAMES[lane.lane] for lane in lanes)], rows)


def _provenance(lane: Lane, field: str) -> str:
    value = str(lane.provenance[field])
    return "unreported (not pinned)" if value == "unreported" else code(value)


def caveat(report: Run) -> str:
    """What no interval covers."""
    shown = ", ".join(decimal(lane.design_effect) for lane in report.lanes)
    return (
        f"{report.tasks} tasks × {report.trials} trials, {report.records_per_lane} records per lane,"
        f" all planned trials scored ({report.methodology}). Design effect of trials: {shown}. Intervals"
        " cover a population of such tasks; none covers effects that a whole run shares, such as the day"
        " or the catalog's state."
    )
