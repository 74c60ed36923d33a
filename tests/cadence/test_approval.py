"""What an approver is told before anything is spent, from the plan and from GitHub."""

from __future__ import annotations

from typing import Any

from discovercall.cadence.approval import gather_approval
from discovercall.cadence.github import GitHub
from discovercall.cadence.plan import CadencePlan
from tests.support.github.fake_github import FakeGitHub


def gathered(plan: CadencePlan, client: GitHub, **changes: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"attempt": 1, "accepted": 0, "own_run": None, "workflow": None}
    return gather_approval(plan, client, {"v*": "v1.0.0"}, **facts | changes)


def test_a_release_without_a_run_may_go_on(plan: CadencePlan, client: GitHub) -> None:
    found = gathered(plan, client, attempt=3, accepted=1)
    assert found["guard"] == {"verdict": "go", "reason": f"no pull request and no branch {plan.branch}"}
    assert found["most_calls_over_attempts"] == 3 * plan.most_billed_calls
    assert (found["previous"], found["earlier_runs"]) == (None, [])
    assert found["tags"] == {"v*": "v1.0.0"}
    assert found["drafts"] == "Drafts are there: the repository is public."


def test_the_guards_refusal_is_told_and_left_to_the_step_that_follows(
    plan: CadencePlan, client: GitHub, gh: FakeGitHub
) -> None:
    gh.seed_pull(plan.branch, plan.release_sha)["state"] = "closed"
    guard = gathered(plan, client)["guard"]
    assert guard["verdict"] == "refuse"
    assert f"for {plan.branch} was closed without being merged; reopen it" in guard["reason"]


def test_a_pull_request_that_is_there_is_told(plan: CadencePlan, client: GitHub, gh: FakeGitHub) -> None:
    gh.seed_pull(plan.branch, plan.release_sha)
    assert gathered(plan, client)["guard"]["verdict"] == "skip"


def test_a_private_repository_may_have_no_drafts(plan: CadencePlan, client: GitHub, gh: FakeGitHub) -> None:
    gh.private = True
    assert "(M2)" in gathered(plan, client)["drafts"]
