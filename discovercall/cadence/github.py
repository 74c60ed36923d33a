"""One repository on GitHub, as the cadence sees it: few reads and few writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING
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
from discovercall.cadence.github_requests import Access, GitHubRequests, Surroundings
from discovercall.cadence.guard import PullRequest
from discovercall.cadence.problems import GitHubError
from discovercall.foundation.errors import InputError

if TYPE_CHECKING:
    from github.Repository import Repository as PyGithubRepository

RECENT_PULLS = 300
RECENT_RUNS = 300
MOST_REFS = 10_000
_LONGEST_TAG_CHAIN = 10


class GitHub:
    """One repository on GitHub, as the cadence sees it.

    Reads raise `GitHubProblem` once they have failed for good; writes raise `GitHubError` at once, for
    their callers have to look what happened before they can say anything.

    Args:
        access: which repository, and as whom.
        surroundings: how to wait and to say so.

    Raises:
        InputError: the token or the repository's name can't be right.
    """

    def __init__(self, access: Access, surroundings: Surroundings) -> None:
        self._access = access
        self._requests = GitHubRequests(access, surroundings)
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
            return [
                pull_request(row) for row in self._requests.rows(self._url("/pulls"), wanted, RECENT_PULLS)
            ]

        def recent() -> list[PullRequest]:
            wanted = {"state": "all", "sort": "created", "direction": "desc"}
            return [
                pull_request(row) for row in self._requests.rows(self._url("/pulls"), wanted, RECENT_PULLS)
            ]

        scope = ("list pull requests", "pull-requests: read")
        both = [*self._requests.read(by_head, *scope), *self._requests.read(recent, *scope)]
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

        def named(sha: str) -> Ref:
            return tagged(repo.get_git_tag(sha))

        kind, sha = "tag", tag_sha
        for _ in range(_LONGEST_TAG_CHAIN):
            if kind != "tag":
                break
            found = self._requests.read(partial(named, sha), "read tags", "contents: read")
            kind, sha = found.kind, found.sha
        return sha if kind == "commit" else None

    def is_ancestor(self, sha: str, branch: str) -> bool:
        """Whether a commit is the branch's tip or behind it."""
        repo = self._repository()
        try:
            status = self._requests.try_read(lambda: text(repo.compare(branch, sha).status))
        except GitHubError as error:
            if error.failure.status in (404, 422):
                return False
            raise self._requests.refusal(error.failure, "compare commits", "contents: read") from None
        return status in ("behind", "identical")

    def commit(self, sha: str) -> Commit:
        """A commit."""
        repo = self._repository()

        def found() -> Commit:
            told = repo.get_git_commit(sha)
            return Commit(told.sha, told.tree.sha, tuple(parent.sha for parent in told.parents), told.message)

        return self._requests.read(found, "read commits", "contents: read")

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

        entries, truncated = self._requests.read(listed, "read files", "contents: read")
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

        return self._requests.read(content, "read files", "contents: read")

    def runs(self, workflow: str, *, head_sha: str | None = None) -> list[WorkflowRun]:
        """The newest runs of a workflow.

        Args:
            workflow: its file name.
            head_sha: only those of this commit.
        """
        wanted = {"head_sha": head_sha} if head_sha else {}

        def listed() -> list[WorkflowRun]:
            url = self._url(f"/actions/workflows/{quote(workflow, safe='')}/runs")
            return [
                WorkflowRun(
                    row["id"], row["display_title"], row["status"], row["conclusion"], row["html_url"]
                )
                for row in self._requests.rows(url, wanted, RECENT_RUNS, name="workflow_runs")
            ]

        return self._requests.read(listed, f"list runs of {workflow}", "actions: read")

    # Writes: sent once

    def create_commit(self, files: Mapping[str, str], message: str, parent: Commit) -> str:
        """Make a commit that adds files to its parent's; no branch points to it yet.

        Args:
            files: texts by path, sent inside the tree.
        """
        from github import InputGitTreeElement

        repo = self._repository()
        elements = [
            InputGitTreeElement(path, "100644", "blob", content=content) for path, content in files.items()
        ]
        base = self._requests.read(lambda: repo.get_git_commit(parent.sha), "read commits", "contents: read")
        tree = self._requests.send(lambda: repo.create_git_tree(elements, base.tree))
        # Without author and committer GitHub can sign the commit, which rulesets may ask for.
        return self._requests.send(lambda: text(repo.create_git_commit(message, tree, [base]).sha))

    def create_branch(self, branch: str, sha: str) -> None:
        """Make a branch; an existing one is never moved."""
        repo = self._repository()
        self._requests.send(lambda: repo.create_git_ref(f"refs/heads/{branch}", sha))

    def open_draft(self, *, branch: str, base: str, title: str, body: str) -> PullRequest:
        """Open a draft pull request."""
        url = self._url("/pulls")
        wanted = {
            "title": title, "body": body, "head": branch, "base": base,
            "draft": True, "maintainer_can_modify": False,
        }  # fmt: skip
        return self._requests.send(lambda: pull_request(self._requests.post(url, wanted)))

    def add_labels(self, number: int, labels: Iterable[str]) -> None:
        """Put labels on a pull request."""
        url = self._url(f"/issues/{number}/labels")
        # PyGithub sends a bare list, which GitHub's description no longer has.
        body = {"labels": list(labels)}
        self._requests.send(lambda: self._requests.post(url, body))

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> None:
        """Start a workflow."""
        url = self._url(f"/actions/workflows/{quote(workflow, safe='')}/dispatches")
        wanted = {"ref": ref, "inputs": dict(inputs)}
        self._requests.send(lambda: self._requests.post(url, wanted))

    # Helpers

    def _repository(self) -> PyGithubRepository:
        return self._told()[0]

    def _url(self, path: str) -> str:
        return f"{self._repository().url}{path}"

    def _told(self) -> tuple[PyGithubRepository, RepositoryFacts]:
        def told() -> tuple[PyGithubRepository, RepositoryFacts]:
            repo = self._requests.client.get_repo(self._access.repository)
            return repo, RepositoryFacts(
                repo.id, repo.full_name, repo.owner.login, repo.default_branch, repo.private, repo.html_url
            )

        if self._known is None:
            self._known = self._requests.read(told, f"read {self._access.repository}", "contents: read")
        return self._known

    def _refs(self, start: str) -> list[Ref]:
        def listed() -> list[Ref]:
            url = self._url(f"/git/matching-refs/{quote(start, safe='')}")
            found = self._requests.rows(url, {}, MOST_REFS)
            if len(found) == MOST_REFS:
                raise ValueError("too many to be sure that one is missing")
            return [Ref(row["ref"], row["object"]["type"], row["object"]["sha"]) for row in found]

        return self._requests.read(listed, "list branches and tags", "contents: read")
