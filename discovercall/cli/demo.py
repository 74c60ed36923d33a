"""`discovercall demo`: both kinds of lane on the embedded gateway, scored, no key, no network."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discovercall.foundation.errors import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from discovercall.contract.options import RunOptions


def demo(
    out: Annotated[
        Path | None, typer.Option(help="New folder for the files; demo-<time> in this folder when not given.")
    ] = None,
) -> None:
    """Run two lanes on the sandbox and score them: no key, no network.

    The lanes are `reference` and `first-result`; a lane of your own comes between the two.
    """
    import time

    from discovercall.cli.run import carry_out
    from discovercall.contract.options import prepare_run
    from discovercall.foundation.clocks import iso_milliseconds
    from discovercall.foundation.errors import InputError
    from discovercall.foundation.files import write_atomic
    from discovercall.foundation.json_text import pretty
    from discovercall.foundation.revision import installed_revision
    from discovercall.report.terminal import print_summary

    now = iso_milliseconds(time.time())
    folder = out or Path(f"demo-{now[:19].replace(':', '').replace('-', '')}Z")
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise InputError(f"{folder} exists", where="--out", fix="name a new folder") from None
    except OSError as error:
        raise InputError(f"{folder} cannot be made ({error.strerror})", where="--out") from None
    options = _options(folder)
    try:
        prepared = prepare_run(options, os.environ, installed_revision())
    except InputError:
        folder.rmdir()
        raise
    result = carry_out(prepared, options)
    if result.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    summary = _score(prepared.plan.task_set, folder, now)
    write_atomic(folder / "summary.json", pretty(summary).encode() + b"\n", mode=0o644)
    print_summary(summary)
    mine = shlex.quote(str(folder / "mine.jsonl"))  # not tracked by git, as the folder is
    typer.echo(
        f"\nFiles, in {folder}:\n"
        "  reference.jsonl, first-result.jsonl   what each lane did in each trial (private records)\n"
        "  summary.json                          the scores above\n"
        "  run.journal.jsonl                     the spend ledger\n"
        "Next: measure a model of your own on the same sandbox:\n"
        "  discovercall run --sandbox --execute --adapter openai-compatible --model MODEL \\\n"
        f"    --adapter-arg=--base-url=http://127.0.0.1:11434/v1 --output {mine}"
    )


def _options(folder: Path) -> RunOptions:
    from discovercall.contract.lane_options import LaneOptions
    from discovercall.contract.options import RunOptions

    lanes = tuple(
        LaneOptions(output=folder / f"{name}.jsonl", adapter=name) for name in ("reference", "first-result")
    )
    return RunOptions(lanes=lanes, execute=True, sandbox=True, concurrency=8, allow_tracked_output=True)


def _score(task_set: Any, folder: Path, now: str) -> dict[str, Any]:
    from discovercall.contract.summary import score_records
    from discovercall.foundation.jsonl import read_objects

    records = read_objects(folder / "reference.jsonl") + read_objects(folder / "first-result.jsonl")
    return score_records(task_set.raw, records, task_set_sha256=task_set.sha256, generated_at=now)
