"""What the report says in words: labels, and sentences that every rendering shares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from discovercall.foundation.digests import is_commit
from discovercall.report.comparison import (
    comparability_sentence,
    gap_evidence,
    needed_to_differ,
    power_sentence,
)
from discovercall.report.gateway import StartUp
from discovercall.report.numbers import decimal, points, saved
from discovercall.report.results import LaneGap, Result, Trend

METRICS = (
    ("Completed", "completed"),
    ("Called", "executed"),
    ("Selection grounded", "selection_grounded"),
    ("Inspection grounded", "inspection_grounded"),
    ("Required parameters complete", "required_parameters_complete"),
    ("Constraints met", "constraints_met"),
    ("Call succeeded, of calls", "call_success"),
    ("Result not empty, of successful calls", "result_nonempty"),
)
LANE_NAMES = {
    "reference": "Reference",
    "configured-model": "Configured model",
    "pinned-model": "Pinned model",
    "current-model": "Current model",
    "model": "Model",
}
PROVENANCE = (
    ("Model revision", "model_revision"),
    ("Adapter revision", "adapter_revision"),
    ("Toolkit revision", "toolkit_revision"),
    ("Task set SHA-256", "task_set_sha256"),
    ("API", "api_base_url"),
    ("API revision", "api_revision"),
    ("Catalog revision", "catalog_revision"),
    ("Catalog observation SHA-256", "catalog_observation_sha256"),
    ("Discovery limit", "discovery_limit"),
    ("Publication policy", "publication_policy"),
)
STAGES = {"parameterize": "parameters", "api": "API"}
TITLE = "Discover-call results"
REHEARSAL = (
    "A rehearsal runs on the embedded sandbox or a loopback API. It shows that everything works and measures"
    " no catalog and no model; it is in no headline and no trend."
)
ALWAYS_SAID = (
    "A rate estimates strict success over a population of such tasks. The tasks are a sample of it, and the"
    " interval says how far the rate of the population may lie from that of the sample.",
    "The task is the unit, not the trial: the trials of a task mostly agree, so that more trials of the same"
    " tasks add little. The design effect and the intra-task correlation say how much they agree.",
    "No interval here covers what a whole run shares, such as the day, the API's state or the catalog's.",
    "Every pair shown was validated: its records against the publication policy, its summary scored again"
    " from the records.",
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, followed by tasks where it names some.

    Attributes:
        strong: whether a reader must not miss it.
    """

    text: str
    tasks: tuple[str, ...] = ()
    strong: bool = False


def lane_name(lane: str) -> str:
    """What a lane is called."""
    return LANE_NAMES.get(lane, lane)


def stage_name(stage: str | None) -> str:
    """What a gate is called in a narrow cell."""
    return "failed" if stage is None else STAGES.get(stage, stage)


def basis(result: Result) -> str:
    """How much a result rests on; always said beside its rate."""
    return (
        f"{result.tasks} {'task' if result.tasks == 1 else 'tasks'} × {result.trials} trials,"
        f" {result.scored} of {result.planned} planned trials scored; design effect"
        f" {decimal(result.lane.design_effect)}, intra-task correlation"
        f" {decimal(result.intra_task_correlation)}"
    )


def start_up_sentence(found: StartUp) -> str:
    """What an agent reads before its first step, with the broker and without."""
    return (
        f"Before its first step an agent reads {found.broker:,} tokens instead of {found.direct:,}:"
        f" {saved(found.reduction)}."
    )


def _shown_release(release: str) -> str:
    """A release in a sentence; a revision that is no commit could hold anything, and is not repeated."""
    return f"release {release[:12]}" if is_commit(release) else "the newest release"


def gap_statements(found: LaneGap) -> Iterator[Statement]:
    """The gap between the reference and another lane, what it rests on, and what may be said of it."""
    if found.gap is None:
        yield Statement(f"The gap is unknown: {found.refused or 'a lane has no rate'}.")
        return
    gap = found.gap
    yield Statement(f"Reference minus this lane: {points(gap.points)}, {gap_evidence(gap)}.", strong=True)
    if gap.points < 0:
        yield Statement("The gap is negative: this lane scored higher than the reference.", strong=True)
    if not gap.could_differ:
        yield Statement(
            f"{gap.differing_tasks} {'task differs' if gap.differing_tasks == 1 else 'tasks differ'};"
            f" {needed_to_differ(gap.differing_tasks_needed)}, so no difference could have been shown."
        )
    if gap.better:
        yield Statement("The reference did better on:", gap.better)
    if gap.worse:
        yield Statement("This lane did better on:", gap.worse)
    power = power_sentence(gap)
    yield Statement(power[0].upper() + power[1:])
    if found.comparability is not None:
        tasks = found.comparability.differing_tasks
        unnamed = replace(found.comparability, differing_tasks=("tasks named below",))
        yield Statement(comparability_sentence(unnamed))
        if tasks and found.comparability.same_discovery is False:
            yield Statement("Tasks with other discovery lists:", tasks)


def trend_statements(trend: Trend) -> Iterator[Statement]:
    """Whether the newest release has lost successes, with the tasks' names."""
    check = trend.check
    if check is None:
        yield Statement(f"Not tested: {trend.unchecked}.")
        return
    newest = _shown_release(trend.measurements[-1].release)
    test = (
        f"exact one-sided release permutation within tasks against {check.history} earlier releases,"
        f" p = {check.p_value:.3g}"
    )
    if check.notice:
        yield Statement(
            f"Notice: {newest} has fewer strict successes than chance among its releases explains"
            f" ({test}). Lower than before:",
            check.lower,
            strong=True,
        )
        yield Statement("A notice is no verdict: the next release confirms it or doesn't.")
    else:
        yield Statement(f"No notice for {newest} ({test}).")
    if check.dark:
        yield Statement(
            "Gone dark, without a success now and with some in every earlier release of the test:",
            check.dark,
            strong=True,
        )
