"""Whether a commit is a release, and whether that release has had its run."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from discovercall.cadence.github import GitHub
from discovercall.cadence.guard import Decision, decide
from discovercall.foundation.errors import RefusedError


def literal_prefix(pattern: str) -> str:
    """What every name that matches an `fnmatch` pattern starts with."""
    ends = [pattern.index(sign) for sign in "*?[" if sign in pattern]
    return pattern[: min(ends)] if ends else pattern


def ask_guard(github: GitHub, branch: str) -> Decision:
    """The duplicate guard's decision on what GitHub shows now.

    Raises:
        RefusedError: see `guard.decide`.
        GitHubProblem: GitHub can't be asked.
    """
    return decide(
        branch,
        github.repository().id,
        github.pulls(branch),
        branch_exists=github.branch_commit(branch) is not None,
    )


def check_release(github: GitHub, release_sha: str, patterns: Iterable[str]) -> dict[str, str]:
    """Check that the commit is what every coordinated package released.

    Returns:
        For each pattern the one annotated tag at the commit.

    Raises:
        RefusedError: not on the default branch, or a pattern without exactly one annotated tag there.
        GitHubProblem: GitHub can't be asked.
    """
    default = github.repository().default_branch
    if not github.is_ancestor(release_sha, default):
        raise RefusedError(
            f"{release_sha} is not on the default branch {default}",
            where="--release-sha",
            fix="release from the default branch",
        )
    return {pattern: _one_tag(github, release_sha, pattern) for pattern in patterns}


def _one_tag(github: GitHub, release_sha: str, pattern: str) -> str:
    annotated, lightweight = [], []
    for name, kind, sha in github.tags(literal_prefix(pattern)):
        if not fnmatchcase(name, pattern):
            continue
        if kind == "tag" and github.peel(sha) == release_sha:
            annotated.append(name)
        elif kind != "tag" and sha == release_sha:
            lightweight.append(name)
    if len(annotated) == 1:
        return annotated[0]
    if annotated:
        raise RefusedError(
            f"{', '.join(annotated)} are all at {release_sha}; exactly one tag has to match {pattern}",
            where="release_tags",
        )
    found = f" ({', '.join(lightweight)} is not annotated)" if lightweight else ""
    raise RefusedError(
        f"no annotated tag that matches {pattern} is at {release_sha}{found}",
        where="release_tags",
        fix="tag the release with `git tag -a`",
    )
