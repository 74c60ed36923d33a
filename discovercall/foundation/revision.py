"""Which commit the installed code is: never that of the folder a command happens to run in."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from discovercall.foundation.checkout import checkout_state
from discovercall.foundation.digests import is_commit
from discovercall.foundation.resources import PACKAGE_ROOT, checkout_root

RevisionSource = Literal["build", "checkout", "none"]


@dataclass(frozen=True)
class ToolkitRevision:
    """The commit of the running code.

    `commit` is 40 or 64 hex digits, or None where it isn't known. `source` tells where it comes from: written
    at build time, HEAD of the checkout, or nowhere. `dirty` is true where the code differs from its commit.
    """

    commit: str | None
    source: RevisionSource
    dirty: bool


UNKNOWN_REVISION = ToolkitRevision(commit=None, source="none", dirty=False)


def installed_revision() -> ToolkitRevision:
    """Revision of this very code: HEAD of its checkout, else what its build wrote into the package.

    Asks git about the checkout's own folder only, so the current folder and git's environment variables
    have no say. A build from a dirty checkout has no commit and stays dirty. No network.
    """
    root = checkout_root()
    if root is None:
        return _built_revision(PACKAGE_ROOT / "_build.json")
    state = checkout_state(root)
    return UNKNOWN_REVISION if state is None else ToolkitRevision(state.commit, "checkout", state.dirty)


def _built_revision(path: Path) -> ToolkitRevision:
    try:
        written = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return UNKNOWN_REVISION
    if not isinstance(written, dict):
        return UNKNOWN_REVISION
    if written.get("dirty") is True:
        return ToolkitRevision(commit=None, source="build", dirty=True)
    commit = written.get("commit")
    return ToolkitRevision(commit, "build", dirty=False) if is_commit(commit) else UNKNOWN_REVISION
