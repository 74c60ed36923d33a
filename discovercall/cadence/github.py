"""The edge to GitHub: few reads, which are repeated when they fail, and few writes, which never are.

PyGithub repeats POST by itself unless told otherwise, which for a dispatch or a paid run means doing it
twice; so its own retrying is off and reads are repeated here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from discovercall.cadence.guard import PullRequest
from discovercall.cadence.problems import (
    LONGEST_WAIT_SECONDS,
    Failure,
    GitHubError,
    GitHubProblem,
    missing_scope,
    text_of,
    unfinished,
)
from discovercall.foundation.errors import InputError

if TYPE_CHECKING:
    from github.GitRef import GitRef
    from github.PullRequest import PullRequest as PyGithubPull
    from github.Repository import Repository as PyGithubRepository
    from github.Workflow import Workflow

API_VERSION = "2022-11-28"
READ_TRIES = 4
RECENT_PULLS = 300
RECENT_RUNS = 300
_PAGE = 100
_TIMEOUT_SECONDS = 30
_LONGEST_TAG_CHAIN = 10
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach one repository.

    Args:
        base_url: of the REST API; an Enterprise server's is `https://HOST/api/v3`.
        repository: `owner/name`.
        token: never shown.
        paced: whether writes keep GitHub's wished distance of a second.
    """

    base_url: str
    repository: str
    token: str
    paced: bool = True


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """What the cadence needs to know of the repository."""

    id: int
    full_name: str
    owner: str
    default_branch: str
    private: bool
    url: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the repository, its files by path with their blob ids."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True)
