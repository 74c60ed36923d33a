"""Where a run may write: no file is overwritten, no input touched, no repository gets private records."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from discovercall.foundation.errors import InputError
from discovercall.foundation.files import same_file

_GIT_TIMEOUT_S = 10


def check_output(
    output: Path, journal: Path, inputs: Iterable[Path], *, allow_tracked: bool, resume: bool
) -> None:
    """Refuse an output file that would harm something.

    Args:
        output: the file to write; its folder must exist.
        journal: the run's journal, beside it.
        inputs: files that are read.
        allow_tracked: whether a file that git would track is fine.
        resume: whether a run that has a journal may go on.

    Raises:
        InputError: says what stands in the way.
    """
    if not output.name or "\0" in str(output):
        raise InputError("must name a file", where="--output")
    if same_file(output, journal):
        raise InputError(f"{output} is the run's journal", where="--output", fix="name another file")
    for path in inputs:
        if same_file(output, path):
            raise InputError(f"{output} is also an input", where="--output", fix="name another file")
    if not output.parent.is_dir():
        raise InputError(f"the folder {output.parent} does not exist", where="--output", fix="create it")
    if not os.access(output.parent, os.W_OK | os.X_OK):
        raise InputError(f"the folder {output.parent} is not writable", where="--output")
    going_on = resume and os.path.lexists(journal)
    for path in (output, journal):
        if os.path.lexists(path) and not going_on:
            raise InputError(
                f"{path} exists and is never overwritten",
                where="--output",
                fix="name another file, or continue that run with --resume",
            )
    tracked = () if allow_tracked else tuple(path for path in (output, journal) if _git_would_track(path))
    if tracked:
        raise InputError(
            f"{tracked[0]} lies in a git work tree that does not ignore it; private records must not get in",
            where="--output",
            fix="name a file elsewhere, ignore output and journal, or give --allow-tracked-output",
        )


def _git_would_track(path: Path) -> bool:
    folder = path.parent.resolve()
    if not any((parent / ".git").exists() for parent in (folder, *folder.parents)):
        return False
    command = ["git", "-C", str(folder), "check-ignore", "--quiet", "--", path.name]
    try:
        found = subprocess.run(command, capture_output=True, timeout=_GIT_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return True
    return found.returncode != 0
