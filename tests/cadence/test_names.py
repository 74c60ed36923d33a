"""Branches, stems and dates: derived names, and that they can be told apart again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall.cadence.names import (
    branch_name,
    check_date,
    check_release_sha,
    parse_branch,
    result_stem,
)
from discovercall.foundation.errors import InputError
from discovercall.publication.run_names import parse_stem

SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize("sha", [SHA[:12], SHA.upper(), SHA + "0", SHA + "\n", "g" * 40, ""])
def test_a_release_is_a_full_commit(sha: str) -> None:
    with pytest.raises(InputError):
        check_release_sha(sha)


@pytest.mark.parametrize("date", ["2026-13-45", "2026-02-30", "2026-2-3", "20260203", "2026-02-03\n", ""])
def test_a_date_has_to_exist(date: str) -> None:
    with pytest.raises(InputError):
        check_date(date)


def test_names_are_those_of_the_rules() -> None:
    assert branch_name(SHA, rehearsal=False) == "benchmark/cadence-0123456789ab"
    assert branch_name(SHA, rehearsal=True) == "benchmark/rehearsal-0123456789ab"
    stems = [
        result_stem("2026-05-04", model, SHA, "v4", configured=configured, rehearsal=False)
        for model, configured in (("reference-v1", False), ("openai/gpt 5.5", True))
    ]
    assert stems == [
        "2026-05-04-reference-v1-release-0123456789ab-v4",
        "2026-05-04-openai-gpt-5.5-configured-release-0123456789ab-v4",
    ]


@settings(deadline=None)
@given(st.from_regex(r"[0-9A-Za-z.-]{1,40}", fullmatch=True), st.booleans(), st.booleans())
def test_a_stem_can_be_read_again(model: str, configured: bool, rehearsal: bool) -> None:
    stem = result_stem("2026-05-04", model, SHA, "v4", configured=configured, rehearsal=rehearsal)
    found = parse_stem(stem)
    assert found is not None
    assert (found.sha12, found.rehearsal, found.version) == (SHA[:12], rehearsal, "v4")
    assert found.configured == (configured or model.endswith("-configured"))


@pytest.mark.parametrize("branch", ["main", "benchmark/cadence-xyz", "benchmark/cadence-0123456789abc", ""])
def test_other_branches_are_none_of_ours(branch: str) -> None:
    with pytest.raises(InputError):
        parse_branch(branch)
