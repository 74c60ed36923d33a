"""A changed pair is refused wherever anything in the pair contradicts the change."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discovercall.foundation.ecma_json import decode, loads
from discovercall.foundation.errors import DiscovercallError
from discovercall.foundation.json_text import pretty
from discovercall.foundation.jsonl import dump_lines
from discovercall.publication.policy import Policy
from discovercall.publication.verification import PairFiles, verify_pair
from tests.publication.runs import (
    POLICY_V2,
    ROOT,
    one_task,
    outcomes,
    policy,
    small_pair,
)
from tests.publication.tampering import KINDS, field_paths, get, shape, tampered

pytestmark = [pytest.mark.slow, pytest.mark.part("tampering with every field")]

UNSHARED = "success of an unapproved tool"  # of its trial group, the one whose snapshot is its own
TASKS = one_task()
KIND_NAMES = list(outcomes())


def pairs(folder: Path, version: int) -> Iterator[tuple[list[str], PairFiles]]:
    """Pairs that have every kind of outcome together, each with its kinds."""
    for first in range(0, len(KIND_NAMES), 3):
        yield KIND_NAMES[first : first + 3], small_pair(folder, version, first)


def refused(files: PairFiles, rules: Policy) -> bool:
    try:
        return bool(verify_pair(files, rules, TASKS).differences)
    except DiscovercallError:
        return True


def records_of(files: PairFiles) -> list[Any]:
    return [loads(line) for line in files.runs.decode().splitlines()]


def changed_runs(
    kinds: list[str], files: PairFiles, changes: Sequence[str], done: set[Any] | None
) -> Iterator[tuple[str, str, PairFiles]]:
    """The pair with changes of each kind at every field path of each record that is not done yet."""
    records = records_of(files)
    for index, kind in enumerate(kinds):
        for path in field_paths(records[index]):
            value = get(records[index], path)
            place = (shape(path), value if isinstance(value, bool) else type(value), kind == UNSHARED)
            if done is not None and place in done:
                continue
            for change in changes:
                other = tampered(records[index], path, change)
                if dump_lines([other]) != dump_lines([records[index]]):
                    runs = dump_lines([*records[:index], other, *records[index + 1 :]])
                    yield f"runs: {shape(path)}", f"{change} ({kind})", replace(files, runs=runs)
            if done is not None:
                done.add(place)


def changed_summaries(files: PairFiles, changes: Sequence[str]) -> Iterator[tuple[str, str, PairFiles]]:
    """The pair with changes of each kind at every field path of the summary."""
    summary = decode(files.summary)
    for path in field_paths(summary):
        for change in changes:
            text = pretty(tampered(summary, path, change)).encode() + b"\n"
            if text != files.summary:
                yield f"summary: {shape(path)}", change, replace(files, summary=text)


def accepted(
    groups: Iterable[tuple[list[str], PairFiles]],
    rules: Policy,
    changes: Sequence[str] = KINDS,
    *,
    every: bool = False,
) -> dict[str, set[str]]:
    """The changes that get through, by path.

    With `every`, all paths of all kinds of outcome and of all summaries are changed, else each distinct
    path once, and the first summary.
    """
    found: dict[str, set[str]] = {}
    done: set[Any] | None = None if every else set()
    for number, (kinds, files) in enumerate(groups):
        changed = changed_runs(kinds, files, changes, done)
        if every or number == 0:
            changed = itertools.chain(changed, changed_summaries(files, changes))
        for place, change, other in changed:
            if not refused(other, rules):
                found.setdefault(place, set()).add(change)
    return found


def without_digests(files: PairFiles) -> PairFiles:
    """The pair as another harness would have written it: no `discovercall` in the summary."""
    summary = decode(files.summary)
    del summary["discovercall"]
    return replace(files, summary=pretty(summary).encode() + b"\n")


def listed_paths() -> set[str]:
    """The paths that PUBLICATION_POLICY.md names as open to changes, in a pair without digests."""
    text = (ROOT / "PUBLICATION_POLICY.md").read_text("utf-8")
    section = text.split("## Where nothing in a pair can contradict a change")[1].split("\n## ")[0]
    return set(re.findall(r"^- `([^`]+)`", section, re.MULTILINE))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pairs")


def test_the_pairs_verify_before_they_are_changed(folder: Path) -> None:
    for version in (1, 2):
        for _, files in pairs(folder, version):
            assert not refused(files, policy(version))
            assert refused(without_digests(files), policy(version)) == (version == 2)


def test_with_digests_every_change_is_refused(folder: Path) -> None:
    assert not accepted(pairs(folder, 2), policy(2), ["another value"])


@pytest.mark.slow
@pytest.mark.parametrize("version", [1, 2])
def test_with_digests_every_change_to_every_kind_of_outcome_is_refused(folder: Path, version: int) -> None:
    found = accepted(pairs(folder, version), policy(version), every=True)
    # Under version 1 a summary without any digest may be that of another harness.
    assert found == ({"summary: discovercall": {"removed"}} if version == 1 else {})


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_without_digests_what_gets_through_is_what_the_policy_lists(folder: Path, every: bool) -> None:
    groups = ((kinds, without_digests(files)) for kinds, files in pairs(folder, 1))
    found = accepted(groups, policy(1), every=every)
    assert set(found) == listed_paths(), found
    for place, changes in found.items():
        wanted = "removed (tool failed)" if place == "runs: call.result_nonempty" else "another value"
        assert all(change.startswith(wanted) for change in changes), (place, changes)


def test_under_version_2_the_digests_can_not_be_taken_away(folder: Path) -> None:
    assert refused(without_digests(small_pair(folder, 2)), policy(2))
    summary = decode(small_pair(folder, 2).summary)
    for name in ("runs_sha256", "summary_sha256", "rehearsal", "models"):
        extras = {key: value for key, value in summary["discovercall"].items() if key != name}
        other = pretty({**summary, "discovercall": extras}).encode() + b"\n"
        assert refused(replace(small_pair(folder, 2), summary=other), policy(2)), name


def test_records_of_another_run_are_refused_beside_a_summary(folder: Path) -> None:
    one = small_pair(folder, 2)
    other = small_pair(folder, 2, api_revision="2026-12-24.1")
    assert refused(replace(one, runs=other.runs), policy(2))
    assert POLICY_V2["value_scan"]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("runs", b'"trial":1', b'"trial":1,"trial":1'),
        ("runs", b'"trial":1', b'"trial": 1'),
        ("runs", b'"trial":1', b'"trial":1.0'),
        ("runs", b"\n", b"\n\n"),
        ("summary", b'"runs": 3', b'"runs": 999, "runs": 3'),
        ("summary", b'"runs": 3', b'"runs": 3.0'),
    ],
)
def test_a_file_that_says_a_thing_in_two_ways_is_refused(
    folder: Path, name: str, old: bytes, new: bytes
) -> None:
    files = without_digests(small_pair(folder, 1))
    changed = getattr(files, name).replace(old, new, 1)
    assert changed != getattr(files, name)
    assert refused(replace(files, **{name: changed}), policy(1))
