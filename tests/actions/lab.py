"""The container lab: builds the real Dockerfile, runs images hardened, lends a Docker engine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cadence.checkout import ROOT

LAB = ROOT / "tests" / "support" / "container" / "image-lab"
HARNESS = "discovercall-test:harness"


def require() -> None:
    """Skip where this machine can't do it."""
    if os.geteuid() != 0:
        pytest.skip("the container lab needs root")
    if shutil.which("apt-get") is None:
        pytest.skip("the container lab needs Debian")


def lab(*arguments: str, timeout: float = 1500) -> subprocess.CompletedProcess[str]:
    """Run the lab; its output is text."""
    return subprocess.run(
        [str(LAB), *arguments], capture_output=True, text=True, timeout=timeout, check=False
    )


def build(context: Path, tag: str, target: str, commit: str) -> None:
    """Build one target of the real Dockerfile."""
    done = lab("build", str(context), tag, "--target", target, "--build-arg", f"SOURCE_COMMIT={commit}")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
