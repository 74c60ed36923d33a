"""From a bundle to a draft pull request: validated again, scanned, committed on one new branch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from discovercall.cadence.bundle import Bundle
from discovercall.cadence.document import RunFacts, release_report
from discovercall.cadence.evidence import Results, check_provenance, check_spent, read_results
from discovercall.cadence.github import GitHub
from discovercall.cadence.github_facts import Entry, RepositoryFacts
from discovercall.cadence.guard import PullRequest, own_pulls
from discovercall.cadence.headline import RESULTS, headline_pages
from discovercall.cadence.names import LABEL, REHEARSAL_LABEL, pull_title
from discovercall.cadence.plan import CadencePlan, check_same_plan
from discovercall.cadence.problems import (
    Failure,
    GitHubError,
    actions_may_not_open_pulls,
    drafts_unsupported,
    explain_write,
    orphaned,
    rate_limited,
    ref_exists,
    unfinished,
)
from discovercall.foundation.errors import RefusedError
from discovercall.publication.policy import Policy, plain_name
from discovercall.publication.secret_scan import SecretScanner
from discovercall.report.markdown import one_line
from discovercall.report.pull_request import pull_request_body
from discovercall.report.release import results_section


@dataclass(frozen=True, slots=True)
class Proposal:
    """Everything that will be written, before anything is.

    Attributes:
        files: texts by path from the repository's top; nothing else is committed.
    """

    branch: str
    files: Mapping[str, str]
    title: str
    body: str
    message: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proposed:
    """A pull request that is there; `made` says whether this call opened it."""

    pull: PullRequest
    made: bool
    warning: str | None = None


def results_of_bundle(bundle: Bundle, plan: CadencePlan) -> Results:
    """Validate what a bundle holds against the plan that this side made by itself.

    Raises:
        RefusedError: another plan, a pair that doesn't validate, or provenance that isn't the plan's.
    """
    check_same_plan(bundle.plan, plan)
    results = read_results(bundle.files, plan.stems, plan.inputs)
    check_provenance(results, plan)
    check_spent(results, plan, bundle.spent, "bundle")
    return results


def make_proposal(
    results: Results, plan: CadencePlan, facts: RunFacts, *, secrets: Iterable[str]
) -> Proposal:
    """Render everything to be committed and said, and scan it.

    Args:
        secrets: values that nothing may hold.

    Raises:
        RefusedError: a forbidden field, or text that holds or looks like a secret.
    """
    report = release_report(results, plan.inputs, facts)
    files = {f"{RESULTS}/{name}": data.decode() for name, data in results.files.items()}
    files[f"{RESULTS}/{plan.section}"] = results_section(report)
    if not plan.rehearsal:
        files |= headline_pages(report)
    proposal = Proposal(
        branch=plan.branch,
        files=files,
        title=one_line(pull_title(plan.release_sha, plan.date, facts.version, rehearsal=plan.rehearsal)),
        body=pull_request_body(report),
        message=commit_message(plan, facts),
        labels=(REHEARSAL_LABEL,) if plan.rehearsal else (LABEL,),
    )
    check_publishable(proposal, results, plan.inputs.policy, secrets)
    return proposal


def commit_message(plan: CadencePlan, facts: RunFacts) -> str:
    """The commit's message; its trailers let `recover` go on from the branch alone."""
    trailers = [f"Release-Sha: {plan.release_sha}"]
    if facts.plan_digest:
        trailers.append(f"Plan-Digest: {facts.plan_digest}")
    if facts.bundle_sha256:
        trailers.append(f"Bundle-Sha256: {facts.bundle_sha256}")
    if facts.spent:
        trailers.append(f"Billed-Calls: {facts.spent.billed_calls}")
        trailers.append(f"Credits: {facts.spent.credits!r}")
        trailers.append(f"Attempt: {facts.spent.attempt}")
        trailers.append(f"Accepted-Attempts: {facts.spent.accepted_attempts}")
    title = pull_title(plan.release_sha, plan.date, facts.version, rehearsal=plan.rehearsal)
    return f"{title}\n\n" + "\n".join(trailers) + "\n"


def check_publishable(proposal: Proposal, results: Results, policy: Policy, secrets: Iterable[str]) -> None:
    """Scan everything that will be written for forbidden fields and for secrets.

    Raises:
        RefusedError: names the place, never the secret.
    """
    scanner = SecretScanner(secrets, shapes=True)
    for lane in results.lanes:
        for value, where in (*((record, lane.stem) for record in lane.records), (lane.summary, lane.stem)):
            _check_names(value, policy, where)
            scanner.check(value, where)
    texts = {**proposal.files, "title": proposal.title, "body": proposal.body, "message": proposal.message}
    for where, text in texts.items():
        if where.endswith((".jsonl", ".json")):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if kind := scanner.finds(line):
                raise RefusedError(f"holds {kind}", where=f"{where}:{number}")


