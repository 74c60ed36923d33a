"""Task sets: reading, checking whole, and their digest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discovercall.contract.task_model import TaskLine
from discovercall.foundation.digests import sha256_hex
from discovercall.foundation.ecmascript import MAX_SAFE_INTEGER, is_finite_number, is_number
from discovercall.foundation.errors import InputError
from discovercall.foundation.jsonl import parse_lines, read_text
from discovercall.foundation.models import check


@dataclass(frozen=True, slots=True)
class Task:
    """One task: what is asked, and the plain object that scoring reads."""

    id: str
    prompt: str
    query: str
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TaskSet:
    """A checked task file: its tasks in file order and the SHA-256 of its bytes."""

    path: Path
    sha256: str
    tasks: tuple[Task, ...]

    @property
    def raw(self) -> list[Mapping[str, Any]]:
        """The tasks as plain objects."""
        return [task.raw for task in self.tasks]


def load_task_set(path: Path) -> TaskSet:
    """Read and check a task file in one read, so that the digest is that of the tasks used.

    Raises:
        InputError: unreadable, not UTF-8, or an invalid line; names file, line and field.
    """
    text, data = read_text(path)
    tasks = parse_task_set(text, str(path))
    return TaskSet(
        path,
        sha256_hex(data),
        tuple(Task(t["id"], t["prompt"], t.get("discover_query", t["prompt"]), t) for t in tasks),
    )


def parse_task_set(text: str, path: str) -> list[dict[str, Any]]:
    """Parse and check the text of a task file.

    Args:
        text: JSON Lines; blank lines and lines starting with `#` are skipped.
        path: the name used in errors.

    Returns:
        The tasks as plain objects in file order.

    Raises:
        InputError: names file, line and field of the first problem.
    """
    lines = list(parse_lines(text, path, comments=True))
    _check([(f"{path}:{line.number}", line.value) for line in lines], path)
    return [line.value for line in lines]


def validate_task_set(tasks: Sequence[Any]) -> None:
    """Check a task set that is already parsed.

    Raises:
        InputError: names the task and the field of the first problem.
    """
    if not isinstance(tasks, Sequence) or isinstance(tasks, str):
        raise InputError("a task set must be a list of tasks")
    _check([(f"task {number}", task) for number, task in enumerate(tasks, 1)], "task set")


def _check(tasks: list[tuple[str, Any]], name: str) -> None:
    if not tasks:
        raise InputError("holds no task", where=name, fix="a task set needs at least one task")
    seen: dict[str, str] = {}
    for where, task in tasks:
        if not isinstance(task, dict):
            raise InputError("must be a JSON object", where=where)
        _check_numbers(task, where)
        task_id = check(TaskLine, task, where).id
        if task_id in seen:
            raise InputError(
                f"{task_id!r} is taken by {seen[task_id]}", where=f"{where}: id", fix="ids are unique"
            )
        seen[task_id] = where


def _check_numbers(task: dict[str, Any], where: str) -> None:
    stack: list[tuple[str, Any]] = list(task.items())
    while stack:
        field, value = stack.pop()
        if isinstance(value, dict):
            stack.extend((f"{field}.{key}", child) for key, child in value.items())
        elif isinstance(value, list):
            stack.extend((f"{field}[{index}]", child) for index, child in enumerate(value))
        elif is_number(value) and not (
            is_finite_number(value) and (isinstance(value, float) or abs(value) <= MAX_SAFE_INTEGER)
        ):
            raise InputError(
                "holds a number that JSON cannot carry exactly",
                where=f"{where}: {field}",
                fix="write it as a string",
            )
