"""A Chromium of the system and axe-core from npm, set up where they are absent and that is allowed."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

AXE = "axe-core@4.14.1"
INSTALL_TIMEOUT_S = 900
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> Path | str:
    """The browser's program, or why there is none. As root it is installed with apt where it is absent."""
    found = _browser()
    if found is not None:
        return found
    if shutil.which("apt-get") is None:
        return "there is no Chromium, and no apt to install it"
    rights = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if rights and shutil.which("sudo") is None:
        return "there is no Chromium, and only root can install it"
    for arguments in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
        done = _run([*rights, "apt-get", "-q", *arguments])
        if done.returncode != 0:
            return f"Chromium cannot be installed: {_last(done)}"
    return _browser() or "the package chromium brings no browser"


def axe() -> Path | str:
    """The script of axe-core, or why there is none."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "discovercall", "browser")
    folder = cache / AXE.replace("@", "-")
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if script.exists():
        return script
    if shutil.which("npm") is None:
        return "npm is missing"
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        target = Path(scratch, "it")
        target.mkdir()
        done = _run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(target), AXE])
        if done.returncode != 0:
            return f"{AXE} cannot be installed: {_last(done)}"
        with contextlib.suppress(OSError):  # another run was faster
            target.rename(folder)
    return script if script.exists() else f"{AXE} brings no axe.min.js"


def _browser() -> Path | None:
    return next((Path(path) for name in _BROWSERS if (path := shutil.which(name))), None)


def _last(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr.strip() or "no reason given").splitlines()[-1]


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False, env=environment
    )
