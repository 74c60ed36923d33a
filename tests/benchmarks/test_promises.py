"""Long runs cost in proportion, and little memory, whatever else the machine does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.bench import PROGRAM
from benchmarks.timing import Cost, cost_of

ROOT = Path(__file__).resolve().parents[2]
MOST_MIB = 450


def score(folder: Path, tasks: int) -> Cost:
    folder.mkdir()
    # In a process of its own: the memory of this one would count.
    words = [sys.executable, "-m", "benchmarks.workload", str(folder), str(tasks), "100"]
    subprocess.run(words, cwd=ROOT, check=True)
    words = [PROGRAM, "score", "--tasks", "v4.jsonl", "--runs", "records.jsonl", "--output", "summary.json"]
    return cost_of(words, cwd=folder)


@pytest.mark.slow
@pytest.mark.part("benchmark of commands")
def test_ten_times_the_records_cost_at_most_ten_times_as_much(tmp_path: Path) -> None:
    few, many = score(tmp_path / "few", 40), score(tmp_path / "many", 400)
    assert many.cpu_s < 10 * few.cpu_s
    assert many.peak_mib < MOST_MIB
