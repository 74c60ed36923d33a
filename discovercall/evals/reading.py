"""How the files of a corpus are read: regular ones, of a size that fits, with each name once in an object."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from discovercall.foundation.ecma_json import BYTE_ORDER_MARK
from discovercall.foundation.ecmascript import is_blank
from discovercall.foundation.errors import InputError
from discovercall.foundation.json_file import unique_json
from discovercall.foundation.jsonl import read_text, split_lines

FILE_LIMIT = 1 << 28
"""Bytes that a file of a corpus may have."""


def corpus_text(path: Path) -> tuple[str, bytes]:
    """A file's text without its byte-order mark, and its bytes.

    Raises:
        InputError: it can't be read, is no regular file, is too large, or is no UTF-8.
    """
    text, data = read_text(path, FILE_LIMIT)
    return text.removeprefix(BYTE_ORDER_MARK), data


def parsed_lines(text: str, path: Path) -> Iterator[tuple[int, Any | InputError]]:
    """Each line that is not blank with its number: its value, or what is wrong with it."""
    for number, line in enumerate(split_lines(text), 1):
        if not is_blank(line):
            try:
                yield number, unique_json(line, f"{path}:{number}")
            except InputError as error:
                yield number, error


def files_in(folder: Path, ending: str) -> list[Path]:
    """The files of a folder with that ending, by name; none where there is no folder.

    Raises:
        InputError: what has the folder's name can't be listed: a file, a link to nowhere.
    """
    if not os.path.lexists(folder):
        return []
    try:
        names = os.listdir(folder)
    except OSError as error:
        raise InputError(
            f"cannot be listed ({error.strerror})", where=str(folder), fix=f"make it a folder of *{ending}"
        ) from None
    return [folder / name for name in sorted(names) if name.endswith(ending)]
