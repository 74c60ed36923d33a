"""Names of pairs, and what an output must not be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from discovercall.foundation.errors import InputError, RefusedError
from discovercall.publication.pair import (
    Pair,
    check_outputs,
    check_rehearsal_name,
    check_version,
    pair_of,
    pairs_in,
)

STEM = "2026-11-30-gpt-5.6-sol-configured-v4"


def test_a_pair_is_named_by_its_two_paths(tmp_path: Path) -> None:
    pair = pair_of(tmp_path / f"{STEM}.runs.jsonl", tmp_path / f"{STEM}.summary.json")
    assert (pair.stem, pair.version, pair.named_rehearsal) == (STEM, 4, False)
    assert Pair(tmp_path, "2026-11-30-reference-rehearsal-v12").named_rehearsal


@pytest.mark.parametrize(
    ("runs", "summary"),
    [
        ("a.jsonl", "a.summary.json"),
        ("a.runs.jsonl", "a.summary.json"),
        ("a-v0.runs.jsonl", "a-v0.summary.json"),
        ("a-v4x.runs.jsonl", "a-v4x.summary.json"),
        (".a-v4.runs.jsonl", ".a-v4.summary.json"),
        ("a-v4.runs.jsonl", "b-v4.summary.json"),
        ("a-v4.runs.jsonl", "other/a-v4.summary.json"),
        ("a b-v4.runs.jsonl", "a b-v4.summary.json"),
        ("a-v4\n.runs.jsonl", "a-v4\n.summary.json"),
    ],
)
def test_other_names_are_refused(tmp_path: Path, runs: str, summary: str) -> None:
    with pytest.raises(InputError):
        pair_of(tmp_path / runs, tmp_path / summary)


def test_stem_task_file_and_kind_must_agree(tmp_path: Path) -> None:
    pair, rehearsal = Pair(tmp_path, "x-v4"), Pair(tmp_path, "x-rehearsal-v4")
    check_version(pair, Path("tasks/v4.jsonl"))
    check_version(pair, Path("my-tasks.jsonl"))
    with pytest.raises(RefusedError):
        check_version(pair, Path("tasks/v3.jsonl"))
    check_rehearsal_name(pair, rehearsal=False)
    check_rehearsal_name(rehearsal, rehearsal=True)
    with pytest.raises(RefusedError, match="-rehearsal-v4"):
        check_rehearsal_name(pair, rehearsal=True)
    with pytest.raises(RefusedError):
        check_rehearsal_name(rehearsal, rehearsal=False)


def test_an_output_is_no_input_by_path_link_or_inode(tmp_path: Path) -> None:
    pair = Pair(tmp_path, "x-v4")
    private = tmp_path / "private.jsonl"
    private.write_text("{}\n")
    check_outputs(pair, [private])
    with pytest.raises(InputError, match="is also the input"):
        check_outputs(pair, [tmp_path / "sub" / ".." / pair.summary.name])
    os.link(private, pair.runs)
    with pytest.raises(InputError, match="is also the input"):
        check_outputs(pair, [private])
    pair.runs.unlink()
    pair.runs.symlink_to(private)
    with pytest.raises(InputError, match="is also the input"):
        check_outputs(pair, [private])
    pair.runs.unlink()
    link = tmp_path / "link.jsonl"
    link.symlink_to(pair.summary)
    with pytest.raises(InputError, match="is also the input"):
        check_outputs(pair, [link])


def test_outputs_are_plain_files_of_their_own(tmp_path: Path) -> None:
    pair = Pair(tmp_path, "x-v4")
    pair.runs.write_text("old\n")
    os.link(pair.runs, pair.summary)
    with pytest.raises(InputError, match="one file"):
        check_outputs(pair, [])
    pair.summary.unlink()
    pair.summary.mkdir()
    with pytest.raises(InputError, match="no plain file"):
        check_outputs(pair, [])
    pair.summary.rmdir()
    pair.summary.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(InputError, match="no plain file"):
        check_outputs(pair, [])
    with pytest.raises(InputError, match="does not exist"):
        check_outputs(Pair(tmp_path / "none", "x-v4"), [])


def test_a_folder_of_pairs_has_no_orphan(tmp_path: Path) -> None:
    for name in ("b-v4.runs.jsonl", "b-v4.summary.json", "a-v1.runs.jsonl", "a-v1.summary.json", "README.md"):
        (tmp_path / name).write_text("")
    assert [pair.stem for pair in pairs_in(tmp_path)] == ["a-v1", "b-v4"]
    (tmp_path / "a-v1.summary.json").unlink()
    with pytest.raises(RefusedError, match=r"a-v1\.summary\.json is missing"):
        pairs_in(tmp_path)
    (tmp_path / "a-v1.runs.jsonl").unlink()
    (tmp_path / "c.runs.jsonl").write_text("")
    (tmp_path / "c.summary.json").write_text("")
    with pytest.raises(RefusedError, match="no stem"):
        pairs_in(tmp_path)
