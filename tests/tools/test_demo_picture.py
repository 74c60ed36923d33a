"""The README's picture is what the demo prints today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.part("picture of the demo")]

ROOT = Path(__file__).resolve().parents[2]


def test_the_picture_is_drawn_from_todays_demo() -> None:
    command = [sys.executable, "tools/demo_picture.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"make picture\n{done.stderr}"


def test_the_picture_loads_nothing_from_elsewhere() -> None:
    svg = (ROOT / "docs" / "demo.svg").read_text(encoding="utf-8")
    assert "url(http" not in svg
    assert "<script" not in svg
    assert "94.4%" in svg
