"""JSON files that people write and review."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discovercall.foundation.ecma_json import BYTE_ORDER_MARK, JsonError, decode_unique, loads
from discovercall.foundation.errors import InputError
from discovercall.foundation.files import INPUT_LIMIT
from discovercall.foundation.jsonl import read_text


def read_json(path: Path, limit: int = INPUT_LIMIT) -> tuple[Any, bytes]:
    """The value of a JSON file, and the file's bytes.

    Args:
        path: a regular file, or a pipe that this process was given.
        limit: bytes that it may have.

    Raises:
        InputError: it can't be read, is no UTF-8 or no JSON, which names the line, or an object has a name
            twice, of which another reader may take the other value.
    """
    text, data = read_text(path, limit)
    return parse_json(text, str(path)), data


def parse_json(text: str, where: str) -> Any:
    """The same of a file's text; a byte-order mark at its start is no part of it.

    Args:
        text: of the whole file.
        where: the file, for the message.

    Raises:
        InputError: as `read_json`.
    """
    text = text.removeprefix(BYTE_ORDER_MARK)
    try:
        loads(text)
    except JsonError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InputError(f"not valid JSON ({error})", where=f"{where}:{line}") from None
    return unique_json(text, where)


def unique_json(text: str, where: str) -> Any:
    """The same of a text whose line is known, such as one line of a JSON Lines file.

    Raises:
        InputError: no JSON, or an object has a name twice.
    """
    try:
        return decode_unique(text.encode("utf-8"))
    except JsonError as error:
        raise InputError(f"not valid JSON ({error})", where=where) from None
