"""Branches that hold a run's results and something more, or less, or say what can't be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from discovercall.cadence.bundle import read_bundle
from discovercall.cadence.evidence import check_spent
from discovercall.cadence.github import GitHub
from discovercall.cadence.plan import CadencePlan
from discovercall.cadence.problems import GitHubProblem
from discovercall.cadence.proposal import Proposal, propose, results_of_bundle
from discovercall.foundation.errors import RefusedError
from tests.cadence.conftest import Outcome
from tests.support.github.fake_github import FakeGitHub

Cadence = Callable[..., Outcome]
EVIL = ".github/workflows/evil.yml"
HEADLINE = "docs/headline.zh.md"


@pytest.fixture
def orphan(gh: FakeGitHub, client: GitHub, proposal: Proposal) -> str:
    """The reference of the branch that a proposal made, its pull request gone."""
    propose(client, proposal)
    gh.pulls.clear()
    return f"refs/heads/{proposal.branch}"


def change(
    gh: FakeGitHub,
    ref: str,
    entries: dict[str, tuple[str, str, str] | None] | None = None,
    *,
    parents: list[str] | None = None,
    message: str | None = None,
) -> str:
    """Put another commit in a branch's place: paths changed or removed, other parents or message."""
    commit = gh.commits[gh.refs[ref]]
    tree = dict(gh.trees[commit["tree"]])
    for path, entry in (entries or {}).items():
        if entry is None:
            del tree[path]
        else:
            tree[path] = entry
    gh.refs[ref] = gh.put_commit(
        gh.put_tree(tree), commit["parents"] if parents is None else parents, message or commit["message"]
    )
    return gh.refs[ref]


def test_the_orphan_as_it_is_is_taken(
    gh: FakeGitHub, client: GitHub, proposal: Proposal, orphan: str
) -> None:
    assert propose(client, proposal).made


@pytest.mark.parametrize("what", ["file", "mode", "link", "submodule", "removed"])
def test_propose_opens_nothing_for_a_branch_with_more_on_it(
    gh: FakeGitHub, client: GitHub, proposal: Proposal, orphan: str, what: str
) -> None:
    readme = gh.trees[gh.commits[gh.refs[orphan]]["tree"]]["README.md"]
    ours = next(path for path in proposal.files if path.endswith(".md"))
    entries: dict[str, dict[str, tuple[str, str, str] | None]] = {
        "file": {EVIL: ("100644", "blob", gh.put_blob(b"on: pull_request"))},
        "mode": {"README.md": ("100755", *readme[1:])},
        "link": {ours: ("120000", "blob", gh.trees[gh.commits[gh.refs[orphan]]["tree"]][ours][2])},
        "submodule": {"vendor": ("160000", "commit", "c" * 40)},
        "removed": {"README.md": None},
    }
    change(gh, orphan, entries[what])
    with pytest.raises(GitHubProblem) as refusal:
        propose(client, proposal)
    assert refusal.value.number == "M4"
    assert not gh.pulls


def foreign_parent(gh: FakeGitHub, ref: str) -> list[str]:
    """A commit on the branch's parent that no default branch holds."""
    (parent,) = gh.commits[gh.refs[ref]]["parents"]
    tree = dict(gh.trees[gh.commits[parent]["tree"]])
    tree[EVIL] = ("100644", "blob", gh.put_blob(b"on: pull_request"))
    return [gh.put_commit(gh.put_tree(tree), [parent], "evil")]


def test_a_parent_beside_the_default_branch_is_refused(
    gh: FakeGitHub, client: GitHub, proposal: Proposal, orphan: str, cadence: Cadence
) -> None:
    evil = ("100644", "blob", gh.put_blob(b"on: pull_request"))
    change(gh, orphan, {EVIL: evil}, parents=foreign_parent(gh, orphan))
    with pytest.raises(GitHubProblem, match="holds something else"):
        propose(client, proposal)
    done = cadence("recover", "--branch", proposal.branch)
    assert (done.code, "on the default branch main" in done.error) == (1, True)
    assert not gh.pulls


def test_a_parent_that_the_default_branch_left_behind_is_fine(
    gh: FakeGitHub, proposal: Proposal, orphan: str, cadence: Cadence
) -> None:
    gh.refs["refs/heads/main"] = gh.seed_commit({"README.md": b"later"}, [gh.refs["refs/heads/main"]])
    done = cadence("recover", "--branch", proposal.branch)
    assert done.code == 0, done.error
    assert len(gh.pulls) == 1


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("Billed-Calls: ", "Billed-Calls: 0\nX: ", "billed calls; the records show"),
        ("Billed-Calls: ", "Billed-Calls: 999\nX: ", "the plan allows 12"),
        ("Credits: ", "Credits: 1e400\nX: ", "a cost that cannot be"),
        ("Credits: ", "Credits: inf\nX: ", "Credits"),
        ("Credits: ", "Credits: -1.0\nX: ", "Credits"),
        ("Plan-Digest: ", "Plan-Digest: ffff\nX: ", "Plan-Digest"),
        ("Plan-Digest: ", "Plan-Digest: " + "f" * 64 + "\nPlan-Digest: ", "Plan-Digest"),
        ("Attempt: ", "Attempt: 0\nX: ", "a cost that cannot be"),
        ("Attempt: ", "Attempt: 3\nX: ", "a cost that cannot be"),
        ("Release-Sha: ", "Note: all is well\nRelease-Sha: ", "commit message"),
        ("Bundle-Sha256: ", "Bundle-Sha256: " + "F" * 64 + "\nX: ", "Bundle-Sha256"),
    ],
)
def test_what_a_commit_says_is_no_fact(
    gh: FakeGitHub, proposal: Proposal, orphan: str, cadence: Cadence, old: str, new: str, says: str
) -> None:
    message = gh.commits[gh.refs[orphan]]["message"]
    assert f"\n{old}" in message
    change(gh, orphan, message=message.replace(f"\n{old}", f"\n{new}", 1))
    done = cadence("recover", "--branch", proposal.branch)
    assert (done.code, says in done.error) == (1, True), done.error
    assert not gh.pulls


def test_a_section_that_is_missing_is_named(
    gh: FakeGitHub, proposal: Proposal, orphan: str, cadence: Cadence
) -> None:
    (section,) = [path for path in proposal.files if path.endswith(".md")]
    change(gh, orphan, {section: None})
    done = cadence("recover", "--branch", proposal.branch)
    assert (done.code, section in done.error) == (1, True)


def test_a_bundle_that_says_less_than_its_records_is_refused(measured: Path, plan: CadencePlan) -> None:
    bundle = read_bundle(measured / "bundle")
    results = results_of_bundle(bundle, plan)
    check_spent(results, plan, bundle.spent, "bundle")
    for wrong in ({"billed_calls": 0}, {"billed_calls": 13}, {"credits": float("inf")}, {"attempt": 0}):
        fields = {name: getattr(bundle.spent, name) for name in bundle.spent.__slots__}
        with pytest.raises(RefusedError, match="bundle"):
            check_spent(results, plan, type(bundle.spent)(**{**fields, **wrong}), "bundle")
