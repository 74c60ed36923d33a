"""The pinned model command lines, installed from npm into a cache outside the repository."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from discovercall.adapter.clis.facts import MODEL_CLIS, pins

INSTALL_TIMEOUT_S = 600


def installed(cli: str, version: str) -> Path | str:
    """The program of one pinned version, or why there is none."""
    package = pins(MODEL_CLIS[cli]).package
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "discovercall", "model-clis")
    folder = cache / f"{cli}-{version}"
    program = folder / "node_modules" / ".bin" / cli
    if program.exists():
        return program
    if shutil.which("npm") is None or shutil.which("node") is None:
        return "npm or node is missing"
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        target = Path(scratch, "it")
        target.mkdir()
        done = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(target), f"{package}@{version}"],
            capture_output=True,
            text=True,
            timeout=INSTALL_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            last = (done.stderr.strip() or "no reason given").splitlines()[0]
            return f"npm can't install {package}@{version}: {last}"
        with contextlib.suppress(OSError):  # another run was faster
            target.rename(folder)
    return program if program.exists() else f"{package}@{version} brings no {cli}"
