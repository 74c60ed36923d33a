"""A pair is read together, verified against policy and task set, and refused by file and field."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discovercall.foundation.ecma_json import decode, loads
from discovercall.foundation.errors import DiscovercallError, InputError, RefusedError
from discovercall.foundation.json_text import pretty
from discovercall.foundation.jsonl import dump_lines
from discovercall.publication import verification
from discovercall.publication.pair import Pair
from discovercall.publication.summary import summary_digest
from discovercall.publication.transaction import journal_of, locked
from discovercall.publication.verification import PairFiles, read_pair, verify_pair
from tests.publication.runs import (
    FIELDS,
    GENERATED_AT,
    LOOPBACK_URL,
    one_task,
    outcomes,
    policy,
    policy_json,
    prepared,
    private_run,
    small_pair,
)

STEM = "2026-11-30-model-a-configured-v4"
KINDS = list(outcomes().values())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> PairFiles:
    return small_pair(tmp_path_factory.mktemp("pair"), 2)


def refusal(files: PairFiles, version: int = 2, **changes: Any) -> DiscovercallError:
    """What is said of a pair, with the paths of its files as RUNS and SUMMARY."""
    with pytest.raises(DiscovercallError) as error:
        verify_pair(files, policy(version, **changes), one_task())
    return error.value


def line(files: PairFiles, **options: Any) -> str:
    said = str(refusal(files, **options))
    return said.replace(str(files.pair.runs), "RUNS").replace(str(files.pair.summary), "SUMMARY")


def with_records(files: PairFiles, change: Callable[[list[Any]], object]) -> PairFiles:
    records = [loads(text) for text in files.runs.decode().splitlines()]
    change(records)
    return replace(files, runs=dump_lines(records))


def with_summary(files: PairFiles, change: Callable[[dict[str, Any]], object]) -> PairFiles:
    """The pair with another summary, whose digest of itself is right again."""
    summary = decode(files.summary)
    change(summary)
    if "discovercall" in summary:
        summary["discovercall"]["summary_sha256"] = summary_digest(summary)
    return replace(files, summary=pretty(summary).encode() + b"\n")


@pytest.mark.parametrize("version", [1, 2])
def test_a_pair_as_it_was_published_is_verified(tmp_path: Path, version: int) -> None:
    files = small_pair(tmp_path, version)
    verified = verify_pair(files, policy(version), one_task())
    assert verified.pair == Pair(tmp_path, STEM)
    assert dump_lines(verified.records) == files.runs
    assert (verified.rehearsal, verified.differences) == (False, ())


def test_a_rehearsal_is_verified_as_one(tmp_path: Path) -> None:
    records = private_run(iter(KINDS[:3]), task_set=one_task(), api_base_url=LOOPBACK_URL)
    stem = "2026-11-30-model-a-rehearsal-v4"
    files = prepared(tmp_path, 2, records, stem=stem, tasks=one_task())
    verified = verify_pair(files, policy(2), one_task())
    assert (verified.rehearsal, verified.differences) == (True, ())
    hidden = str(refusal(replace(files, pair=Pair(tmp_path, STEM))))
    assert hidden == (f"stem {STEM}: names no rehearsal, but the records are of one; end it in -rehearsal-v4")


def test_the_name_of_a_pair_is_checked(whole: PairFiles) -> None:
    other = replace(whole, pair=Pair(whole.pair.folder, STEM.replace("-v4", "-v3")))
    assert line(other) == f"stem {other.pair.stem}: ends in -v3, but the task set is v4.jsonl"
    claimed = replace(whole, pair=Pair(whole.pair.folder, STEM.replace("-v4", "-rehearsal-v4")))
    assert line(claimed) == f"stem {claimed.pair.stem}: names a rehearsal, but the records are of none"
    release = replace(
        whole, pair=Pair(whole.pair.folder, "2026-11-30-model-b-configured-release-c0ffee000000-v4")
    )
    said = line(release)
    assert said.startswith(f"RUNS: stem {release.pair.stem}: names the model model-b, its records are of ")
    assert said.endswith("; give the pair the name back that it was published under")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda records: records[0].update(note="x"),
            f"RUNS: records[0]: note: unknown field; known are {FIELDS}",
        ),
        (
            lambda records: records[2]["metadata"].update(adapter_revision="unreported"),
            "RUNS: records[2].metadata.adapter_revision: must be known",
        ),
        (
            lambda records: records.pop(),
            "RUNS: model 'model-a' has 2 trials of task 'london-weather', an official run needs 3",
        ),
        (
            lambda records: records[1]["metadata"].update(task_set_sha256="a" * 64),
            "RUNS: records[1].metadata.task_set_sha256: is not the digest of the task file,"
            f" {one_task().sha256}",
        ),
        (
            lambda records: records[1]["metadata"].update(api_base_url="sandbox://embedded"),
            "records: mix a rehearsal with a run against a real API; publish them apart",
        ),
    ],
)
def test_records_that_are_not_official_are_refused_by_file(
    whole: PairFiles, change: Callable[[list[Any]], object], said: str
) -> None:
    assert line(with_records(whole, change)) == said
    assert isinstance(refusal(with_records(whole, change)), RefusedError)


def test_the_policy_is_the_given_one(whole: PairFiles) -> None:
    assert line(whole, policy_id="another") == (
        "RUNS: records[0].metadata.publication_policy: does not name the policy 'another'"
    )
    assert policy_json(2)["policy_id"] != "another"


def test_fewer_trials_than_three_are_never_official(whole: PairFiles) -> None:
    assert verification.MIN_TRIALS == 3
    only = with_records(whole, lambda records: records.__delitem__(slice(1, None)))
    assert line(only) == (
        "RUNS: model 'model-a' has 1 trials of task 'london-weather', an official run needs 3"
    )


def test_a_summary_that_differs_is_told_field_by_field(whole: PairFiles) -> None:
    other = with_summary(whole, lambda summary: summary["models"][0].update(workflow_success_rate=1))
    found = verify_pair(other, policy(2), one_task())
    assert found.differences == ("models[0].workflow_success_rate: published 1, recomputed 0.6667",)
    bare = with_summary(whole, lambda summary: summary.pop("discovercall"))
    (difference,) = verify_pair(bare, policy(2), one_task()).differences
    assert difference.startswith("discovercall.runs_sha256: not published, recomputed ")


def test_a_figure_that_is_as_good_as_right_must_still_be_possible(whole: PairFiles) -> None:
    def beyond(summary: dict[str, Any]) -> None:
        summary["discovercall"]["models"][0]["required_parameter_accuracy_inspected"] = 1.0000000000001

    said = line(with_summary(whole, beyond))
    assert said.startswith("SUMMARY: summary: discovercall.models[0].required_parameter_accuracy_inspected: ")


def test_a_broken_line_is_told_by_its_number(whole: PairFiles) -> None:
    broken = replace(
        whole, runs=whole.runs.replace(b'{"schema', b"{schema", 2).replace(b"{schema", b'{"schema', 1)
    )
    assert line(broken).startswith("RUNS:2: not valid JSON")


def test_only_version_2_needs_digests(tmp_path: Path) -> None:
    bare = with_summary(small_pair(tmp_path, 1), lambda summary: summary.pop("discovercall"))
    assert verify_pair(bare, policy(1), one_task()).differences == ()


@pytest.mark.parametrize("text", [b"[]\n", b"5\n", b"null\n"])
def test_a_summary_that_is_no_object_has_no_time(whole: PairFiles, text: bytes) -> None:
    assert line(replace(whole, summary=text)) == "SUMMARY: generated_at: is no time"


def test_a_summary_is_not_made_before_the_last_record_was_finished(whole: PairFiles) -> None:
    finished = [loads(text)["finished_at"] for text in whole.runs.decode().splitlines()]
    at = with_summary(whole, lambda summary: summary.update(generated_at=max(finished)))
    assert verify_pair(at, policy(2), one_task()).differences == ()
    earlier = with_summary(whole, lambda summary: summary.update(generated_at=sorted(finished)[-2]))
    assert line(earlier) == "SUMMARY: generated_at: is before a record was finished"
    assert max(finished) < GENERATED_AT


@pytest.mark.parametrize("gap", [b" ", b"\t", b"\r\n", b"\n\n  "])
def test_white_space_between_values_is_free_but_not_within_them(whole: PairFiles, gap: bytes) -> None:
    spaced = replace(whole, summary=whole.summary.replace(b'"runs":', b'"runs"' + gap + b":", 1))
    assert verify_pair(spaced, policy(2), one_task()).differences == ()
    escaped = whole.summary.replace(b'"discover-call-v2"', b'"discover\\u002dcall-v2"', 1)
    assert line(replace(whole, summary=escaped)) == (
        "SUMMARY: names a field twice, or writes values as no summary does"
    )


def test_a_text_with_quotes_and_spaces_in_it_is_one_text(tmp_path: Path) -> None:
    records = private_run(iter(KINDS[:3]), task_set=one_task())
    for record in records:
        record["metadata"]["adapter_revision"] = 'a "b  c" \\ d'
    files = prepared(tmp_path, 2, records, tasks=one_task())
    assert verify_pair(files, policy(2), one_task()).differences == ()


def written(folder: Path, files: PairFiles) -> Pair:
    pair = Pair(folder, STEM)
    pair.runs.write_bytes(files.runs)
    pair.summary.write_bytes(files.summary)
    return pair


def test_both_files_are_read_together(whole: PairFiles, tmp_path: Path) -> None:
    pair = written(tmp_path, whole)
    journal_of(Pair(tmp_path, "another-v4")).write_text("{}")
    assert read_pair(pair) == PairFiles(pair, whole.runs, whole.summary)


def test_a_pair_whose_publication_was_cut_off_is_not_read(whole: PairFiles, tmp_path: Path) -> None:
    pair = written(tmp_path, whole)
    journal_of(pair).write_text("{}")
    with pytest.raises(RefusedError) as error:
        read_pair(pair)
    assert str(error.value) == (
        f"{journal_of(pair)}: a publication of this pair was cut off, so its files may not belong together;"
        " finish it with `discovercall validate --repair`, or publish it again"
    )


def test_readers_hold_a_folder_together(
    whole: PairFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair, held = written(tmp_path, whole), []

    def seen(folder: Path, *, shared: bool = False) -> Any:
        held.append((folder, shared))
        return locked(folder, shared=shared)

    monkeypatch.setattr(verification, "locked", seen)
    read_pair(pair)
    assert held == [(tmp_path, True)]


def test_a_file_that_can_not_be_read_says_why(
    whole: PairFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = written(tmp_path, whole)
    for reason, said in (
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
        (OSError("wires cut"), "wires cut"),
    ):

        def broken(path: Path, reason: OSError = reason) -> bytes:
            raise reason

        monkeypatch.setattr(verification, "read_input", broken)
        with pytest.raises(InputError) as error:
            read_pair(pair)
        assert str(error.value) == f"{pair.runs}: cannot be read ({said})"

    def no_lock(folder: Path, *, shared: bool) -> Any:
        raise OSError("no locks left")

    monkeypatch.setattr(verification, "locked", no_lock)
    with pytest.raises(InputError) as error:
        read_pair(pair)
    assert str(error.value) == f"{tmp_path}: cannot be read (no locks left)"
