"""Checks of committed task files: each is valid and still what its published digest says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from discovercall.contract.tasks import load_task_set
from discovercall.foundation.errors import InputError, RefusedError
from discovercall.foundation.jsonl import read_text

DIGEST_FILE = "SHA256SUMS"
_DIGEST_LINE = re.compile(r"(?P<sha256>[0-9a-f]{64}) [ *](?P<name>[^/\s]+)\Z")


def check_task_files(folder: Path) -> list[dict[str, Any]]:
    """Check every task set of a folder against its rules and its digest file.

    Returns:
        One entry per file: `file`, `tasks` (how many), `sha256`.

    Raises:
        InputError: an invalid task file or digest file.
        RefusedError: a digest that no longer matches, a file without a digest, a digest without its file.
    """
    digest_file = folder / DIGEST_FILE
    digests = _read_digests(digest_file)
    files = {path.name: path for path in sorted(folder.glob("*.jsonl"))}
    for name in digests:
        if name not in files:
            raise RefusedError(f"names {name}, which is missing", where=str(digest_file))
    checked = []
    for name, path in files.items():
        if name not in digests:
            raise RefusedError("has no published digest", where=str(path), fix=f"add it to {DIGEST_FILE}")
        task_set = load_task_set(path)
        if task_set.sha256 != digests[name]:
            raise RefusedError(
                f"has the digest {task_set.sha256}, published was {digests[name]}",
                where=str(path),
                fix="published task sets never change: restore it, and put changes into a new version",
            )
        checked.append({"file": str(path), "tasks": len(task_set.tasks), "sha256": task_set.sha256})
    return checked


def _read_digests(path: Path) -> dict[str, str]:
    text, _ = read_text(path)
    digests: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        found = _DIGEST_LINE.match(line)
        if not found:
            raise InputError(
                "is no digest line",
                where=f"{path}:{number}",
                fix="write 64 hex digits, two spaces and a file name",
            )
        digests[found["name"]] = found["sha256"]
    return digests
