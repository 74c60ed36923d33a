"""Real MCP servers from npm and PyPI, pinned, installed into a cache outside the repository."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

INSTALL_TIMEOUT_S = 900


@dataclass(frozen=True)
class Real:
    """A server: its package, its program, its arguments, and how many tools it has."""

    package: str
    program: str
    tools: int
    arguments: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    """Further requirements of a PyPI package."""

    @property
    def on_npm(self) -> bool:
        return "==" not in self.package


_OFFICIAL = "@modelcontextprotocol/server"
SERVERS = {
    "everything": Real(f"{_OFFICIAL}-everything@2026.8.31", "mcp-server-everything", 13, ("stdio",)),
    "filesystem": Real(f"{_OFFICIAL}-filesystem@2026.8.31", "mcp-server-filesystem", 14, ("{folder}",)),
    "time": Real("mcp-server-time==2026.10.19", "mcp-server-time", 2),
    "memory": Real(f"{_OFFICIAL}-memory@2026.8.31", "mcp-server-memory", 9),
    "sequential": Real(f"{_OFFICIAL}-sequential-thinking@2026.8.31", "mcp-server-sequential-thinking", 1),
    "github": Real(f"{_OFFICIAL}-github@2025.4.8", "mcp-server-github", 26),
    "playwright": Real("@playwright/mcp@0.0.83", "playwright-mcp", 25),
    "chrome": Real("chrome-devtools-mcp@1.11.0", "chrome-devtools-mcp", 32),
    "notion": Real("@notionhq/notion-mcp-server@2.5.2", "notion-mcp-server", 24),
    "mongodb": Real("mongodb-mcp-server@3.0.4", "mongodb-mcp-server", 27),
    "fetch": Real("mcp-server-fetch==2026.10.24", "mcp-server-fetch", 1),
    "git": Real("mcp-server-git==2026.10.19", "mcp-server-git", 12),
    "sqlite": Real(
        "mcp-server-sqlite==2025.4.25", "mcp-server-sqlite", 6, ("--db-path", "{folder}/db"), ("mcp==1.30.0",)
    ),
}
CORE = ("everything", "filesystem", "time")


def installed(name: str) -> Path | str:
    """The program of a server, or why there is none."""
    real = SERVERS[name]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "discovercall", "mcp-servers")
    folder = cache / real.package.replace("/", "-").replace("@", "-").replace("==", "-").strip("-")
    program = folder / ("node_modules/.bin" if real.on_npm else "bin") / real.program
    if program.exists():
        return program
    if real.on_npm and (shutil.which("npm") is None or shutil.which("node") is None):
        return "npm or node is missing"
    cache.mkdir(parents=True, exist_ok=True)
    done = _from_npm(real, folder, cache) if real.on_npm else _from_pypi(real, folder)
    if done.returncode != 0:
        last = (done.stderr.strip() or "no reason given").splitlines()[-1]
        return f"{real.package} cannot be installed: {last}"
    return program if program.exists() else f"{real.package} brings no {real.program}"


def _from_npm(real: Real, folder: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        target = Path(scratch, "it")
        target.mkdir()
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(target), real.package]
        done = _run(command)
        if done.returncode == 0:
            with contextlib.suppress(OSError):  # another run was faster
                target.rename(folder)
        return done


def _from_pypi(real: Real, folder: Path) -> subprocess.CompletedProcess[str]:
    # In place, for an environment can't be moved; -I, for what the caller's path holds is not in it.
    made = _run([sys.executable, "-I", "-m", "venv", str(folder)])
    if made.returncode != 0:
        return made
    pip = [str(folder / "bin" / "python"), "-I", "-m", "pip", "install", "--quiet"]
    return _run([*pip, "--disable-pip-version-check", real.package, *real.beside])


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False)
