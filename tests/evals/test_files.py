"""Where results go, and which run others are compared with."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest

from discovercall.evals.files import ResultFolder, becomes_baseline, default_folder
from discovercall.foundation.errors import InputError


@pytest.mark.parametrize(
    ("whole", "semantic", "verdict", "passed", "forced"),
    list(product([True, False], [True, False], ["pass", "fail"], [True, False], [True, False])),
)
def test_only_a_full_run_with_the_model_that_passes_or_a_word_replaces_the_baseline(
    whole, semantic, verdict, passed, forced
):
    """Checklist line 10."""
    result = {"verdict": verdict, "provenance": {"semanticRan": semantic}, "gates": [{"pass": True}]}
    expected = forced or (whole and semantic and passed and verdict == "pass")
    assert becomes_baseline(result, all_families=whole, passed=passed, forced=forced) is expected


@pytest.mark.parametrize(
    "gates", [[], [{"pass": False, "skipped": True}], [{"pass": True}, {"pass": False, "skipped": True}]]
)
@pytest.mark.parametrize("forced", [True, False])
def test_a_run_with_a_gate_that_nothing_was_held_to_is_no_baseline_unasked(gates, forced):
    result = {"verdict": "pass", "provenance": {"semanticRan": True}, "gates": gates}
    assert becomes_baseline(result, all_families=True, passed=True, forced=forced) is forced


def test_the_default_folder_is_that_of_the_checkout_around(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "discovercall"\n')
    inner = tmp_path / "docs" / "deep"
    inner.mkdir(parents=True)
    assert default_folder(inner) == ResultFolder(tmp_path / "results" / "gateway")
    assert default_folder(Path(tmp_path.anchor)) is None


def test_a_folder_without_a_baseline_has_none(tmp_path):
    assert ResultFolder(tmp_path).read_baseline() is None


def test_runs_of_one_second_each_have_a_file(tmp_path):
    folder = ResultFolder(tmp_path / "out")
    folder.prepare()

    def write(number):
        at = f"2026-01-01T00:00:00.{number:03}Z"
        return folder.write({"generatedAt": at}, as_baseline=False)

    with ThreadPoolExecutor(8) as pool:
        paths = [path for (path,) in pool.map(write, range(8))]
    assert sorted(path.name for path in paths) == [
        "run-20260101T000000Z-2.json",
        "run-20260101T000000Z-3.json",
        "run-20260101T000000Z-4.json",
        "run-20260101T000000Z-5.json",
        "run-20260101T000000Z-6.json",
        "run-20260101T000000Z-7.json",
        "run-20260101T000000Z-8.json",
        "run-20260101T000000Z.json",
    ]
    for number, path in enumerate(paths):
        assert json.loads(path.read_bytes())["generatedAt"].endswith(f".{number:03}Z")


@pytest.mark.parametrize("target", ["nowhere", "baseline.json"])
def test_a_baseline_that_is_a_link_to_nowhere_is_not_taken_for_absent(tmp_path, target):
    folder = ResultFolder(tmp_path)
    folder.prepare()
    folder.baseline.symlink_to(target)
    with pytest.raises(InputError, match=r"baseline\.json: cannot be read"):
        folder.read_baseline()


def test_a_folder_that_can_not_be_written_is_refused_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(InputError, match="cannot be written"):
        ResultFolder(tmp_path / "out").prepare()
