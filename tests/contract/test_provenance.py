import pytest

from discovercall.contract.provenance import Provenance, resolve_toolkit_revision
from discovercall.foundation.errors import InputError
from discovercall.foundation.revision import UNKNOWN_REVISION, ToolkitRevision

HEAD, OTHER, LONG = "a" * 40, "b" * 40, "c" * 64
CHECKOUT = ToolkitRevision(HEAD, "checkout", dirty=False)
BUILD = ToolkitRevision(LONG, "build", dirty=False)
CHANGED = ToolkitRevision(HEAD, "checkout", dirty=True)
DIRTY_BUILD = ToolkitRevision(None, "build", dirty=True)


def resolve(installed, given=None, github_sha=None, rehearsal=False):
    return resolve_toolkit_revision(installed, given=given, github_sha=github_sha, rehearsal=rehearsal)


@pytest.mark.parametrize("rehearsal", [False, True])
@pytest.mark.parametrize(
    ("installed", "given", "github_sha", "revision"),
    [
        (CHECKOUT, None, None, HEAD),
        (BUILD, None, None, LONG),
        (CHECKOUT, HEAD, None, HEAD),
        (CHECKOUT, None, HEAD, HEAD),
        (CHECKOUT, HEAD, HEAD, HEAD),
        (CHECKOUT, None, "", HEAD),
        (UNKNOWN_REVISION, OTHER, None, OTHER),
        (UNKNOWN_REVISION, None, OTHER, OTHER),
        (UNKNOWN_REVISION, LONG, LONG, LONG),
    ],
)
def test_a_known_revision_is_recorded_without_a_word(rehearsal, installed, given, github_sha, revision):
    assert resolve(installed, given, github_sha, rehearsal) == Provenance(revision)


@pytest.mark.parametrize("rehearsal", [False, True])
@pytest.mark.parametrize(
    ("installed", "given", "github_sha", "message"),
    [
        (
            CHECKOUT,
            OTHER,
            None,
            f"--toolkit-revision: names {OTHER}, but the installed discovercall is {HEAD}",
        ),
        (CHECKOUT, None, OTHER, f"GITHUB_SHA: names {OTHER}, but the installed discovercall is {HEAD}"),
        (CHECKOUT, HEAD, OTHER, f"GITHUB_SHA: names {OTHER}, but"),
        (UNKNOWN_REVISION, HEAD, OTHER, f"GITHUB_SHA: names {OTHER}, but"),
        (CHECKOUT, HEAD.upper(), None, "--toolkit-revision: is no commit"),
        (CHECKOUT, HEAD[:39], None, "--toolkit-revision: is no commit"),
        (CHECKOUT, f"{HEAD}\n", None, "--toolkit-revision: is no commit"),
        (UNKNOWN_REVISION, None, "v1.2", "GITHUB_SHA: is no commit"),
    ],
)
def test_a_revision_that_disagrees_or_is_none_is_refused(rehearsal, installed, given, github_sha, message):
    with pytest.raises(InputError) as refused:
        resolve(installed, given, github_sha, rehearsal)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("given", [None, HEAD])
@pytest.mark.parametrize("installed", [CHANGED, DIRTY_BUILD])
def test_changed_code_is_refused_whatever_is_said_but_may_rehearse_with_a_warning(installed, given):
    with pytest.raises(InputError, match="this checkout of discovercall has changes, so its results"):
        resolve(installed, given)
    found = resolve(installed, given, rehearsal=True)
    assert found.toolkit_revision == "unversioned"
    assert "has changes" in str(found.warning)


def test_an_unknown_revision_is_refused_but_may_rehearse_with_a_warning():
    with pytest.raises(InputError, match="the revision of this installation is unknown; install from"):
        resolve(UNKNOWN_REVISION)
    found = resolve(UNKNOWN_REVISION, rehearsal=True)
    assert found.toolkit_revision == "unversioned"
    assert "is unknown" in str(found.warning)
