"""The simulation behind the claims about the headline interval and the exact test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.part("coverage simulation")
def test_the_headline_interval_covers_and_the_exact_test_keeps_its_size() -> None:
    command = [sys.executable, "benchmarks/coverage.py", "--replicates", "4000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout
    assert len(done.stdout.splitlines()) == 3 + 9 * 3
