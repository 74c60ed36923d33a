"""Messages M1 to M7: what each says to do, and that nothing is written twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from discovercall.cadence.github import GitHub
from discovercall.cadence.problems import GitHubProblem
from discovercall.cadence.proposal import Proposal, propose
from discovercall.foundation.errors import EXIT_NO, EXIT_USAGE
from tests.cadence.conftest import Waits
from tests.support.github.fake_github import FakeGitHub, Fault

SECONDARY = {
    "message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
}


@pytest.fixture
def refusal(client: GitHub, proposal: Proposal) -> Callable[[], GitHubProblem]:
    def attempt() -> GitHubProblem:
        with pytest.raises(GitHubProblem) as caught:
            propose(client, proposal)
        return caught.value

    return attempt


def tries(gh: FakeGitHub, operation: str) -> int:
    return len(gh.calls(operation))


def test_m1_actions_may_not_open_pull_requests(gh: FakeGitHub, proposal: Proposal, refusal: Any) -> None:
    gh.allow_actions_prs = False
    problem = refusal()
    assert (problem.number, problem.exit_code) == ("M1", EXIT_USAGE)
    for needed in ("Settings > Actions > General", "cadence recover", "/compare/main..." + proposal.branch):
        assert needed in str(problem)
    assert f"refs/heads/{proposal.branch}" in gh.refs
    assert tries(gh, "pulls/create") == 1


def test_m2_drafts_unsupported_opens_no_other_kind(gh: FakeGitHub, proposal: Proposal, refusal: Any) -> None:
    gh.drafts_supported = False
    problem = refusal()
    assert (problem.number, problem.exit_code) == ("M2", EXIT_USAGE)
    assert "cadence recover" in str(problem)
    assert [x.request["draft"] for x in gh.calls("pulls/create")] == [True]
    assert not gh.pulls


@pytest.mark.parametrize(
    ("scope", "permission"), [("contents", "contents: write"), ("pull_requests", "pull-requests: write")]
)
def test_m3_names_the_missing_scope(gh: FakeGitHub, refusal: Any, scope: str, permission: str) -> None:
    gh.permissions[scope] = "read"
    problem = refusal()
    assert (problem.number, problem.exit_code) == ("M3", EXIT_USAGE)
    assert permission in str(problem)


def test_m3_a_bad_token_is_told_without_showing_it(gh: FakeGitHub, refusal: Any) -> None:
    gh.token = "another"
    problem = refusal()
    assert problem.number == "M3"
    assert "t0ken" not in str(problem)


def test_m4_the_branch_holds_something_else(gh: FakeGitHub, proposal: Proposal, refusal: Any) -> None:
    other = gh.seed_commit({"x": b"y"})
    gh.refs[f"refs/heads/{proposal.branch}"] = other
    problem = refusal()
    assert (problem.number, problem.exit_code) == ("M4", EXIT_NO)
    assert gh.refs[f"refs/heads/{proposal.branch}"] == other
    assert not gh.writes()


def test_m4_the_branch_came_up_in_between(gh: FakeGitHub, proposal: Proposal, refusal: Any) -> None:
    def race(p: Any, q: Any, b: Any, made: Any = gh.op_git_create_ref) -> Any:
        gh.refs[b["ref"]] = gh.seed_commit({"x": b"y"})
        return made(p, q, b)

    gh.op_git_create_ref = race  # type: ignore[method-assign]
    assert refusal().number == "M4"


def test_m5_rules_forbid_the_branch(gh: FakeGitHub, refusal: Any) -> None:
    gh.refs["refs/heads/benchmark"] = gh.refs["refs/heads/main"]
    problem = refusal()
    assert (problem.number, problem.exit_code) == ("M5", EXIT_USAGE)
    assert "ruleset" in str(problem)
    assert 'called "benchmark"' in str(problem)


def test_m6_a_read_waits_as_told_and_says_so(
    gh: FakeGitHub, client: GitHub, proposal: Proposal, waits: Waits
) -> None:
    gh.faults.append(Fault("pulls/list", status=403, body=SECONDARY, headers={"Retry-After": "7"}))
    assert propose(client, proposal).made
    assert waits.slept == [7.0]
    assert "M6" in waits.said[0]
    assert "7 s" in waits.said[0]


def test_m6_a_wait_too_long_is_not_waited(gh: FakeGitHub, refusal: Any, waits: Waits) -> None:
    gh.faults.append(Fault("pulls/list", status=403, body=SECONDARY, headers={"Retry-After": "3600"}))
    assert refusal().number == "M6"
    assert not waits.slept


@pytest.mark.parametrize("operation", ["git/create-tree", "git/create-ref", "pulls/create"])
def test_m6_a_write_is_not_repeated(
    gh: FakeGitHub, refusal: Any, operation: str, client: GitHub, proposal: Proposal
) -> None:
    gh.faults.append(Fault(operation, status=429, body=SECONDARY, headers={"Retry-After": "9"}))
    problem = refusal()
    assert (problem.number, problem.exit_code) == ("M6", EXIT_NO)
    assert "9 s" in str(problem)
    assert tries(gh, operation) == 1
    assert propose(client, proposal).made  # the same command goes on where this ended
    assert len(gh.pulls) == 1


@pytest.mark.parametrize("kind", ["drop", "status"])
def test_m7_a_pull_request_that_was_not_opened_leaves_an_orphan(
    gh: FakeGitHub, proposal: Proposal, refusal: Any, kind: str
) -> None:
    gh.faults.append(Fault("pulls/create", kind))
    problem = refusal()
    assert (problem.number, problem.exit_code) == ("M7", EXIT_NO)
    assert f"cadence recover --branch {proposal.branch}" in str(problem)
    assert tries(gh, "pulls/create") == 1


@pytest.mark.parametrize("operation", ["git/create-ref", "pulls/create"])
@pytest.mark.parametrize("kind", ["drop", "status"])
def test_m7_what_happened_though_no_answer_came_is_found(
    gh: FakeGitHub, client: GitHub, proposal: Proposal, operation: str, kind: str
) -> None:
    gh.faults.append(Fault(operation, kind, when="after"))
    assert propose(client, proposal).made
    assert tries(gh, operation) == 1
    assert len(gh.pulls) == 1


@pytest.mark.parametrize("operation", ["git/create-tree", "git/create-commit", "git/create-ref"])
def test_m7_nothing_made_says_so(gh: FakeGitHub, proposal: Proposal, refusal: Any, operation: str) -> None:
    gh.faults.append(Fault(operation, "drop"))
    problem = refusal()
    assert problem.number == "M7"
    assert "nothing made" in str(problem)
    assert f"refs/heads/{proposal.branch}" not in gh.refs


def test_an_existing_pull_request_is_success(gh: FakeGitHub, client: GitHub, proposal: Proposal) -> None:
    def second(p: Any, q: Any, b: Any, made: Any = gh.op_pulls_create) -> Any:
        made(p, q, b)
        return made(p, q, b)

    gh.op_pulls_create = second  # type: ignore[method-assign]
    assert not propose(client, proposal).made
    assert len(gh.pulls) == 1


def test_a_label_that_can_not_be_put_is_a_warning(gh: FakeGitHub, client: GitHub, proposal: Proposal) -> None:
    gh.permissions["issues"] = "read"
    done = propose(client, proposal)
    assert done.made
    assert "benchmark-rehearsal" in str(done.warning)


@pytest.mark.parametrize("operation", ["repos/get", "pulls/list", "git/list-matching-refs", "git/get-commit"])
@pytest.mark.parametrize("kind", ["status", "drop"])
def test_reads_are_repeated(
    gh: FakeGitHub, client: GitHub, proposal: Proposal, waits: Waits, operation: str, kind: str
) -> None:
    gh.faults.append(Fault(operation, kind, times=2))
    assert propose(client, proposal).made
    assert waits.slept == [1.0, 2.0]
    assert len(gh.pulls) == 1


def test_reads_are_not_repeated_for_ever(gh: FakeGitHub, refusal: Any, waits: Waits) -> None:
    gh.faults.append(Fault("pulls/list", status=502, times=99))
    assert refusal().number == "M7"
    assert len(waits.slept) == 3
