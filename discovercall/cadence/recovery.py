"""From an orphan branch to its draft pull request, with nothing but the branch to go by."""

from __future__ import annotations

import re

from discovercall.cadence.bundle import Spent
from discovercall.cadence.code import Code
from discovercall.cadence.document import RunFacts
from discovercall.cadence.evidence import Results, check_provenance, pair_names, read_results
from discovercall.cadence.github import GitHub
from discovercall.cadence.headline import RESULTS, page_path
from discovercall.cadence.names import Stem, parse_branch, parse_stem
from discovercall.cadence.plan import CadencePlan, Inputs, make_plan
from discovercall.cadence.proposal import Proposed, make_proposal, propose
from discovercall.foundation.errors import InputError, RefusedError
from discovercall.publication.pair import RUNS_SUFFIX
from discovercall.report.headline import LANGUAGES

_TRAILER = re.compile(r"^(?P<name>[A-Z][A-Za-z0-9-]+): (?P<value>[0-9a-f.]{1,64})$", re.MULTILINE)


def recover(github: GitHub, branch: str, inputs: Inputs, *, secrets: tuple[str, ...]) -> Proposed:
    """Read a branch's artifacts back, validate them and open its draft pull request.

    Args:
        branch: of a run, as a guard or a message named it.
        inputs: the reviewed files of the release's checkout.
        secrets: values that nothing may hold.

    Raises:
        RefusedError: the branch holds anything but a run's results, or they don't validate.
        GitHubProblem: see `open_pull`.
    """
    sha12, rehearsal = parse_branch(branch)
    tip = github.branch_commit(branch)
    if tip is None:
        raise InputError(f"there is no branch {branch}", where="--branch")
    commit = github.commit(tip)
    if len(commit.parents) != 1:
        raise RefusedError("is not one commit on the default branch", where=branch)
    now, before = github.files(commit.tree), github.files(github.commit(commit.parents[0]).tree)
    changed = {path for path in {*now, *before} if now.get(path) != before.get(path)}
    stems, stem = _stems(changed, branch, sha12, rehearsal=rehearsal)
    trailers = {found["name"]: found["value"] for found in _TRAILER.finditer(commit.message)}
    release_sha = trailers.get("Release-Sha", "")
    if not release_sha.startswith(sha12):
        raise RefusedError("has a commit that names no release of this branch", where=branch)
    names = pair_names(stems)
    files = {name: github.blob(now[f"{RESULTS}/{name}"]) for name in names if f"{RESULTS}/{name}" in now}
    results = read_results(files, stems, inputs)
    plan = _plan_of(results, inputs, release_sha, stem)
    if plan.stems != stems:
        raise RefusedError(f"holds {stems[0]} and {stems[1]}, not the results of cadence.json", where=branch)
    check_provenance(results, plan)
    facts = RunFacts(
        release_sha=release_sha,
        date=stem.date,
        version=stem.version,
        branch=branch,
        plan_digest=trailers.get("Plan-Digest"),
        bundle_sha256=trailers.get("Bundle-Sha256"),
        spent=_spent(trailers),
        repository_url=github.repository().url,
    )
    proposal = make_proposal(results, plan, facts, secrets=secrets)
    _check_changed(changed, set(proposal.files), branch)
    for path in set(proposal.files) - {f"{RESULTS}/{name}" for name in names}:
        if github.blob(now[path]) != proposal.files[path].encode():
            raise RefusedError("was changed by hand, or rendered by other code", where=f"{branch}: {path}")
    return propose(github, proposal)


def _stems(changed: set[str], branch: str, sha12: str, *, rehearsal: bool) -> tuple[tuple[str, str], Stem]:
    found = {}
    for path in changed:
        name = path.removeprefix(f"{RESULTS}/")
        stem = parse_stem(name.removesuffix(RUNS_SUFFIX)) if name.endswith(RUNS_SUFFIX) else None
        if stem is not None and (stem.sha12, stem.rehearsal) == (sha12, rehearsal):
            found[stem.configured] = (name.removesuffix(RUNS_SUFFIX), stem)
    if set(found) != {False, True}:
        raise RefusedError("does not hold the results of both lanes", where=branch)
    return (found[False][0], found[True][0]), found[True][1]


def _plan_of(results: Results, inputs: Inputs, release_sha: str, stem: Stem) -> CadencePlan:
    """The plan as far as results can be checked against it; which image ran is not known here."""
    toolkit, metadata = release_sha, results.configured.metadata
    if stem.rehearsal:  # may have been made by other code than the release's
        toolkit = str(metadata["toolkit_revision"])
    return make_plan(
        inputs,
        release_sha=release_sha,
        date=stem.date,
        rehearsal=stem.rehearsal,
        code=Code("unknown", "unknown"),
        toolkit_revision=toolkit,
        catalog_url=None if stem.rehearsal else str(metadata["api_base_url"]),
    )


def _check_changed(changed: set[str], expected: set[str], branch: str) -> None:
    may_be_unchanged = {page_path(language) for language in LANGUAGES}
    odd = sorted((changed - expected) | (expected - changed - may_be_unchanged))
    if odd:
        raise RefusedError(f"changes or lacks {', '.join(odd)}", where=branch)


def _spent(trailers: dict[str, str]) -> Spent | None:
    try:
        return Spent(
            attempt=int(trailers["Attempt"]),
            accepted_attempts=int(trailers["Accepted-Attempts"]),
            billed_calls=int(trailers["Billed-Calls"]),
            credits=float(trailers["Credits"]),
        )
    except (KeyError, ValueError):
        return None
