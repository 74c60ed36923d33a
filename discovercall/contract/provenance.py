"""Which revision of the toolkit a run is attributed to."""

from __future__ import annotations

from dataclasses import dataclass

from discovercall.foundation.digests import is_commit
from discovercall.foundation.errors import InputError
from discovercall.foundation.revision import ToolkitRevision

UNVERSIONED = "unversioned"


@dataclass(frozen=True, slots=True)
class Provenance:
    """The revision to record, and a warning to show once, if there is one."""

    toolkit_revision: str
    warning: str | None = None


def resolve_toolkit_revision(
    installed: ToolkitRevision, *, given: str | None, github_sha: str | None, rehearsal: bool
) -> Provenance:
    """Decide which toolkit revision the records name.

    Args:
        installed: revision of the code that runs.
        given: `--toolkit-revision`, if any.
        github_sha: `GITHUB_SHA`, if any.
        rehearsal: true for the sandbox and for loopback, where an unversioned run is fine.

    Raises:
        InputError: no revision, a malformed one, one that disagrees, or a checkout with changes.
    """
    claims = {"--toolkit-revision": given, "GITHUB_SHA": github_sha}
    named = {source: value for source, value in claims.items() if value}
    for source, value in named.items():
        if not is_commit(value):
            raise InputError("is no commit", where=source, fix="give 40 or 64 lower-case hex digits")
    if installed.dirty:
        if not rehearsal:
            raise InputError(
                "this checkout of discovercall has changes, so its results could not be attributed",
                fix="commit them, or install a released version",
            )
        return Provenance(UNVERSIONED, "this checkout of discovercall has changes: records say 'unversioned'")
    commit = installed.commit
    for source, value in named.items():
        if commit is not None and value != commit:
            raise InputError(
                f"names {value}, but the installed discovercall is {commit}",
                where=source,
                fix="leave it out, or install that revision",
            )
        commit = value
    if commit is not None:
        return Provenance(commit)
    if not rehearsal:
        raise InputError(
            "the revision of this installation is unknown",
            fix="install from a git checkout or a release, or give --toolkit-revision",
        )
    return Provenance(UNVERSIONED, "the revision of this installation is unknown: records say 'unversioned'")
