"""What an approver has to know, gathered from the plan, the results and GitHub."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discovercall.cadence.dispatching import earlier_runs
from discovercall.cadence.evidence import configured_revision
from discovercall.cadence.github import GitHub
from discovercall.cadence.headline import RESULTS
from discovercall.cadence.history import changes
from discovercall.cadence.plan import CadencePlan
from discovercall.cadence.release import ask_guard
from discovercall.foundation.errors import RefusedError


def gather_approval(
    plan: CadencePlan,
    github: GitHub,
    tags: Mapping[str, str],
    *,
    attempt: int,
    accepted: int,
    own_run: int | None,
    workflow: str | None,
) -> dict[str, Any]:
    """The approver's summary as a plain object, see `report.approval`.

    Args:
        tags: the release's tag by pattern.
        attempt: of this workflow run, from 1.
        accepted: earlier attempts that may have billed, as a person stated.
        own_run: id of this workflow run; None outside of one.
        workflow: file name of this workflow; None outside of one.

    Raises:
        RefusedError: an older run for the release is under way.
    """
    config = plan.inputs.config
    changed = changes(
        plan,
        plan.inputs.root / RESULTS,
        configured_revision(config.configured_model, plan.toolkit_revision),
    )
    runs = []
    if workflow and own_run is not None:
        runs = earlier_runs(github, workflow, plan.release_sha, own_run, rehearsal=plan.rehearsal)
    return {
        **plan.file(),
        "attempt": attempt,
        "accepted_attempts": accepted,
        "most_calls_over_attempts": (max(accepted, attempt - 1) + 1) * plan.most_billed_calls,
        "tags": dict(tags),
        "guard": _verdict(github, plan.branch),
        "previous": changed.previous,
        "previous_problem": changed.problem,
        "changes": changed.fields,
        "drafts": "Drafts are there: the repository is public."
        if not github.repository().private
        else "The repository is private: GitHub tells only when the pull request is opened whether its"
        " plan has drafts (M2).",
        "earlier_runs": [{"url": run.url, "conclusion": str(run.conclusion)} for run in runs],
    }


def _verdict(github: GitHub, branch: str) -> dict[str, str]:
    """The guard's verdict for the summary; the step that follows is the one that refuses."""
    try:
        decision = ask_guard(github, branch)
    except RefusedError as error:
        return {"verdict": "refuse", "reason": str(error)}
    return {"verdict": decision.verdict.value, "reason": decision.reason}
