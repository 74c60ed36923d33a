"""From an orphan branch to its draft pull request, with nothing but the branch to go by."""

from __future__ import annotations

import re
from dataclasses import replace

from discovercall.cadence.bundle import Spent
from discovercall.cadence.code import Code
from discovercall.cadence.document import RunFacts
from discovercall.cadence.evidence import (
    Results,
    check_provenance,
    check_spent,
    pair_names,
    read_results,
)
from discovercall.cadence.github import GitHub
from discovercall.cadence.headline import RESULTS, page_path
from discovercall.cadence.names import RELEASE_SHA, parse_branch
from discovercall.cadence.plan import CadencePlan, Inputs, make_plan
from discovercall.cadence.proposal import (
    Proposed,
    changes_of,
    commit_message,
    make_proposal,
    plain_file,
    propose,
)
from discovercall.foundation.artifacts import RUNS_SUFFIX
from discovercall.foundation.errors import InputError, RefusedError
from discovercall.publication.run_names import Stem, parse_stem
from discovercall.report.headline import LANGUAGES
from discovercall.report.markdown import cut

_SHA256 = re.compile(r"[0-9a-f]{64}")
_COUNT = re.compile(r"[0-9]{1,9}")
_TRAILERS = {
    "Release-Sha": RELEASE_SHA,
    "Plan-Digest": _SHA256,
    "Bundle-Sha256": _SHA256,
    "Billed-Calls": _COUNT,
    "Credits": re.compile(r"[0-9]{1,20}(?:\.[0-9]{1,20})?(?:e[+-]?[0-9]{1,3})?"),
    "Attempt": _COUNT,
    "Accepted-Attempts": _COUNT,
}
_FROM_BRANCH = (
    "> **Recovered from the branch alone.** The records were validated again; plan digest, bundle digest and"
    " what was billed are only what the commit's message says."
)


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
    repository = github.repository()
    now, changed = changes_of(github, repository, tip)
    if changed is None:
        raise RefusedError(
            f"is not one commit on the default branch {repository.default_branch}", where=branch
        )
    stems, stem = _stems(changed, branch, sha12, rehearsal=rehearsal)
    message = github.commit(tip).message
    trailers = _trailers(message, branch)
    release_sha = trailers.get("Release-Sha", "")
    if not release_sha.startswith(sha12):
        raise RefusedError("has a commit that names no release of this branch", where=branch)
    names = pair_names(stems)
    paths = [f"{RESULTS}/{name}" for name in names]
    files = {name: github.blob(now[path].sha) for name, path in zip(names, paths, strict=True) if path in now}
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
    )
    if facts.spent is not None:
        check_spent(results, plan, facts.spent, f"{branch}: commit message")
    if message.strip() != commit_message(plan, facts).strip():
        raise RefusedError("has a commit message that isn't a run's", where=branch)
    proposal = make_proposal(results, plan, facts, secrets=secrets)
    _check_changed(changed, set(proposal.files), branch)
    for path in sorted(set(proposal.files) - set(paths)):
        if path not in now:
            raise RefusedError(f"lacks {path}", where=branch)
        if now[path] != plain_file(proposal.files[path]):
            raise RefusedError("was changed by hand, or rendered by other code", where=f"{branch}: {path}")
    return propose(github, replace(proposal, body=cut(f"{_FROM_BRANCH}\n\n{proposal.body}")))


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


def _trailers(message: str, branch: str) -> dict[str, str]:
    """The trailers that a run writes, each at most once and in its shape.

    Raises:
        RefusedError: names the one that is wrong.
    """
    found: dict[str, str] = {}
    for line in message.splitlines():
        name, colon, value = line.partition(": ")
        if not colon or name not in _TRAILERS:
            continue
        if name in found or not _TRAILERS[name].fullmatch(value):
            raise RefusedError(
                f"is there twice, or not as a run writes it: {value[:80]!r}", where=f"{branch}: {name}"
            )
        found[name] = value
    return found


def _spent(trailers: dict[str, str]) -> Spent | None:
    """What the commit says that the run cost; None where it says nothing whole."""
    try:
        return Spent(
            attempt=int(trailers["Attempt"]),
            accepted_attempts=int(trailers["Accepted-Attempts"]),
            billed_calls=int(trailers["Billed-Calls"]),
            credits=float(trailers["Credits"]),
        )
    except KeyError:
        return None
