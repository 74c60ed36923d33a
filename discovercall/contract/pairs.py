"""Finding the records of a run by whatever name a person has for them, and their task set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discovercall.contract.tasks import TaskSet, load_task_set
from discovercall.foundation.artifacts import RUNS_SUFFIX, SUMMARY_SUFFIX
from discovercall.foundation.errors import InputError
from discovercall.foundation.jsonl import read_objects


def find_runs(name: Path) -> Path:
    """The records file that a name stands for: a stem, either file of a pair, or a file of private records.

    Raises:
        InputError: there is no such file.
    """
    text = str(name)
    if text.endswith(SUMMARY_SUFFIX):
        candidates = [Path(text.removesuffix(SUMMARY_SUFFIX) + RUNS_SUFFIX)]
    else:
        candidates = [name, Path(text + RUNS_SUFFIX)]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise InputError(
        "no such run",
        where=text,
        fix=f"give a stem, its {RUNS_SUFFIX} or {SUMMARY_SUFFIX}, or private records",
    )


def read_run(name: Path) -> list[dict[str, Any]]:
    """The records of a run, see `find_runs`.

    Raises:
        InputError: none there, or not JSON Lines of objects.
    """
    path = find_runs(name)
    records = read_objects(path)
    if not records:
        raise InputError("holds no record", where=str(path))
    return records


def task_set_of(records: Sequence[Mapping[str, Any]], given: Path | None, ours: Path) -> TaskSet:
    """The task set that records were made with.

    Args:
        given: a task file that was named; None to look among ours.
        ours: folder of task sets.

    Raises:
        InputError: none of ours has the records' digest.
    """
    if given is not None:
        return load_task_set(given)
    metadata = records[0].get("metadata")
    digest = metadata.get("task_set_sha256") if isinstance(metadata, Mapping) else None
    for path in sorted(ours.glob("v*.jsonl")):
        task_set = load_task_set(path)
        if task_set.sha256 == digest:
            return task_set
    raise InputError(
        f"made with a task set that is not among ours ({digest})", where="--tasks", fix="name its file"
    )
