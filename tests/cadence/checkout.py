"""A release's checkout in a folder of its own, and the fake GitHub that knows its commit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.github.fake_github import FakeGitHub

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "acme/benchmark"
IMAGE = f"ghcr.io/acme/discovercall@sha256:{'a' * 64}"
DATE = time.strftime("%Y-%m-%d", time.gmtime())
_PARTS = ("adapters", "discovercall", "schemas", "tasks", "requirements")
_FILES = ("Dockerfile", "cadence.json", "publication-policy.json", "pyproject.toml", "hatch_build.py")
GIT = ("git", "-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false")


@dataclass(frozen=True)
class Checkout:
    """A git repository with our code, a task set of two tasks and one commit."""

    root: Path
    sha: str


def make_checkout(root: Path, *, tasks: int = 2) -> Checkout:
    for part in _PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__", "*.tmp"))
    for name in _FILES:
        if (ROOT / name).is_file():
            shutil.copy2(ROOT / name, root / name)
    lines = (ROOT / "tasks" / "v4.jsonl").read_text().splitlines(keepends=True)[:tasks]
    (root / "tasks" / "v99.jsonl").write_text("".join(lines))
    config = json.loads((ROOT / "cadence.json").read_text())
    config |= {"task_set": "tasks/v99.jsonl", "task_version": "v99"}
    (root / "cadence.json").write_text(json.dumps(config, indent=2) + "\n")
    (root / ".gitignore").write_text("__pycache__/\n")
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "Release"]):
        subprocess.run([*GIT, "-C", str(root), *command], check=True)
    return Checkout(root, head(root))


def head(root: Path) -> str:
    """The commit that is checked out."""
    done = subprocess.run(
        ["git", "-C", str(root), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def seed(gh: FakeGitHub, sha: str) -> None:
    """Make a fake know the release: on main, annotated tag, all workflows."""
    first = gh.seed_commit({"README.md": b"hello"})
    tree = gh.put_tree({"README.md": ("100644", "blob", gh.put_blob(b"released"))})
    who = {"name": "a", "email": "a@b.c", "date": "2026-01-01T00:00:00Z"}
    gh.commits[sha] = {
        "tree": tree,
        "parents": [first],
        "message": "Release",
        "author": who,
        "committer": who,
    }
    gh.refs["refs/heads/main"] = gh.seed_commit({"README.md": b"after the release"}, [sha])
    gh.seed_tag("v1.0.0", sha)
    names = {"release_sha": {"required": True}, "rehearsal": {}, "accept_spent_attempts": {}, "image": {}}

    def run_name(inputs: dict[str, str]) -> str:
        return (
            f"{'Rehearsal' if inputs.get('rehearsal') == 'true' else 'Benchmark'} of {inputs['release_sha']}"
        )

    gh.workflows["discover-call-cadence.yml"] = {"id": 1, "inputs": names, "run_name": run_name}
    gh.workflows["release.yml"] = {"id": 2, "inputs": {}}


def environment(gh: FakeGitHub | None, **more: str) -> dict[str, str]:
    """What a job of the workflow has; nothing of this machine's own workflow."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GITHUB_", "QVERIS_", "RUNNER_", "DISCOVERCALL_"))
    }
    if gh is not None:
        kept |= {"GITHUB_API_URL": gh.url, "GITHUB_TOKEN": gh.token, "GITHUB_REPOSITORY": gh.full_name}
    return {**kept, "NO_PROXY": "127.0.0.1", **more}


def command(checkout: Checkout, *arguments: Any, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """`discovercall` as the checkout's own code."""
    program = "from discovercall.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**env, "PYTHONPATH": str(checkout.root), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=checkout.root,
        capture_output=True,
        text=True,
        timeout=300,
    )