class WorkflowRun:
    """One run of a workflow."""

    id: int
    title: str
    status: str
    conclusion: str | None
    url: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Clock and voice of the client.

    Args:
        now: seconds since the epoch.
        sleep: waits that many seconds.
        say: tells a person one line.
    """

    now: Callable[[], float]
    sleep: Callable[[float], None]
    say: Callable[[str], None]


class GitHub:
    """One repository on GitHub, as the cadence sees it.

    Reads raise `GitHubProblem` once they have failed for good; writes raise `GitHubError` at once, for
    their callers have to look what happened before they can say anything.
    """

    def __init__(self, access: Access, surroundings: Surroundings) -> None:
        import github

        logging.getLogger("github").setLevel(logging.CRITICAL)  # it writes to stderr by itself
        token = access.token.strip()
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise InputError("is missing or no token", where="GITHUB_TOKEN")  # its text must not be shown
        if access.repository.count("/") != 1:
            raise InputError("must be owner/name", where="GITHUB_REPOSITORY")
        self._library = github
        self._around = surroundings
        self._access = access
        self._client = github.Github(
            base_url=access.base_url,
            auth=github.Auth.Token(token),
            timeout=_TIMEOUT_SECONDS,
            retry=None,
            per_page=_PAGE,
            user_agent="discovercall",
            api_version=API_VERSION,
            seconds_between_requests=0,
            seconds_between_writes=1.0 if access.paced else 0,
        )
        self._repo: PyGithubRepository | None = None

    # Reads

    def repository(self) -> RepositoryFacts:
        """The repository itself."""
        repo = self._repository()
        return RepositoryFacts(
            repo.id, repo.full_name, repo.owner.login, repo.default_branch, repo.private, repo.html_url
        )

    def pulls(self, branch: str) -> list[PullRequest]:
        """Every pull request that may have this head.

        Asked twice, by head and among the recent ones, for the head filter has been seen to answer with
        nothing although there was one, and with everything.
        """
        repo = self._repository()

        def by_head() -> list[PullRequest]:
            found = repo.get_pulls(state="all", head=f"{repo.owner.login}:{branch}")
            return [_pull(pull) for pull in _first(found, RECENT_PULLS)]

        def recent() -> list[PullRequest]:
            found = repo.get_pulls(state="all", sort="created", direction="desc")
            return [_pull(pull) for pull in _first(found, RECENT_PULLS)]

        scope = ("list pull requests", "pull-requests: read")
        both = [*self._read(by_head, *scope), *self._read(recent, *scope)]
        unique = {pull.number: pull for pull in both if pull.head_ref == branch}
        return [pull for _, pull in sorted(unique.items())]

    def branches(self, prefix: str) -> dict[str, str]:
        """Commits of all branches whose name starts so, by name."""
        return {ref.ref.removeprefix("refs/heads/"): ref.object.sha for ref in self._refs(f"heads/{prefix}")}

    def branch_commit(self, branch: str) -> str | None:
        """The commit of exactly this branch; None where there is none."""
        return self.branches(branch).get(branch)

    def tags(self, prefix: str) -> list[tuple[str, str, str]]:
        """Tags whose name starts so: name, kind (`tag` for an annotated one, else `commit`) and id."""
        return [
            (ref.ref.removeprefix("refs/tags/"), ref.object.type, ref.object.sha)
            for ref in self._refs(f"tags/{prefix}")
        ]

    def peel(self, tag_sha: str) -> str | None:
        """The commit that an annotated tag names, over tags of tags; None where it names something else."""
        repo = self._repository()
        kind, sha = "tag", tag_sha
        for _ in range(_LONGEST_TAG_CHAIN):
            if kind != "tag":
                break
            tag = self._read(lambda sha=sha: repo.get_git_tag(sha), "read tags", "contents: read")  # type: ignore[misc]
            kind, sha = tag.object.type, tag.object.sha
        return sha if kind == "commit" else None

    def is_ancestor(self, sha: str, branch: str) -> bool:
        """Whether a commit is the branch's tip or behind it."""
        repo = self._repository()
        try:
            comparison = self._try_read(lambda: repo.compare(branch, sha))
        except GitHubError as error:
            if error.failure.status in (404, 422):
                return False
            raise self._refusal(error.failure, "compare commits", "contents: read") from None
        return comparison.status in ("behind", "identical")

    def commit(self, sha: str) -> Commit:
        """A commit."""
        repo = self._repository()
        found = self._read(lambda: repo.get_git_commit(sha), "read commits", "contents: read")
        return Commit(found.sha, found.tree.sha, tuple(parent.sha for parent in found.parents), found.message)

    def files(self, tree_sha: str) -> dict[str, str]:
        """Blob ids of a tree's files by path.

        Raises:
            InputError: the tree is too large to be listed.
        """
        repo = self._repository()
        tree = self._read(lambda: repo.get_git_tree(tree_sha, recursive=True), "read files", "contents: read")
        if tree.raw_data.get("truncated"):
            raise InputError("the repository has too many files to be listed", where="GitHub")
        return {entry.path: entry.sha for entry in tree.tree if entry.type == "blob"}

    def blob(self, sha: str) -> bytes:
        """Content of a file."""
        import base64

        repo = self._repository()
        found = self._read(lambda: repo.get_git_blob(sha), "read files", "contents: read")
        return base64.b64decode(found.content) if found.encoding == "base64" else found.content.encode()

    def runs(self, workflow: str, *, head_sha: str | None = None) -> list[WorkflowRun]:
        """The newest runs of a workflow.

        Args:
            workflow: its file name.
            head_sha: only those of this commit.
        """
        handle = self._workflow(workflow)

        def listed() -> list[WorkflowRun]:
            found = handle.get_runs(head_sha=head_sha) if head_sha else handle.get_runs()
            return [
                WorkflowRun(run.id, run.display_title, run.status, run.conclusion, run.html_url)
                for run in _first(found, RECENT_RUNS)
            ]

        return self._read(listed, f"list runs of {workflow}", "actions: read")

    # Writes: sent once

    def create_commit(self, files: Mapping[str, str], message: str, parent: Commit) -> str:
        """Make a commit that adds files to its parent's; no branch points to it yet.

        Args:
            files: texts by path, sent inside the tree.
        """
        repo = self._repository()
        elements = [
            self._library.InputGitTreeElement(path, "100644", "blob", content=text)
            for path, text in files.items()
        ]
        base = self._read(lambda: repo.get_git_commit(parent.sha), "read commits", "contents: read")
        tree = self._write(lambda: repo.create_git_tree(elements, base.tree))
        # Without author and committer GitHub can sign the commit, which rulesets may ask for.
        return self._write(lambda: repo.create_git_commit(message, tree, [base])).sha

    def create_branch(self, branch: str, sha: str) -> None:
        """Make a branch; an existing one is never moved."""
        repo = self._repository()
        self._write(lambda: repo.create_git_ref(f"refs/heads/{branch}", sha))

    def open_draft(self, *, branch: str, base: str, title: str, body: str) -> PullRequest:
        """Open a draft pull request."""
        repo = self._repository()
        return _pull(
            self._write(
                lambda: repo.create_pull(
                    base, branch, title=title, body=body, draft=True, maintainer_can_modify=False
                )
            )
        )

    def add_labels(self, number: int, labels: Iterable[str]) -> None:
        """Put labels on a pull request."""
        repo = self._repository()
        url = f"{repo.url}/issues/{number}/labels"
        # PyGithub sends a bare list, which GitHub's description no longer has.
        body = {"labels": list(labels)}
        self._write(lambda: self._client.requester.requestJsonAndCheck("POST", url, input=body))

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> None:
        """Start a workflow."""
        handle = self._workflow(workflow)
        # By default it answers False to an error and says nothing.
        self._write(lambda: handle.create_dispatch(ref, dict(inputs), throw=True))

    # Helpers

    def _repository(self) -> PyGithubRepository:
        if self._repo is None:
            self._repo = self._read(
                lambda: self._client.get_repo(self._access.repository),
                f"read {self._access.repository}",
                "contents: read",
            )
        return self._repo

    def _refs(self, start: str) -> list[GitRef]:
        repo = self._repository()
        return self._read(
            lambda: list(repo.get_git_matching_refs(start)), "list branches and tags", "contents: read"
        )

    def _workflow(self, name: str) -> Workflow:
        repo = self._repository()
        return self._read(lambda: repo.get_workflow(name), f"find the workflow {name}", "actions: read")

    def _read(self, request: Callable[[], T], doing: str, permission: str) -> T:
        try:
            return self._try_read(request)
        except GitHubError as error:
            raise self._refusal(error.failure, doing, permission) from None

    def _refusal(self, failure: Failure, doing: str, permission: str) -> GitHubProblem:
        if failure.status in (401, 403, 404) and not failure.is_rate_limit:
            return missing_scope(doing, permission, failure.message)
        if failure.is_rate_limit:
            return GitHubProblem(
                "M6",
                f"GitHub's rate limit lasts too long to {doing}",
                fix="run the same command again later: nothing was written",
            )
        return unfinished(doing, failure.message)

    def _try_read(self, request: Callable[[], T]) -> T:
        for tried in range(1, READ_TRIES + 1):
            try:
                return self._write(request)
            except GitHubError as error:
                failure = error.failure
                wait = failure.seconds_to_wait(self._around.now(), 2.0 ** (tried - 1))
                if not failure.is_transient or tried == READ_TRIES or wait > LONGEST_WAIT_SECONDS:
                    raise
                if failure.is_rate_limit:
                    self._around.say(f"M6: GitHub asks to wait (rate limit): waiting {wait:.0f} s")
                self._around.sleep(wait)
        raise AssertionError("unreachable")

    def _write(self, request: Callable[[], T]) -> T:
        """One request, its error as a value that can be looked at."""
        import requests

        try:
            return request()
        except self._library.GithubException as error:
            headers = {name.lower(): value for name, value in (error.headers or {}).items()}
            raise GitHubError(
                Failure(error.status, text_of(error.data, f"HTTP {error.status}"), headers)
            ) from None
        except requests.RequestException as error:
            # Its text may hold header values, so only its kind is told.
            raise GitHubError(Failure(None, f"no answer: {type(error).__name__}", {})) from None


def _first(found: Iterable[T], most: int) -> Iterable[T]:
    from itertools import islice

    return islice(found, most)


def _pull(pull: PyGithubPull) -> PullRequest:
    # Only attributes that a list's rows have: any other, and raw_data, would cost a request a row.
    repository = pull.head.repo
    return PullRequest(
        number=pull.number,
        url=pull.html_url,
        head_ref=pull.head.ref,
        head_repository_id=repository.id if repository is not None else None,
        head_sha=pull.head.sha,
        base_ref=pull.base.ref,
        state=pull.state,
        merged=pull.merged_at is not None,
        draft=pull.draft,
        labels=tuple(label.name for label in pull.labels),
    )
