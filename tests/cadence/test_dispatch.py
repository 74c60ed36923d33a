"""Starting the cadence workflow: once, and only for what was published."""

from __future__ import annotations

import pytest

from discovercall.cadence.dispatching import check_published, dispatch_once
from discovercall.cadence.github import GitHub
from discovercall.cadence.problems import GitHubProblem
from discovercall.foundation.errors import RefusedError
from tests.cadence.checkout import Checkout
from tests.support.github.fake_github import FakeGitHub, Fault

WORKFLOW = "discover-call-cadence.yml"
DISPATCH = "actions/create-workflow-dispatch"


def start(client: GitHub, sha: str, slept: list[float], *, rehearsal: bool = False) -> bool:
    return dispatch_once(
        client, sha, workflow=WORKFLOW, rehearsal=rehearsal, inputs={}, sleep=slept.append
    ).started


def test_it_waits_for_every_publish_workflow(gh: FakeGitHub, client: GitHub, checkout: Checkout) -> None:
    gh.workflows["npm.yml"] = {"id": 3, "inputs": {}}
    gh.seed_run("release.yml", head_sha=checkout.sha)
    gh.seed_run("npm.yml", head_sha=gh.refs["refs/heads/main"])  # of another commit
    assert "npm.yml" in str(check_published(client, checkout.sha, ["release.yml", "npm.yml"]))
    running = gh.seed_run("npm.yml", head_sha=checkout.sha, status="in_progress")
    assert check_published(client, checkout.sha, ["release.yml", "npm.yml"])
    # The run that asks is the last of its workflow's jobs.
    assert check_published(client, checkout.sha, ["release.yml", "npm.yml"], running["id"]) is None


def test_a_failed_publication_is_refused_until_it_succeeds(
    gh: FakeGitHub, client: GitHub, checkout: Checkout
) -> None:
    gh.seed_run("release.yml", head_sha=checkout.sha, conclusion="failure")
    with pytest.raises(RefusedError, match="failure"):
        check_published(client, checkout.sha, ["release.yml"])
    gh.seed_run("release.yml", head_sha=checkout.sha)
    assert check_published(client, checkout.sha, ["release.yml"]) is None


def test_once_for_a_release_and_once_for_its_rehearsal(
    gh: FakeGitHub, client: GitHub, checkout: Checkout
) -> None:
    assert start(client, checkout.sha, [])
    assert not start(client, checkout.sha, [])
    assert start(client, checkout.sha, [], rehearsal=True)
    assert not start(client, checkout.sha, [], rehearsal=True)
    assert [entry["inputs"]["rehearsal"] for entry in gh.dispatches] == ["false", "true"]
    assert {entry["ref"] for entry in gh.dispatches} == {"main"}


@pytest.mark.parametrize("kind", ["drop", "status"])
def test_an_unanswered_request_is_looked_after_and_not_repeated(
    gh: FakeGitHub, client: GitHub, checkout: Checkout, kind: str
) -> None:
    gh.faults.append(Fault(DISPATCH, kind, when="after"))
    assert start(client, checkout.sha, [])
    assert len(gh.calls(DISPATCH)) == len(gh.runs) == 1


@pytest.mark.parametrize("kind", ["drop", "status"])
def test_where_no_run_shows_up_a_person_looks(
    gh: FakeGitHub, client: GitHub, checkout: Checkout, kind: str
) -> None:
    gh.faults.append(Fault(DISPATCH, kind))
    slept: list[float] = []
    with pytest.raises(GitHubProblem, match="not sent again") as refusal:
        start(client, checkout.sha, slept)
    assert refusal.value.number == "M7"
    assert len(gh.calls(DISPATCH)) == 1
    assert sum(slept) == 30


def test_a_missing_scope_is_named(gh: FakeGitHub, client: GitHub, checkout: Checkout) -> None:
    gh.permissions["actions"] = "read"
    with pytest.raises(GitHubProblem, match="actions: write") as refusal:
        start(client, checkout.sha, [])
    assert refusal.value.number == "M3"
