"""Options that the commands of `discovercall cadence` share, and how they write files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discovercall.cli.formats import Format
from discovercall.foundation.errors import InputError

ReleaseSha = Annotated[str, typer.Option(help="Commit of the release: 40 lower-case hex digits.")]
Rehearsal = Annotated[
    bool, typer.Option("--rehearsal", help="The whole way on the embedded sandbox, apart from real runs.")
]
Root = Annotated[Path, typer.Option(help="Checkout of the release: cadence.json, tasks, policy, results.")]
Repository = Annotated[str | None, typer.Option(help="owner/name on GitHub (or GITHUB_REPOSITORY).")]
Image = Annotated[
    str | None, typer.Option(help="Image that runs, as name@sha256:…; not given: the installed code.")
]
FormatOption = Annotated[Format, typer.Option("--format", help="What is printed.")]


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented JSON, whole or not at all."""
    from discovercall.foundation.ecma_json import pretty

    write_text(path, pretty(value) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text, whole or not at all.

    Raises:
        InputError: the file can't be written.
    """
    from discovercall.foundation.files import write_atomic

    try:
        write_atomic(path, text.encode(), mode=0o644)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror or error})", where=str(path)) from None
