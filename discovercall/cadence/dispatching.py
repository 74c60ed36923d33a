"""Starting the cadence workflow once for a release, whatever happens to the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from discovercall.cadence.github import GitHub
from discovercall.cadence.github_facts import WorkflowRun
from discovercall.cadence.problems import GitHubError, GitHubProblem, explain_write
from discovercall.foundation.errors import RefusedError

OWN_INPUTS = ("release_sha", "rehearsal")
_LOOKS = 6
_SECONDS_BETWEEN_LOOKS = 5.0
_ENDED_BADLY = ("failure", "timed_out", "startup_failure", "cancelled", "action_required", "stale")


@dataclass(frozen=True, slots=True)
class Dispatched:
    """What became of it: `started` by this call, or not, and why."""

    started: bool
    reason: str
    url: str | None = None


def run_title(release_sha: str, *, rehearsal: bool) -> str:
    """The `run-name` of the cadence workflow, by which its runs are told apart."""
    return f"{'Rehearsal' if rehearsal else 'Benchmark'} of {release_sha}"


def check_published(
    github: GitHub, release_sha: str, workflows: Iterable[str], own_run: int | None = None
) -> str | None:
    """Whether every publish workflow has succeeded for the commit.

    Args:
        own_run: id of the run that asks, which counts as succeeded: its asking job comes last.

    Returns:
        None when all have; else what is still being waited for.

    Raises:
        RefusedError: one has ended without success.
    """
    waiting = []
    for workflow in workflows:
        runs = github.runs(workflow, head_sha=release_sha)
        if any(run.conclusion == "success" or run.id == own_run for run in runs):
            continue
        if runs and all(run.conclusion in _ENDED_BADLY for run in runs):
            raise RefusedError(
                f"{workflow} ended with {runs[0].conclusion} for {release_sha}",
                where="publish_workflows",
                fix=f"mend the release first: {runs[0].url}",
            )
        waiting.append(workflow)
    return f"not yet published: {', '.join(waiting)}" if waiting else None


def dispatch_once(
    github: GitHub,
    release_sha: str,
    *,
    workflow: str,
    rehearsal: bool,
    inputs: dict[str, str],
    sleep: Callable[[float], None],
) -> Dispatched:
    """Start the workflow unless a run for this release is there; the request is sent once.

    Args:
        workflow: file name of the cadence workflow.
        inputs: further inputs of it; what it measures is said by `release_sha` and `rehearsal` alone.
        sleep: waits that many seconds.

    Raises:
        RefusedError: no answer came and no run shows up.
        GitHubProblem: GitHub refused.
    """
    title = run_title(release_sha, rehearsal=rehearsal)
    existing = _find(github, workflow, title)
    if existing is not None:
        return Dispatched(False, "a run for this release is there already", existing.url)
    ref = github.repository().default_branch
    sent = {**inputs, "release_sha": release_sha, "rehearsal": "true" if rehearsal else "false"}
    try:
        github.dispatch(workflow, ref, sent)
    except GitHubError as error:
        if not error.failure.may_have_happened:
            raise explain_write(
                error.failure, doing=f"start {workflow}", permission="actions: write", branch=ref
            ) from None
        return _look_again(github, workflow, title, error.failure.message, sleep)
    return Dispatched(True, "started")


def earlier_runs(
    github: GitHub, workflow: str, release_sha: str, own_id: int, *, rehearsal: bool
) -> list[WorkflowRun]:
    """Ended runs for this release; their bundles may still be there to be proposed.

    Raises:
        RefusedError: an older run for this release is still under way.
    """
    title = run_title(release_sha, rehearsal=rehearsal)
    others = [run for run in github.runs(workflow) if run.title == title and run.id != own_id]
    for run in others:
        if run.status != "completed" and run.id < own_id:
            raise RefusedError(
                f"another run for this release is under way: {run.url}",
                fix="let that one end, or cancel it and start again",
            )
    return [run for run in others if run.status == "completed"]


def _look_again(
    github: GitHub, workflow: str, title: str, github_says: str, sleep: Callable[[float], None]
) -> Dispatched:
    for _ in range(_LOOKS):
        found = _find(github, workflow, title)
        if found is not None:
            return Dispatched(True, f"started, though GitHub did not answer ({github_says})", found.url)
        sleep(_SECONDS_BETWEEN_LOOKS)
    raise GitHubProblem(
        "M7",
        f"GitHub did not answer whether it started {workflow} ({github_says}), and no run of it shows up;"
        " it is not sent again",
        fix="look at the Actions page; if there is no run in a few minutes, run this command again",
    )


def _find(github: GitHub, workflow: str, title: str) -> WorkflowRun | None:
    return next((run for run in github.runs(workflow) if run.title == title), None)
