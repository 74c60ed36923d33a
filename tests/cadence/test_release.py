"""What makes a commit a release."""

from __future__ import annotations

import pytest

from discovercall.cadence.github import GitHub
from discovercall.cadence.release import check_release, literal_prefix
from discovercall.foundation.errors import RefusedError
from tests.cadence.checkout import Checkout
from tests.support.github.fake_github import FakeGitHub


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [("v*", "v"), ("pkg-a@?.?", "pkg-a@"), ("x[0-9]*", "x"), ("v1.0.0", "v1.0.0"), ("*", "")],
)
def test_names_are_asked_for_by_what_they_start_with(pattern: str, prefix: str) -> None:
    assert literal_prefix(pattern) == prefix


def test_one_annotated_tag_a_pattern(gh: FakeGitHub, client: GitHub, checkout: Checkout) -> None:
    gh.seed_tag("lib@2.0", checkout.sha)
    gh.seed_tag("v0.9.0", gh.commits[checkout.sha]["parents"][0])
    gh.seed_tag("v1.0.0-note", gh.refs["refs/heads/main"], annotated=False)
    assert check_release(client, checkout.sha, ["v*", "lib@*"]) == {"v*": "v1.0.0", "lib@*": "lib@2.0"}


def test_tags_of_tags_are_peeled(gh: FakeGitHub, client: GitHub, checkout: Checkout) -> None:
    gh.seed_tag("outer/1", gh.refs["refs/tags/v1.0.0"], target_type="tag")
    assert check_release(client, checkout.sha, ["outer/*"]) == {"outer/*": "outer/1"}


@pytest.mark.parametrize(
    ("extra", "annotated", "pattern", "says"),
    [
        (None, True, "w*", "no annotated tag"),
        ("w1", False, "w*", "w1 is not annotated"),
        ("v1.0.1", True, "v*", "exactly one"),
    ],
)
def test_anything_else_is_refused(
    gh: FakeGitHub,
    client: GitHub,
    checkout: Checkout,
    extra: str | None,
    annotated: bool,
    pattern: str,
    says: str,
) -> None:
    if extra:
        gh.seed_tag(extra, checkout.sha, annotated=annotated)
    with pytest.raises(RefusedError, match=says):
        check_release(client, checkout.sha, [pattern])


def test_a_commit_beside_the_default_branch_is_refused(
    gh: FakeGitHub, client: GitHub, checkout: Checkout
) -> None:
    beside = gh.seed_commit({"x": b"y"}, [checkout.sha])
    gh.seed_tag("v2.0.0", beside)
    for sha in (beside, "0" * 40):
        with pytest.raises(RefusedError, match="not on the default branch"):
            check_release(client, sha, ["v*"])


def test_many_pages_of_pull_requests_and_a_row_costs_no_request(
    gh: FakeGitHub, client: GitHub, checkout: Checkout
) -> None:
    for number in range(150):
        gh.seed_pull(f"feature-{number}", checkout.sha)
    gh.seed_pull("benchmark/cadence-000000000000", checkout.sha)
    assert [pull.number for pull in client.pulls("benchmark/cadence-000000000000")] == [151]
    assert not gh.calls("pulls/get")
