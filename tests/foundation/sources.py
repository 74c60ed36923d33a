"""Copies of this project's sources under real git, for tests of what a checkout or a build says of itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_COPIED = (
    "LICENSE",
    "README.md",
    "THIRD_PARTY_NOTICES.md",
    "adapters",
    "cadence.json",
    "discovercall",
    "hatch_build.py",
    "publication-policy.json",
    "pyproject.toml",
    "schemas",
    "tasks",
)
_ASK = """
import dataclasses, json
from discovercall.foundation.resources import resource_path
from discovercall.foundation.revision import installed_revision
revision = dataclasses.asdict(installed_revision())
print(json.dumps(revision | {"tasks": str(resource_path("tasks", "v4.jsonl"))}))
"""


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder as a person without settings of their own would."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    settings = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main"]
    command = ["git", *settings, "-C", str(folder), *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()


def commit_all(folder: Path) -> str:
    """Make the folder a repository where it is none, commit all that is in it, and give the commit."""
    git(folder, "init", "--quiet")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "state")
    return git(folder, "rev-parse", "HEAD")


def copy_sources(target: Path) -> Path:
    """Copy what a build needs, without caches and without git."""
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(
                source, target / name, ignore=shutil.ignore_patterns("__pycache__", "_build.json")
            )
        elif source.exists():
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target / name)
    return target


def ask(import_from: Path, cwd: Path, **environment: str) -> dict[str, Any]:
    """What the package found in `import_from` says of itself: revision, source, dirty flag, a data path."""
    command = [
        sys.executable,
        "-S",
        "-B",
        "-c",
        f"import sys; sys.path.insert(0, {str(import_from)!r})\n{_ASK}",
    ]
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, check=True, capture_output=True, text=True
    )
    return dict(json.loads(done.stdout))
