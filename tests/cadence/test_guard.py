"""The duplicate guard and the attempt rule, as pure decisions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall.cadence.guard import PullRequest, Verdict, check_attempt, decide, own_pulls
from discovercall.foundation.errors import DiscovercallError, InputError, RefusedError

BRANCH, OWN, FORK = "benchmark/cadence-0123456789ab", 7, 8
PULL = PullRequest(1, "https://github.com/a/b/pull/1", BRANCH, OWN, "c" * 40, "main", "open", False, True)


def test_nothing_there_goes_on() -> None:
    assert decide(BRANCH, OWN, [], branch_exists=False).verdict is Verdict.GO


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("branch_exists", [False, True])
def test_open_or_merged_skips(merged: bool, branch_exists: bool) -> None:
    pull = replace(PULL, state="closed" if merged else "open", merged=merged)
    decision = decide(BRANCH, OWN, [pull], branch_exists=branch_exists)
    assert decision.verdict is Verdict.SKIP
    assert decision.pull == pull


@pytest.mark.parametrize(
    ("pulls", "branch_exists", "says"),
    [
        ([replace(PULL, state="closed")], False, "closed without being merged"),
        ([PULL, replace(PULL, number=2)], False, "2 pull requests"),
        ([replace(PULL, head_repository_id=None)], False, "names no repository"),
        ([PULL, replace(PULL, number=2, head_repository_id=None)], True, "names no repository"),
        ([replace(PULL, head_repository_id=FORK)], True, "cadence recover --branch " + BRANCH),
        ([], True, "cadence recover --branch " + BRANCH),
    ],
)
def test_every_doubt_is_an_error(pulls: list[PullRequest], branch_exists: bool, says: str) -> None:
    with pytest.raises(RefusedError, match=says):
        decide(BRANCH, OWN, pulls, branch_exists=branch_exists)


def test_forks_and_other_branches_do_not_count() -> None:
    others = [
        replace(PULL, head_repository_id=FORK),
        replace(PULL, number=2, head_ref=BRANCH + "0"),
        replace(PULL, number=3, head_ref="other", head_repository_id=None),
    ]
    assert decide(BRANCH, OWN, others, branch_exists=False).verdict is Verdict.GO


pulls = st.builds(
    PullRequest,
    number=st.integers(1, 9),
    url=st.just("u"),
    head_ref=st.sampled_from([BRANCH, BRANCH + "x", "main"]),
    head_repository_id=st.sampled_from([OWN, FORK, None]),
    head_sha=st.just("c" * 40),
    base_ref=st.just("main"),
    state=st.sampled_from(["open", "closed"]),
    merged=st.booleans(),
    draft=st.booleans(),
)


@settings(deadline=None)
@given(st.lists(pulls, max_size=4), st.booleans())
def test_it_never_goes_on_beside_a_trace_of_an_earlier_run(
    found: list[PullRequest], branch_exists: bool
) -> None:
    try:
        verdict = decide(BRANCH, OWN, found, branch_exists=branch_exists).verdict
    except RefusedError:
        return
    unique = {pull.number: pull for pull in found if pull.head_ref == BRANCH}
    traces = [pull for pull in unique.values() if pull.head_repository_id != FORK]
    assert (verdict is Verdict.GO) == (not traces and not branch_exists)


@pytest.mark.parametrize(
    ("attempt", "accepted", "most"), [(1, 0, 108), (1, 1, 216), (2, 1, 216), (3, 2, 324), (2, 5, 648)]
)
def test_attempts_that_somebody_answers_for(attempt: int, accepted: int, most: int) -> None:
    assert check_attempt(attempt, accepted, 108) == most


@pytest.mark.parametrize(
    ("pulls", "branch_exists", "reason"),
    [
        ([], False, f"no pull request and no branch {BRANCH}"),
        ([PULL], True, "pull request #1 is open: no paid run"),
        ([replace(PULL, merged=True)], True, "pull request #1 is merged: no paid run"),
    ],
)
def test_a_decision_says_why(pulls: list[PullRequest], branch_exists: bool, reason: str) -> None:
    assert decide(BRANCH, OWN, pulls, branch_exists=branch_exists).reason == reason


@pytest.mark.parametrize(
    ("pulls", "line"),
    [
        (
            [replace(PULL, state="closed")],
            f"pull request #1 for {BRANCH} was closed without being merged; reopen it"
            " (https://github.com/a/b/pull/1) to keep its results; a release is not measured twice",
        ),
        (
            [replace(PULL, number=2), PULL],
            f"{BRANCH} has 2 pull requests (#1, #2); have a person say which one counts",
        ),
        (
            [replace(PULL, head_repository_id=None)],
            f"pull request #1 has the head {BRANCH} and GitHub names no repository for it, so it cannot be"
            " told from a run of ours; have a person look at https://github.com/a/b/pull/1; nothing is run"
            " until it is settled",
        ),
        (
            [],
            f"the branch {BRANCH} exists without a pull request: an earlier run was cut off; run"
            f" `discovercall cadence recover --branch {BRANCH}`",
        ),
    ],
)
def test_a_refusal_says_what_a_person_is_to_do(pulls: list[PullRequest], line: str) -> None:
    with pytest.raises(RefusedError) as refusal:
        decide(BRANCH, OWN, pulls, branch_exists=True)
    assert str(refusal.value) == line


def test_pull_requests_of_the_branch_come_in_the_order_of_their_numbers() -> None:
    found = [replace(PULL, number=3), replace(PULL, number=2, head_repository_id=FORK), PULL]
    assert [pull.number for pull in own_pulls(BRANCH, OWN, found)] == [1, 3]


@pytest.mark.parametrize(
    ("attempt", "accepted", "line"),
    [
        (0, 0, "GITHUB_RUN_ATTEMPT: must be at least 1"),
        (-1, 5, "GITHUB_RUN_ATTEMPT: must be at least 1"),
        (1, -1, "--accept-spent-attempts: must not be negative"),
        (
            2,
            0,
            "GITHUB_RUN_ATTEMPT: this is attempt 2: earlier ones may have billed up to 108 calls; start a new"
            " run with accept_spent_attempts = 1, if that is to be spent again",
        ),
        (
            4,
            2,
            "GITHUB_RUN_ATTEMPT: this is attempt 4: earlier ones may have billed up to 324 calls; start a new"
            " run with accept_spent_attempts = 3, if that is to be spent again",
        ),
    ],
)
def test_attempts_that_nobody_answers_for(attempt: int, accepted: int, line: str) -> None:
    with pytest.raises(DiscovercallError) as refusal:
        check_attempt(attempt, accepted, 108)
    assert str(refusal.value) == line
    assert isinstance(refusal.value, InputError) is (attempt < 1 or accepted < 0)
