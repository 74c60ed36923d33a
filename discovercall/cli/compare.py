"""`discovercall compare`: two runs over the same tasks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from discovercall.cli.formats import Format, print_json


def compare(
    a: Annotated[Path, typer.Argument(help="A run: stem or either file of a pair, or private records.")],
    b: Annotated[Path, typer.Argument(help="The run to compare it with.")],
    tasks: Annotated[Path | None, typer.Option(help="Task set of both, where it isn't ours.")] = None,
    format: Annotated[Format, typer.Option(help="What is printed.")] = Format.HUMAN,
) -> None:
    """Compare two runs: gap, exact test, interval, and their basis.

    What they rest on is shown, too: tasks that differ, power, and whether the catalogs can be compared.
    """
    from discovercall.contract.comparison import Side, compare_runs
    from discovercall.contract.pairs import read_run, task_set_of
    from discovercall.foundation.errors import RefusedError
    from discovercall.foundation.resources import resource_path

    sides = [Side(str(name), read_run(name)) for name in (a, b)]
    digests = {_digest(side.records[0]) for side in sides}
    if len(digests) > 1:
        raise RefusedError(
            f"the task sets differ: {a} was made with {_digest(sides[0].records[0])},"
            f" {b} with {_digest(sides[1].records[0])}"
        )
    task_set = task_set_of(sides[0].records, tasks, resource_path("tasks"))
    report = compare_runs(task_set.raw, *sides, task_set_sha256=task_set.sha256)
    if format is Format.JSON:
        print_json(report)
        return
    from discovercall.report.comparison import print_comparison

    print_comparison(report)


def _digest(record: Mapping[str, Any]) -> object:
    metadata = record.get("metadata")
    return metadata.get("task_set_sha256") if isinstance(metadata, Mapping) else None
