"""Where results go, and which run others are compared with."""

import os
from itertools import product
from pathlib import Path

import pytest

from discovercall.evals.files import ResultFolder, becomes_baseline, default_folder
from discovercall.foundation.errors import InputError


@pytest.mark.parametrize(
    ("whole", "semantic", "verdict", "forced"),
    list(product([True, False], [True, False], ["pass", "fail"], [True, False])),
)
def test_only_a_full_run_with_the_model_that_passes_or_a_word_replaces_the_baseline(
    whole, semantic, verdict, forced
):
    """Checklist line 10."""
    result = {"verdict": verdict, "provenance": {"semanticRan": semantic}}
    expected = forced or (whole and semantic and verdict == "pass")
    assert becomes_baseline(result, whole, forced) is expected


def test_the_default_folder_is_that_of_the_checkout_around(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "discovercall"\n')
    inner = tmp_path / "docs" / "deep"
    inner.mkdir(parents=True)
    assert default_folder(inner) == ResultFolder(tmp_path / "results" / "gateway")
    assert default_folder(Path(tmp_path.anchor)) is None


def test_a_folder_without_a_baseline_has_none(tmp_path):
    assert ResultFolder(tmp_path).read_baseline() is None


def test_a_folder_that_can_not_be_written_is_refused_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(InputError, match="cannot be written"):
        ResultFolder(tmp_path / "out").prepare()
