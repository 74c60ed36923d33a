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
ApiBaseUrl = Annotated[str | None, typer.Option(help="Base URL of the catalog (or QVERIS_BASE_URL).")]
AcceptedAttempts = Annotated[
    int, typer.Option("--accept-spent-attempts", help="Earlier attempts that may have billed.", min=0)
]
_REVIEWED = (
    "*.json", "Dockerfile", "pyproject.toml", "requirements/*", "tasks/*", "adapters/*", "results/*",
)  # fmt: skip
FormatOption = Annotated[Format, typer.Option("--format", help="What is printed.")]


def named_catalog(given: str | None) -> str | None:
    """The catalog that a command line or the environment names, if any."""
    import os

    from discovercall.contract.options import BASE_URL_VARIABLE

    # An empty option is refused later: it must not lead to the default.
    return given if given is not None else os.environ.get(BASE_URL_VARIABLE) or None


def check_out(out: Path | None, root: Path, *inputs: Path) -> None:
    """Refuse an output that is something else already, before any work is done.

    Args:
        out: the file to be written, if any.
        root: the checkout, whose reviewed files and results are inputs.
        inputs: further files that are read.

    Raises:
        InputError: it is an input, no file name, or no regular file.
    """
    from discovercall.foundation.files import check_replaceable, same_file

    if out is None:
        return
    reviewed = (path for name in _REVIEWED for path in root.glob(name))
    for path in (*inputs, *reviewed):
        if same_file(out, path):
            raise InputError(f"{out} is also an input", where="--out", fix="name another file")
    check_replaceable(out, "--out")


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented JSON, whole or not at all."""
    from discovercall.foundation.json_text import pretty

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
