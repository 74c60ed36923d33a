"""What goes wrong between us and GitHub, in plain words with what to do: the messages M1 to M7."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discovercall.foundation.errors import EXIT_NO, EXIT_USAGE, DiscovercallError
from discovercall.foundation.retry_after import http_date, retry_after_s

LONGEST_WAIT_SECONDS = 60.0
_LONGEST_TOLD_SECONDS = 3600.0
_SECONDARY = re.compile(r"secondary rate limit|abuse detection", re.IGNORECASE)
_RULES = re.compile(r"reference update failed|rule violations?|protected branch|ruleset", re.IGNORECASE)


class GitHubProblem(DiscovercallError):
    """A numbered message; the configuration is wrong (exit 2), or the answer is no for now (exit 1)."""

    def __init__(self, number: str, what: str, *, fix: str) -> None:
        super().__init__(what, where=number, fix=fix)
        self.number = number
        self.exit_code = EXIT_USAGE if number in ("M1", "M2", "M3", "M5") else EXIT_NO


@dataclass(frozen=True, slots=True)
class Failure:
    """An answer of GitHub that is an error, or no answer at all.

    Args:
        status: HTTP status; None when the connection failed.
        message: GitHub's text, the texts of its `errors` included.
        headers: of the answer, names in lower case.
    """

    status: int | None
    message: str
    headers: Mapping[str, str]

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.status is None or self.status >= 500 or self.is_rate_limit

    @property
    def is_rate_limit(self) -> bool:
        """Whether GitHub asks for fewer requests."""
        return self.status in (403, 429) and (
            self.status == 429
            or "retry-after" in self.headers
            or self.headers.get("x-ratelimit-remaining") == "0"
            or bool(_SECONDARY.search(self.message))
        )

    @property
    def may_have_happened(self) -> bool:
        """Whether a write that failed so may still have taken effect."""
        return self.status is None or self.status >= 500

    def seconds_to_wait(self, now: float, otherwise: float) -> float:
        """How long GitHub asks to wait.

        Args:
            now: seconds since the epoch.
            otherwise: where it names no time.
        """
        asked = retry_after_s(self.headers.get("retry-after"), now)
        if asked is not None:
            return asked
        reset = self.headers.get("x-ratelimit-reset", "")
        if self.headers.get("x-ratelimit-remaining") == "0" and reset.isascii() and reset.isdigit():
            return max(0.0, float(reset) - now)
        return LONGEST_WAIT_SECONDS if self.is_rate_limit else otherwise

    @property
    def seconds_told(self) -> float:
        """How long a person is told to wait, by the clock of the answer itself; an hour at the most."""
        now = http_date(self.headers.get("date", ""), 0.0) or 0.0
        return min(self.seconds_to_wait(now, LONGEST_WAIT_SECONDS), _LONGEST_TOLD_SECONDS)


class GitHubError(Exception):
    """A request that failed, before anybody decided what that means."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def text_of(data: Any, fallback: str) -> str:
    """All of an error body's texts in one line."""
    if not isinstance(data, Mapping):
        return fallback
    parts = [str(data.get("message") or fallback)]
    errors = data.get("errors")
    for error in errors if isinstance(errors, list) else []:
        parts.append(str(error.get("message") or "") if isinstance(error, Mapping) else str(error))
    return " ".join(part for part in parts if part)[:500]


def recover_command(branch: str) -> str:
    """How a person goes on after an orphan."""
    return f"`discovercall cadence recover --branch {branch}`"


def actions_may_not_open_pulls(branch: str, compare_url: str) -> GitHubProblem:
    """M1."""
    return GitHubProblem(
        "M1",
        "GitHub Actions is not permitted to open pull requests here",
        fix="allow it under Settings > Actions > General > Workflow permissions >"
        ' "Allow GitHub Actions to create and approve pull requests" (the setting of the organization comes'
        f" first); the branch {branch} is"
        f" kept ({compare_url}): then run {recover_command(branch)}",
    )


def drafts_unsupported(branch: str) -> GitHubProblem:
    """M2."""
    return GitHubProblem(
        "M2",
        "this repository has no draft pull requests (private, on a plan without them), and no other kind is"
        " opened",
        fix=f"make it public or change the plan; the branch {branch} is kept: then run"
        f" {recover_command(branch)}",
    )


def missing_scope(doing: str, permission: str, github_says: str) -> GitHubProblem:
    """M3."""
    return GitHubProblem(
        "M3",
        f"the token may not {doing} (GitHub: {github_says})",
        fix=f"give the job or the token `{permission}`, and check that the token is of this repository",
    )


def ref_exists(branch: str) -> GitHubProblem:
    """M4."""
    return GitHubProblem(
        "M4",
        f"the branch {branch} exists and holds something else; a branch is never moved or forced",
        fix=f"look at it; to keep what it holds run {recover_command(branch)}",
    )


def ref_forbidden(branch: str, github_says: str) -> GitHubProblem:
    """M5."""
    return GitHubProblem(
        "M5",
        f"the repository's rules forbid the branch {branch} (GitHub: {github_says})",
        fix="let the ruleset allow new branches under benchmark/, and see that no branch is called"
        ' "benchmark"; then run the proposing job again: the bundle is still valid',
    )


def rate_limited(doing: str, seconds: float) -> GitHubProblem:
    """M6."""
    return GitHubProblem(
        "M6",
        f"GitHub asks to wait {seconds:.0f} s (rate limit) and did not {doing}; a write is never repeated",
        fix="run the same command again after that time: it goes on where this ended",
    )


def orphaned(branch: str, github_says: str) -> GitHubProblem:
    """M7, with a branch."""
    return GitHubProblem(
        "M7",
        f"the branch {branch} is an orphan: it was made, but opening its pull request failed ({github_says})"
        " and none is there",
        fix=f"run {recover_command(branch)}",
    )


def unfinished(doing: str, github_says: str) -> GitHubProblem:
    """M7, before anything that counts was written."""
    return GitHubProblem(
        "M7",
        f"GitHub did not {doing} ({github_says}), and looking again shows nothing made",
        fix="run the same command again",
    )


def unanswered(doing: str, github_says: str) -> GitHubProblem:
    """M7, of a read."""
    return GitHubProblem(
        "M7",
        f"GitHub gave no usable answer to the request to {doing} ({github_says})",
        fix="run the same command again: it looks first at what is there",
    )


def explain_write(failure: Failure, *, doing: str, permission: str, branch: str) -> GitHubProblem:
    """The message for a write that GitHub answered with an error.

    Args:
        doing: what was tried, after "did not".
        permission: the scope that it takes.
        branch: the run's branch.
    """
    says = failure.message
    if failure.is_rate_limit:
        return rate_limited(doing, failure.seconds_told)
    if failure.status == 422 and "already exists" in says:
        return ref_exists(branch)
    if failure.status in (403, 409, 422) and _RULES.search(says):
        return ref_forbidden(branch, says)
    if failure.status in (401, 403, 404):
        return missing_scope(doing, permission, says)
    return unfinished(doing, says)
