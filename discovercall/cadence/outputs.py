"""Step outputs and step summaries of GitHub Actions, written so that no value can break out of its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from discovercall.foundation.errors import InputError

SUMMARY_LIMIT_BYTES = 900_000
_CUT = "\n\n*Truncated here: GitHub shows no more. The whole is in the job's artifact or log.*\n"
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def output_text(outputs: Mapping[str, str], new_delimiter: Callable[[], str]) -> str:
    """The lines for `$GITHUB_OUTPUT`, each value between random delimiters.

    Args:
        outputs: values by name.
        new_delimiter: an unguessable text each time.

    Raises:
        InputError: a name that is none, or a delimiter that occurs in the value.
    """
    lines = []
    for name, value in outputs.items():
        delimiter = new_delimiter()
        if not _NAME.fullmatch(name):
            raise InputError(f"{name!r} is no output name")
        if delimiter in value or "\r" in value or "\0" in value:
            raise InputError(f"the output {name} cannot be written safely")
        lines.append(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")
    return "".join(lines)


def summary_text(markdown: str, limit: int = SUMMARY_LIMIT_BYTES) -> str:
    """Markdown for `$GITHUB_STEP_SUMMARY`, cut at a line end where it would be dropped whole."""
    data = markdown.encode()
    if len(data) <= limit:
        return markdown
    room = limit - len(_CUT.encode())
    return data[:room].decode("utf-8", "ignore").rsplit("\n", 1)[0] + _CUT


def append(path: Path, text: str) -> None:
    """Append to a file that the runner reads after the step.

    Raises:
        InputError: it can't be written.
    """
    try:
        with path.open("a", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror or error})", where=str(path)) from None
