"""A pair under a release run's name has to be that run's, whoever verifies it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from discovercall.contract.tasks import load_task_set
from discovercall.foundation.errors import RefusedError
from discovercall.publication.pair import Pair, check_version
from discovercall.publication.policy import load_policy
from discovercall.publication.verification import read_pair, verify_pair

ROOT = Path(__file__).resolve().parents[2]
# The repository's own rehearsal, as its first trial's day names it.
OWN = next(ROOT.glob("results/*-reference-rehearsal-v4.runs.jsonl")).name.removesuffix(".runs.jsonl")
DAY = OWN[:10]


@pytest.mark.parametrize(
    ("stem", "says"),
    [
        (OWN, None),
        ("another-name-rehearsal-v4", None),
        (f"{DAY}-reference-v1-release-aaaaaaaaaaaa-rehearsal-v4", None),
        (f"{DAY}-reference-v1-configured-release-aaaaaaaaaaaa-rehearsal-v4", "names the lane"),
        (f"{DAY}-gpt-release-aaaaaaaaaaaa-rehearsal-v4", "names the model gpt"),
        ("2001-11-30-reference-v1-release-aaaaaaaaaaaa-rehearsal-v4", "names the day"),
        ("2026-13-45-reference-v1-release-aaaaaaaaaaaa-rehearsal-v4", "names the day"),
    ],
)
def test_a_published_pair_under_another_name(stem: str, says: str | None) -> None:
    files = read_pair(Pair(ROOT / "results", OWN))
    policy, task_set = (
        load_policy(ROOT / "publication-policy.json"),
        load_task_set(ROOT / "tasks" / "v4.jsonl"),
    )
    renamed = replace(files, pair=Pair(ROOT / "results", stem))
    if says is None:
        assert not verify_pair(renamed, policy, task_set).differences
        return
    with pytest.raises(RefusedError, match=says):
        verify_pair(renamed, policy, task_set)


def test_a_stem_without_a_version_is_told_as_what_it_is() -> None:
    for stem in ("no-version", "x" * 152 + "-v4"):
        with pytest.raises(RefusedError, match="is no stem of a pair"):
            check_version(Pair(ROOT / "results", stem), ROOT / "tasks" / "v4.jsonl")
