"""The one `--format` of every command."""

from __future__ import annotations

from enum import StrEnum
from typing import Any


class Format(StrEnum):
    """How a command prints its result."""

    HUMAN = "human"
    JSON = "json"


class ReportFormat(StrEnum):
    """The same, for commands that can also print one line or a Markdown page."""

    HUMAN = "human"
    JSON = "json"
    CONCISE = "concise"
    MARKDOWN = "markdown"


def print_json(value: Any) -> None:
    """Print a value as indented JSON, as artifacts are written, but safe for a terminal."""
    import typer

    from discovercall.foundation.json_text import pretty
    from discovercall.foundation.shown import escaped_json

    typer.echo(escaped_json(pretty(value)))
