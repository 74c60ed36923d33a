"""Long runs cost in proportion, and little memory, whatever else the machine does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.bench import PROGRAM
from benchmarks.timing import Cost

ROOT = Path(__file__).resolve().parents[2]
MOST_MIB = 450


def score(folder: Path, tasks: int) -> Cost:
    folder.mkdir()
    # In a process of its own: the memory of this one would count.
    words = [sys.executable, "-m", "benchmarks.workload", str(folder), str(tasks), "100"]
    subprocess.run(words, cwd=ROOT, check=True)
    words = [PROGRAM, "score", "--tasks", "v4.jsonl", "--runs", "records.jsonl", "--output", "summary.json"]
    return measured_apart(words, folder)


def measured_apart(words: list[str], folder: Path) -> Cost:
    """The cost of a command that a small process starts: the memory of this one would count."""
    program = (
        "import json, sys; from dataclasses import asdict; from pathlib import Path;"
        " from benchmarks.timing import cost_of;"
        " print(json.dumps(asdict(cost_of(sys.argv[2:], cwd=Path(sys.argv[1])))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder), *words], cwd=ROOT, stdout=subprocess.PIPE, check=True
    )
    return Cost(**json.loads(done.stdout))


@pytest.mark.slow
@pytest.mark.part("benchmark of commands")
def test_ten_times_the_records_cost_at_most_ten_times_as_much(tmp_path: Path) -> None:
    few, many = score(tmp_path / "few", 40), score(tmp_path / "many", 400)
    assert many.cpu_s < 10 * few.cpu_s
    assert many.peak_mib < MOST_MIB
