"""The one `--format` of every command."""

from __future__ import annotations

from enum import StrEnum
from typing import Any


class Format(StrEnum):
    """How a command prints its result."""

    HUMAN = "human"
    JSON = "json"


def print_json(value: Any) -> None:
    """Print a value as indented JSON, as artifacts are written."""
    import typer

    from discovercall.foundation.ecma_json import pretty

    typer.echo(pretty(value))