def _check_names(value: Any, policy: Policy, where: str) -> None:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            for name in item:
                if plain_name(name) in policy.forbidden:
                    raise RefusedError(f"holds the forbidden field {name[:64]!r}", where=where)
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def propose(github: GitHub, proposal: Proposal) -> Proposed:
    """Put a proposal on GitHub; calling it again changes nothing.

    Raises:
        GitHubProblem: M1 to M7, each with what to do.
        RefusedError: an earlier pull request was closed, or several exist.
    """
    repository = github.repository()
    existing = _existing_pull(github, repository, proposal.branch)
    tip = github.branch_commit(proposal.branch)
    if existing is not None and (existing.merged or tip is None):
        return Proposed(existing, made=False)
    if tip is None:
        _commit(github, repository, proposal)
    elif not holds(github, repository, tip, proposal.files):
        raise ref_exists(proposal.branch)
    if existing is not None:
        return Proposed(existing, made=False, warning=_label(github, existing, proposal))
    return open_pull(github, repository, proposal)


def _existing_pull(github: GitHub, repository: RepositoryFacts, branch: str) -> PullRequest | None:
    own = own_pulls(branch, repository.id, github.pulls(branch))
    if len(own) > 1:
        raise RefusedError(f"{branch} has {len(own)} pull requests", fix="have a person say which one counts")
    if own and own[0].state != "open" and not own[0].merged:
        raise RefusedError(
            f"pull request #{own[0].number} for {branch} was closed without being merged",
            fix=f"reopen it: {own[0].url}",
        )
    return own[0] if own else None


def holds(github: GitHub, repository: RepositoryFacts, commit_sha: str, files: Mapping[str, str]) -> bool:
    """Whether a commit puts exactly these texts at these paths onto the default branch, and nothing else."""
    now, changed = changes_of(github, repository, commit_sha)
    return (
        changed is not None
        and changed <= set(files)
        and all(now.get(path) == plain_file(text) for path, text in files.items())
    )


def plain_file(text: str) -> Entry:
    """What a tree has of a plain file with this text."""
    import hashlib

    data = text.encode()
    digest = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False)
    return Entry("100644", digest.hexdigest())


def changes_of(
    github: GitHub, repository: RepositoryFacts, commit_sha: str
) -> tuple[dict[str, Entry], set[str] | None]:
    """What a commit's tree holds, and at which paths that differs from its parent's.

    Returns:
        The tree's entries by path; the paths are None where it isn't one commit on the default branch.
    """
    commit = github.commit(commit_sha)
    now = github.files(commit.tree)
    if len(commit.parents) != 1 or not github.is_ancestor(commit.parents[0], repository.default_branch):
        return now, None
    before = github.files(github.commit(commit.parents[0]).tree)
    return now, {path for path in {*now, *before} if now.get(path) != before.get(path)}


def _commit(github: GitHub, repository: RepositoryFacts, proposal: Proposal) -> None:
    """Make the commit on the default branch's tip, then the branch; look again where no answer came."""
    tip = github.branch_commit(repository.default_branch)
    if tip is None:
        raise RefusedError(f"the default branch {repository.default_branch} is missing")
    sha = None
    try:
        sha = github.create_commit(proposal.files, proposal.message, github.commit(tip))
        github.create_branch(proposal.branch, sha)
    except GitHubError as error:
        there = github.branch_commit(proposal.branch)
        if there is not None and (there == sha or holds(github, repository, there, proposal.files)):
            return
        doing = f"make the branch {proposal.branch}"
        if there is None and error.failure.may_have_happened:
            raise unfinished(doing, error.failure.message) from None
        raise explain_write(
            error.failure, doing=doing, permission="contents: write", branch=proposal.branch
        ) from None


def open_pull(github: GitHub, repository: RepositoryFacts, proposal: Proposal) -> Proposed:
    """Open the draft for a branch that is there; look again where no answer came.

    Raises:
        GitHubProblem: M1, M2, M3, M6 or M7; the branch is kept.
    """
    made = True
    try:
        pull = github.open_draft(
            branch=proposal.branch, base=repository.default_branch, title=proposal.title, body=proposal.body
        )
    except GitHubError as error:
        again = _existing_pull(github, repository, proposal.branch)
        if again is None:
            raise _refused_pull(error.failure, repository, proposal.branch) from None
        pull, made = again, error.failure.may_have_happened
    return Proposed(pull, made, _label(github, pull, proposal))


def _refused_pull(failure: Failure, repository: RepositoryFacts, branch: str) -> Exception:
    says = failure.message
    if failure.is_rate_limit:
        doing = f"open the pull request; the branch {branch} is an orphan until then"
        return rate_limited(doing, failure.seconds_told)
    if failure.status == 403 and "not permitted to create" in says:
        compare = f"{repository.url}/compare/{repository.default_branch}...{branch}"
        return actions_may_not_open_pulls(branch, compare)
    if failure.status == 422 and "raft pull requests are not supported" in says:
        return drafts_unsupported(branch)
    if failure.status in (401, 403, 404):
        return explain_write(
            failure,
            doing=f"open a pull request (the branch {branch} is kept)",
            permission="pull-requests: write",
            branch=branch,
        )
    return orphaned(branch, says)


def _label(github: GitHub, pull: PullRequest, proposal: Proposal) -> str | None:
    """Put the labels on; a label that can't be put is worth a warning, not a failure."""
    missing = [label for label in proposal.labels if label not in pull.labels]
    if not missing:
        return None
    try:
        github.add_labels(pull.number, missing)
    except GitHubError as error:
        return f"the label {', '.join(missing)} could not be put on #{pull.number} ({error.failure.message})"
    return None
