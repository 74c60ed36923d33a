"""The duplicate guard: whether a release has had its run. Every doubt is an error, never a go-ahead."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass

from discovercall.foundation.errors import InputError, RefusedError


class Verdict(StrEnum):
    """What the guard says when it does not refuse."""

    GO = "go"
    SKIP = "skip"


@checked_dataclass(frozen=True, slots=True, config=ConfigDict(strict=True))
class PullRequest:
    """A pull request as far as the guard looks at it; made from any other types it is a ValueError.

    Args:
        head_repository_id: None where GitHub names none, as for a deleted fork.
        head_sha: commit of its branch.
    """

    number: int
    url: str
    head_ref: str
    head_repository_id: int | None
    head_sha: str
    base_ref: str
    state: str
    merged: bool
    draft: bool
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """Go on, or skip because of a pull request that exists."""

    verdict: Verdict
    reason: str
    pull: PullRequest | None = None


def own_pulls(branch: str, repository_id: int, pulls: Iterable[PullRequest]) -> list[PullRequest]:
    """Pull requests whose head is this branch of this repository; those of forks are left out.

    Raises:
        RefusedError: one has the branch's name and no readable head repository.
    """
    named = {pull.number: pull for pull in pulls if pull.head_ref == branch}
    for pull in named.values():
        if pull.head_repository_id is None:
            raise RefusedError(
                f"pull request #{pull.number} has the head {branch} and GitHub names no repository for it,"
                " so it cannot be told from a run of ours",
                fix=f"have a person look at {pull.url}; nothing is run until it is settled",
            )
    return [pull for _, pull in sorted(named.items()) if pull.head_repository_id == repository_id]


def decide(branch: str, repository_id: int, pulls: Iterable[PullRequest], *, branch_exists: bool) -> Decision:
    """Whether a run for this branch may start.

    Args:
        branch: the branch that the run would make.
        repository_id: GitHub's id of this repository.
        pulls: all pull requests that may have this head, forks' included.
        branch_exists: whether the branch is there.

    Raises:
        RefusedError: closed unmerged, several, unreadable, or an orphan branch; says what to do.
    """
    own = own_pulls(branch, repository_id, pulls)
    if len(own) > 1:
        numbers = ", ".join(f"#{pull.number}" for pull in own)
        raise RefusedError(
            f"{branch} has {len(own)} pull requests ({numbers})", fix="have a person say which one counts"
        )
    if own:
        pull = own[0]
        if pull.merged or pull.state == "open":
            state = "merged" if pull.merged else "open"
            return Decision(Verdict.SKIP, f"pull request #{pull.number} is {state}: no paid run", pull)
        raise RefusedError(
            f"pull request #{pull.number} for {branch} was closed without being merged",
            fix=f"reopen it ({pull.url}) to keep its results; a release is not measured twice",
        )
    if branch_exists:
        raise RefusedError(
            f"the branch {branch} exists without a pull request: an earlier run was cut off",
            fix=f"run `discovercall cadence recover --branch {branch}`",
        )
    return Decision(Verdict.GO, f"no pull request and no branch {branch}")


def check_attempt(attempt: int, accepted: int, most_billed_calls: int) -> int:
    """Refuse a re-run of the measuring job unless somebody answers for what was spent before.

    Args:
        attempt: number of this attempt, from 1 (`GITHUB_RUN_ATTEMPT`).
        accepted: earlier attempts that may have billed, as a person stated.
        most_billed_calls: the most that one attempt can bill.

    Returns:
        The most calls that all attempts together may have billed, this one included.

    Raises:
        InputError: numbers that can't be.
        RefusedError: an earlier attempt that nobody answers for.
    """
    if attempt < 1:
        raise InputError("must be at least 1", where="GITHUB_RUN_ATTEMPT")
    if accepted < 0:
        raise InputError("must not be negative", where="--accept-spent-attempts")
    if attempt - 1 > accepted:
        raise RefusedError(
            f"this is attempt {attempt}: earlier ones may have billed up to"
            f" {(attempt - 1) * most_billed_calls} calls",
            where="GITHUB_RUN_ATTEMPT",
            fix=f"start a new run with accept_spent_attempts = {attempt - 1}, if that is to be spent again",
        )
    return (accepted + 1) * most_billed_calls
