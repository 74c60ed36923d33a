"""`discovercall validate`: check committed data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discovercall.cli.formats import Format, print_json


def validate(
    tasks: Annotated[
        Path | None, typer.Option(help="One task set instead of the repository's own files.")
    ] = None,
    format: Annotated[Format, typer.Option(help="What is printed.")] = Format.HUMAN,
) -> None:
    """Check task sets and their digests; says what was checked."""
    from discovercall.contract.tasks import load_task_set
    from discovercall.contract.validation import check_task_files
    from discovercall.foundation.resources import resource_path

    if tasks is not None:
        task_set = load_task_set(tasks)
        checked = [{"file": str(tasks), "tasks": len(task_set.tasks), "sha256": task_set.sha256}]
    else:
        checked = check_task_files(resource_path("tasks"))
    if format is Format.JSON:
        print_json({"schema_version": 1, "ok": True, "checked": checked})
        return
    for entry in checked:
        typer.echo(f"valid  {entry['file']}: {entry['tasks']} tasks, SHA-256 {entry['sha256']}")
