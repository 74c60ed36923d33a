"""`discovercall score`: score the records of a run."""

from __future__ import annotations

import contextlib
import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discovercall.cli.formats import Format

if TYPE_CHECKING:
    from discovercall.contract.tasks import TaskSet


def score(
    tasks: Annotated[Path, typer.Option(help="Task set the records were made with.")],
    runs: Annotated[Path, typer.Option(help="Records, private or public (JSON Lines).")],
    output: Annotated[Path | None, typer.Option(help="Write the summary to this file.")] = None,
    format: Annotated[Format, typer.Option(help="What is printed.")] = Format.HUMAN,
) -> None:
    """Score records: rates, intervals, failures by gate."""
    import time

    from discovercall.contract.tasks import load_task_set
    from discovercall.foundation.clocks import iso_milliseconds
    from discovercall.foundation.errors import InputError
    from discovercall.foundation.files import check_replaceable, same_file, write_atomic
    from discovercall.foundation.json_text import pretty_pieces
    from discovercall.foundation.shown import escaped_json

    for source in (tasks, runs):
        if output is not None and same_file(output, source):
            raise InputError(f"{output} is also an input", where="--output", fix="name another file")
    if output is not None:
        check_replaceable(output, "--output")
    summary = _score(load_task_set(tasks), runs, iso_milliseconds(time.time()))
    if output is not None:
        try:
            pieces = itertools.chain(pretty_pieces(summary), ["\n"])
            write_atomic(output, (piece.encode() for piece in pieces), mode=0o644)
        except OSError as error:
            raise InputError(f"{output} cannot be written ({error.strerror})", where="--output") from None
    if format is Format.JSON:
        sys.stdout.writelines(map(escaped_json, pretty_pieces(summary)))
        typer.echo()
        return
    from discovercall.report.terminal import print_summary

    print_summary(summary)
    if output is not None:
        typer.echo(f"Wrote {output}")


def _score(task_set: TaskSet, runs: Path, now: str) -> dict[str, Any]:
    from discovercall.contract.summary import score_records, score_stream
    from discovercall.foundation.errors import InputError
    from discovercall.foundation.jsonl import read_objects, stream_objects

    settings: Any = {"task_set_sha256": task_set.sha256, "generated_at": now}
    if runs.is_file():  # a pipe can be read once
        with contextlib.suppress(InputError):  # reading all at once says what is wrong first
            return score_stream(task_set.raw, stream_objects(runs), **settings)
    records = read_objects(runs)
    try:
        return score_records(task_set.raw, records, **settings)
    except InputError as error:  # scoring knows records, not files
        where = f"{runs}: {error.where}" if error.where else str(runs)
        raise InputError(error.what, where=where, fix=error.fix) from None
