"""The benchmark of whole commands runs, and its figures have the shape that the tables take."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.bench import FIGURES, SIZES
from tools import performance_tables

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.part("benchmark of commands")
def test_everything_is_measured_at_its_smallest_size(tmp_path: Path) -> None:
    output = tmp_path / "figures.json"
    words = [sys.executable, "-m", "benchmarks.bench", "--quick", "--output", str(output)]
    subprocess.run(words, cwd=ROOT, check=True, timeout=300)
    quick, committed = json.loads(output.read_bytes()), json.loads(FIGURES.read_bytes())
    assert quick.keys() == committed.keys()
    assert quick["start"].keys() == committed["start"].keys()
    assert quick["run"].keys() <= committed["run"].keys()
    assert quick["score"]["54"].keys() == committed["score"]["54"].keys()
    assert performance_tables.start(quick).count("\n") == 6


def test_the_committed_figures_are_of_every_size() -> None:
    found = json.loads(FIGURES.read_bytes())
    assert found["score"].keys() == found["publish"].keys() == SIZES.keys()
    assert {line["tools"] for line in found["gateway"]["lexical"]} == {100, 1_000, 10_000, 40_000}


def test_a_broken_promise_is_said() -> None:
    found = json.loads(FIGURES.read_bytes())
    found["score"]["100000"]["peak_mib"] = 451
    found["start"]["help"]["cpu_s"] = 9
    rows = performance_tables.promises(found).splitlines()
    assert [row.endswith("| no |") for row in rows if "450 MiB" in row or "--help" in row] == [True, True]
