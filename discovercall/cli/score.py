"""`discovercall score`: score the records of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discovercall.cli.formats import Format, print_json


def score(
    tasks: Annotated[Path, typer.Option(help="Task set the records were made with.")],
    runs: Annotated[Path, typer.Option(help="Records, private or public (JSON Lines).")],
    output: Annotated[Path | None, typer.Option(help="Write the summary to this file.")] = None,
    format: Annotated[Format, typer.Option(help="What is printed.")] = Format.HUMAN,
) -> None:
    """Score records: per-record scores, rates, intervals, failures by gate."""
    import time

    from discovercall.contract.summary import score_records
    from discovercall.contract.tasks import load_task_set
    from discovercall.foundation.clocks import iso_milliseconds
    from discovercall.foundation.ecma_json import pretty
    from discovercall.foundation.errors import InputError
    from discovercall.foundation.files import check_replaceable, same_file, write_atomic
    from discovercall.foundation.jsonl import read_objects

    for source in (tasks, runs):
        if output is not None and same_file(output, source):
            raise InputError(f"{output} is also an input", where="--output", fix="name another file")
    if output is not None:
        check_replaceable(output, "--output")
    task_set = load_task_set(tasks)
    summary = score_records(
        task_set.raw,
        read_objects(runs),
        task_set_sha256=task_set.sha256,
        generated_at=iso_milliseconds(time.time()),
    )
    if output is not None:
        try:
            write_atomic(output, pretty(summary).encode() + b"\n", mode=0o644)
        except OSError as error:
            raise InputError(f"{output} can't be written ({error.strerror})", where="--output") from None
    if format is Format.JSON:
        print_json(summary)
        return
    from discovercall.report.terminal import print_summary

    print_summary(summary)
    if output is not None:
        typer.echo(f"Wrote {output}")
