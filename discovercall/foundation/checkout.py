"""What git says of the checkout that the code lies in.

Standard library only: the build loads this file alone.
"""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import NamedTuple

_COMMIT = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_TIMEOUT_SECONDS = 60.0
_CODE_FOLDERS = ("discovercall", "adapters")
_CODE_SUFFIXES = (".py", ".pyc", ".pyd", ".so")  # what an import would find

# A user's or a repository's settings must neither run a program nor hide a change.
_SAFE_SETTINGS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.untrackedCache=false",
    "core.ignoreStat=false",
    "core.checkStat=default",
)


class CheckoutState(NamedTuple):
    """HEAD of a checkout, and whether the files that would run differ from it."""

    commit: str
    dirty: bool


def is_checkout(root: Path) -> bool:
    """True where `root/pyproject.toml` names this project: the sources, not an installation."""
    try:
        with (root / "pyproject.toml").open("rb") as file:
            project = tomllib.load(file).get("project")
    except (OSError, ValueError):
        return False
    return isinstance(project, dict) and project.get("name") == "discovercall"


def checkout_state(root: Path) -> CheckoutState | None:
    """State of the git work tree whose top is `root`; None where `root` is none or git cannot read it.

    Dirty means: tracked files differ from HEAD or from the index, changes to some are hidden from git
    (assume-unchanged, skip-worktree), or untracked code lies where it would be imported or run.
    """
    root = root.resolve()
    lines = (_git(root, "rev-parse", "--show-toplevel", "HEAD") or "").splitlines()
    # A project inside another project's repository must not take that one's HEAD for its own.
    if len(lines) != 2 or Path(lines[0]).resolve() != root or not _COMMIT.match(lines[1]):
        return None
    return CheckoutState(lines[1], dirty=_is_dirty(root))


def tracked_files(root: Path) -> list[str] | None:
    """Paths that git tracks below `root` and that exist, relative with `/`; None as for `checkout_state`."""
    root = root.resolve()
    if checkout_state(root) is None or (listing := _git(root, "ls-files", "-z")) is None:
        return None
    return [name for name in listing.split("\0") if name and (root / name).is_file()]


def _is_dirty(root: Path) -> bool:
    changes = _git(root, "status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=none")
    flagged = _git(root, "ls-files", "-v", "-z")
    # Ignored files count too: an ignore rule does not stop an import.
    untracked = _git(root, "ls-files", "--others", "-z", "--", *_CODE_FOLDERS)
    if changes is None or flagged is None or untracked is None:
        return True
    return bool(
        changes
        or any(line[0].islower() or line[0] == "S" for line in flagged.split("\0") if line)
        or any(_is_code(name) for name in untracked.split("\0"))
    )


def _is_code(name: str) -> bool:
    return name.endswith(_CODE_SUFFIXES) and "__pycache__" not in name.split("/")


def _git(root: Path, *arguments: str) -> str | None:
    """Standard output of a git command in `root`, or None when it failed or git is not there."""
    settings = [part for setting in (*_SAFE_SETTINGS, f"safe.directory={root}") for part in ("-c", setting)]
    # GIT_DIR and its kin would redirect git to another repository, index or configuration.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CEILING_DIRECTORIES": str(root.parent), "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            ["git", *settings, "-C", str(root), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "surrogateescape")
