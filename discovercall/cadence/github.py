"""The edge to GitHub: few reads, which are repeated when they fail, and few writes, which never are.

PyGithub repeats POST by itself unless told otherwise, which for a dispatch or a paid run means doing it
twice; so its own retrying is off and reads are repeated here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from discovercall.cadence.github_facts import (
    Commit,
    Entry,
    Ref,
    RepositoryFacts,
    WorkflowRun,
    pull_request,
    tagged,
    text,
)
from discovercall.cadence.guard import PullRequest
from discovercall.cadence.problems import (
    LONGEST_WAIT_SECONDS,
    Failure,
    GitHubError,
    GitHubProblem,
    missing_scope,
    text_of,
    unanswered,
)
from discovercall.foundation.errors import InputError

if TYPE_CHECKING:
    from github.Repository import Repository as PyGithubRepository

API_VERSION = "2022-11-28"
READ_TRIES = 4
RECENT_PULLS = 300
RECENT_RUNS = 300
MOST_REFS = 10_000
_PAGE = 100
_TIMEOUT_SECONDS = 30
_LONGEST_TAG_CHAIN = 10
# What PyGithub, or looking at its objects, fails with where an answer isn't what GitHub describes.
_UNREADABLE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
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
        self._known: tuple[PyGithubRepository, RepositoryFacts] | None = None

    # Reads

    def repository(self) -> RepositoryFacts:
        """The repository itself."""
        return self._told()[1]

    def pulls(self, branch: str) -> list[PullRequest]:
        """Every pull request that may have this head.

        Asked twice, by head and among the recent ones, for the head filter has been seen to answer with
        nothing although there was one, and with everything.
        """
        owner = self.repository().owner

        def by_head() -> list[PullRequest]:
            wanted = {"state": "all", "head": f"{owner}:{branch}"}
            return [pull_request(row) for row in self._rows("/pulls", wanted, RECENT_PULLS)]

        def recent() -> list[PullRequest]:
            wanted = {"state": "all", "sort": "created", "direction": "desc"}
            return [pull_request(row) for row in self._rows("/pulls", wanted, RECENT_PULLS)]

        scope = ("list pull requests", "pull-requests: read")
        both = [*self._read(by_head, *scope), *self._read(recent, *scope)]
        unique = {pull.number: pull for pull in both if pull.head_ref == branch}
        return [pull for _, pull in sorted(unique.items())]

    def branches(self, prefix: str) -> dict[str, str]:
        """Commits of all branches whose name starts so, by name."""
        return {ref.name.removeprefix("refs/heads/"): ref.sha for ref in self._refs(f"heads/{prefix}")}

    def branch_commit(self, branch: str) -> str | None:
        """The commit of exactly this branch; None where there is none."""
        return self.branches(branch).get(branch)

    def tags(self, prefix: str) -> list[tuple[str, str, str]]:
        """Tags whose name starts so: name, kind (`tag` for an annotated one, else `commit`) and id."""
        return [
            (ref.name.removeprefix("refs/tags/"), ref.kind, ref.sha) for ref in self._refs(f"tags/{prefix}")
        ]

    def peel(self, tag_sha: str) -> str | None:
        """The commit that an annotated tag names, over tags of tags; None where it names something else."""
        repo = self._repository()
        kind, sha = "tag", tag_sha
        for _ in range(_LONGEST_TAG_CHAIN):
            if kind != "tag":
                break
            named = self._read(lambda sha=sha: tagged(repo.get_git_tag(sha)), "read tags", "contents: read")  # type: ignore[misc]
            kind, sha = named.kind, named.sha
        return sha if kind == "commit" else None

    def is_ancestor(self, sha: str, branch: str) -> bool:
        """Whether a commit is the branch's tip or behind it."""
        repo = self._repository()
        try:
            status = self._try_read(lambda: text(repo.compare(branch, sha).status))
        except GitHubError as error:
            if error.failure.status in (404, 422):
                return False
            raise self._refusal(error.failure, "compare commits", "contents: read") from None
        return status in ("behind", "identical")

    def commit(self, sha: str) -> Commit:
        """A commit."""
        repo = self._repository()

        def found() -> Commit:
            told = repo.get_git_commit(sha)
            return Commit(told.sha, told.tree.sha, tuple(parent.sha for parent in told.parents), told.message)

        return self._read(found, "read commits", "contents: read")

    def files(self, tree_sha: str) -> dict[str, Entry]:
        """A tree's files, links and submodules by path.

        Raises:
            InputError: the tree is too large to be listed.
        """
        repo = self._repository()

        def listed() -> tuple[dict[str, Entry], bool]:
            tree = repo.get_git_tree(tree_sha, recursive=True)
            entries = {
                text(entry.path): Entry(text(entry.mode), text(entry.sha))
                for entry in tree.tree
                if text(entry.type) != "tree"
            }
            return entries, bool(tree.raw_data.get("truncated"))

        entries, truncated = self._read(listed, "read files", "contents: read")
        if truncated:
            raise InputError("the repository has too many files to be listed", where="GitHub")
        return entries

    def blob(self, sha: str) -> bytes:
        """Content of a file."""
        import base64

        repo = self._repository()

        def content() -> bytes:
            found = repo.get_git_blob(sha)
            data = text(found.content)
            return base64.b64decode(data) if found.encoding == "base64" else data.encode()

        return self._read(content, "read files", "contents: read")

    def runs(self, workflow: str, *, head_sha: str | None = None) -> list[WorkflowRun]:
        """The newest runs of a workflow.

        Args:
            workflow: its file name.
            head_sha: only those of this commit.
        """
        wanted = {"head_sha": head_sha} if head_sha else {}

        def listed() -> list[WorkflowRun]:
            path = f"/actions/workflows/{quote(workflow, safe='')}/runs"
            return [
                WorkflowRun(
                    row["id"], row["display_title"], row["status"], row["conclusion"], row["html_url"]
                )
                for row in self._rows(path, wanted, RECENT_RUNS, name="workflow_runs")
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
            self._library.InputGitTreeElement(path, "100644", "blob", content=content)
            for path, content in files.items()
        ]
        base = self._read(lambda: repo.get_git_commit(parent.sha), "read commits", "contents: read")
        tree = self._write(lambda: repo.create_git_tree(elements, base.tree))
        # Without author and committer GitHub can sign the commit, which rulesets may ask for.
        return self._write(lambda: text(repo.create_git_commit(message, tree, [base]).sha))

    def create_branch(self, branch: str, sha: str) -> None:
        """Make a branch; an existing one is never moved."""
        repo = self._repository()
        self._write(lambda: repo.create_git_ref(f"refs/heads/{branch}", sha))

    def open_draft(self, *, branch: str, base: str, title: str, body: str) -> PullRequest:
        """Open a draft pull request."""
        repo = self._repository()
        wanted = {
            "title": title, "body": body, "head": branch, "base": base,
            "draft": True, "maintainer_can_modify": False,
        }  # fmt: skip
        return self._write(
            lambda: pull_request(
                self._client.requester.requestJsonAndCheck("POST", f"{repo.url}/pulls", input=wanted)[1]
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
        url = f"{self._repository().url}/actions/workflows/{quote(workflow, safe='')}/dispatches"
        wanted = {"ref": ref, "inputs": dict(inputs)}
        self._write(lambda: self._client.requester.requestJsonAndCheck("POST", url, input=wanted))

    # Helpers

    def _repository(self) -> PyGithubRepository:
        return self._told()[0]

    def _told(self) -> tuple[PyGithubRepository, RepositoryFacts]:
        def told() -> tuple[PyGithubRepository, RepositoryFacts]:
            repo = self._client.get_repo(self._access.repository)
            return repo, RepositoryFacts(
                repo.id, repo.full_name, repo.owner.login, repo.default_branch, repo.private, repo.html_url
            )

        if self._known is None:
            self._known = self._read(told, f"read {self._access.repository}", "contents: read")
        return self._known

    def _refs(self, start: str) -> list[Ref]:
        def listed() -> list[Ref]:
            path = f"/git/matching-refs/{quote(start, safe='')}"
            found = self._rows(path, {}, MOST_REFS)
            if len(found) == MOST_REFS:
                raise ValueError("too many to be sure that one is missing")
            return [Ref(row["ref"], row["object"]["type"], row["object"]["sha"]) for row in found]

        return self._read(listed, "list branches and tags", "contents: read")

    def _rows(
        self, path: str, wanted: Mapping[str, str], most: int, *, name: str | None = None
    ) -> list[dict[str, Any]]:
        """The first rows of a list, over its pages.

        PyGithub's own lists take `null`, or an object without rows, for an empty list: a guard that believes
        it would let a run be paid twice.

        Args:
            name: of the member that holds the rows, where the answer is an object.
        """
        url, rows = f"{self._repository().url}{path}", []
        for page in range(1, -(-most // _PAGE) + 1):
            parameters = {**wanted, "per_page": _PAGE, **({"page": page} if page > 1 else {})}
            headers, data = self._client.requester.requestJsonAndCheck("GET", url, parameters=parameters)
            found = data if name is None else data[name]
            if not isinstance(found, list):
                raise TypeError("no list")
            rows += found
            if 'rel="next"' not in headers.get("link", ""):
                break
        return rows[:most]

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
        return unanswered(doing, failure.message)

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
        except (self._library.BadAttributeException, *_UNREADABLE) as error:
            # A page of a proxy, half an answer, other types: nothing that GitHub says.
            raise GitHubError(
                Failure(None, f"no answer that can be read: {type(error).__name__}", {})
            ) from None
