"""The approver's summary: read before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discovercall.report.markdown import code, table


def approval_summary(approval: Mapping[str, Any]) -> str:
    """Markdown of what will run, what it may cost, what changed, and how to refuse.

    Args:
        approval: `plan` and `plan_digest` as in `plan.json`; `attempt`, `accepted_attempts`,
            `most_calls_over_attempts`; `tags` by pattern; `guard` (`verdict`, `reason`); `changes` (list of
            field, before, now), `previous` (what they are compared with, or None) and `previous_problem` (why
            that can't be, or None); `drafts` (a sentence);
            `earlier_runs` (list of url, conclusion).
    """
    plan, budget = approval["plan"], approval["plan"]["budget"]
    lines = [
        f"## {'Rehearsal' if plan['rehearsal'] else 'Paid benchmark run'}"
        f" of release {code(plan['release_sha'][:12])}",
        "",
        *_verdict(approval),
        "",
        "### What it may cost",
        "",
        *_cost(plan, budget, approval),
        "",
        "### What will run",
        "",
        *table(
            ["Lane", "Model", "Revision", "Adapter"],
            [
                [lane["lane"], code(lane["model"]), code(lane["model_revision"]), _adapter(lane)]
                for lane in plan["lanes"]
            ],
        ),
        "",
        *table(["", ""], [[label, value] for label, value in _facts(approval)]),
        "",
        "### What changed since the last published result",
        "",
        *_changes(approval),
        "",
        "### Approve or refuse",
        "",
        "Approving lets exactly this plan run: another digest is refused by the measuring job. To"
        " refuse, choose **Review deployments > Reject**, or cancel this workflow run;"
        " nothing is billed before approval.",
    ]
    return "\n".join(lines) + "\n"


def _verdict(approval: Mapping[str, Any]) -> list[str]:
    guard = approval["guard"]
    if guard["verdict"] != "go":
        return [f"**Nothing will run:** {guard['reason']}."]
    lines = [
        f"The duplicate guard lets it go on: {guard['reason']}. It is asked again before the first call."
    ]
    for run in approval["earlier_runs"]:
        lines += [
            "",
            f"**An earlier run for this release ended with {run['conclusion']}: {run['url']}.** Where its"
            " bundle is there, let its proposing job run again: that costs nothing.",
        ]
    return lines


def _cost(plan: Mapping[str, Any], budget: Mapping[str, Any], approval: Mapping[str, Any]) -> list[str]:
    tasks, trials = plan["task_set"]["tasks"], plan["trials"]
    if plan["rehearsal"]:
        return [
            "Nothing: the catalog is the embedded sandbox. Only where the measuring job has a model key does"
            f" the model's provider bill up to {2 * budget['records_per_lane']} decisions."
        ]
    limit = (
        f"Calls stop at **{budget['max_credits']} credits**, where the API reports prices."
        if budget["max_credits"] is not None
        else "`cadence.json` sets no limit in credits (`max_credits`); the catalog's prices decide."
    )
    return [
        f"At most **{budget['most_billed_calls']} billed catalog calls** ({tasks} tasks × {trials} trials ×"
        f" {budget['lanes']} lanes). {limit} On top, the model's provider bills up to"
        f" {2 * budget['records_per_lane']} decisions of the configured model.",
        "",
        f"This is **attempt {approval['attempt']}**; earlier attempts that may have billed:"
        f" {approval['accepted_attempts']}. Over all of them at most"
        f" **{approval['most_calls_over_attempts']} billed calls**.",
    ]


def _adapter(lane: Mapping[str, Any]) -> str:
    text = code(f"adapters/{lane['adapter']}")
    if "cli_package" in lane:
        text += f" with {code(lane['cli_package'] + ' ' + lane['cli_version'])}, effort" + (
            f" {code(lane['reasoning_effort'])}"
        )
    if "stand_in" in lane:
        text += f"; without a model key {code('adapters/' + lane['stand_in'])} stands in"
    return text


def _facts(approval: Mapping[str, Any]) -> list[tuple[str, str]]:
    plan = approval["plan"]
    tasks = plan["task_set"]
    return [
        ("Plan digest", code(approval["plan_digest"])),
        ("Release commit", code(plan["release_sha"])),
        ("Release tags", ", ".join(code(tag) for tag in approval["tags"].values()) or "–"),
        ("Task set", f"{code(tasks['file'])}, {tasks['tasks']} tasks, SHA-256 {code(tasks['sha256'])}"),
        ("Discovery limit", str(plan["discovery_limit"])),
        ("Catalog API", code(plan["api_base_url"])),
        ("Code", f"{plan['code']['kind']} {code(plan['code']['digest'])}"),
        ("Publication policy", code(plan["policy"]["id"])),
        ("Results go to", f"branch {code(plan['branch'])}, as a draft pull request. {approval['drafts']}"),
    ]


def _changes(approval: Mapping[str, Any]) -> list[str]:
    if approval["previous"] is None:
        return ["There is no published result yet: everything is new."]
    if approval["previous_problem"] is not None:
        return [
            f"**The last published result {code(approval['previous'])} does not validate, so nothing is"
            f" compared with it:** {code(approval['previous_problem'])}"
        ]
    rows = [[change["field"], code(change["before"]), code(change["now"])] for change in approval["changes"]]
    intro = f"Compared with {code(approval['previous'])}:"
    if not rows:
        return [intro, "", "Nothing that the pair names differs, but for the release itself."]
    return [intro, "", *table(["", "Published", "This plan"], rows)]
