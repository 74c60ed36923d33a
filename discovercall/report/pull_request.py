"""The draft pull request's body: what a reviewer has to see, and the four things a person confirms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discovercall.report.charts import gates_chart, tasks_chart
from discovercall.report.lane_tables import result_table
from discovercall.report.markdown import code, cut, table
from discovercall.report.model import Run
from discovercall.report.reading import run_of
from discovercall.report.release import (
    catalog_sentence,
    caveat,
    failure_lines,
    gap_lines,
    headline,
    provenance_table,
    rehearsal_note,
)
from discovercall.report.wording import LANE_NAMES

CHECKLIST = (
    (
        "Failure classification",
        "each class is the fault it says, not one of the harness or the network",
    ),
    ("Catalog and API comparability", "the sentence on the two observations is right for these two runs"),
    ("Wording of the model revision", "nothing that is unreported is called pinned, here and in the pages"),
    ("Headline pages", "the English and the Chinese page say the same"),
)


def pull_request_body(report: Run | Mapping[str, Any]) -> str:
    """The body, cut to what GitHub takes."""
    report = run_of(report)
    lines = [
        *rehearsal_note(report),
        *headline(report),
        "",
        *result_table(report.lanes),
        "",
        *gap_lines(report),
        "",
        "### Where trials ended",
        "",
        *gates_chart(report.lanes, LANE_NAMES, report.records_per_lane),
        "",
        *_tasks(report),
        "### Failures by first failed gate",
        "",
        *failure_lines(report),
        "",
        "### Catalog",
        "",
        catalog_sentence(report),
        "",
        "### For a person to confirm",
        "",
        *(f"- [ ] **{what}**: {how}" for what, how in CHECKLIST),
        "",
        "### Provenance",
        "",
        *provenance_table(report),
        "",
        *_cost(report),
        "",
        *reproduce(report),
        "",
        caveat(report),
    ]
    return cut("\n".join(lines) + "\n")


def _tasks(report: Run) -> list[str]:
    trials = report.trials
    chart = tasks_chart(report.successes_by_task, trials)
    rows = [
        [str(number), code(task.task), *("–" if n is None else f"{n}/{trials}" for n in task.successes)]
        for number, task in enumerate(report.successes_by_task, 1)
    ]
    listing = table(["", "Task", "Reference", "Configured model"], rows, right=(0, 2, 3))
    return [*chart, "", "<details><summary>All tasks</summary>", "", *listing, "", "</details>", ""]


def _cost(report: Run) -> list[str]:
    spent, digest = report.spent, report.plan_digest
    lines = [f"Plan digest: {code(digest) if digest else 'unknown (rendered from the pairs alone)'}."]
    if report.bundle_sha256:
        lines.append(f"Bundle SHA-256: {code(report.bundle_sha256)}.")
    if spent is not None:
        credits = f", {spent.credits:g} credits as the API reported" if spent.credits else ""
        lines.append(
            f"Billed calls: {spent.billed_calls}{credits}, in attempt {spent.attempt}"
            f" (earlier attempts that may have billed: {spent.accepted_attempts})."
        )
    return lines


def reproduce(report: Run) -> list[str]:
    """How anybody checks the figures again, and how the run is repeated."""
    stems = [lane.stem for lane in report.lanes]
    pairs = " ".join(f"results/{stem}" for stem in stems)
    return [
        "### Reproduce",
        "",
        "Check and score these files again, on this branch:",
        "",
        "```sh",
        "discovercall validate",
        f"discovercall cadence document {pairs}",
        f"discovercall compare {pairs}",
        "```",
        "",
        "Measure it again from a checkout of the release:",
        "",
        "```sh",
        f"git checkout {report.release_sha}",
        f"discovercall cadence plan --release-sha {report.release_sha}"
        f"{' --rehearsal' if report.rehearsal else ''} --out ../plan.json",
        "discovercall cadence run --plan ../plan.json --private ../private --bundle ../bundle",
        "```",
    ]
