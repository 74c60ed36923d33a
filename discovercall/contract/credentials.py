"""Where the catalog key comes from. The key itself never enters a message."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping

from discovercall.capability.authorization import validate_api_key
from discovercall.foundation.errors import InputError

API_KEY_VARIABLE = "QVERIS_API_KEY"
_MAX_KEY_BYTES = 16_384


def read_api_key(key_file: str | None, environment: Mapping[str, str]) -> str:
    """The catalog key, from a file, standard input, a pipe or the environment.

    Args:
        key_file: a path or `-`; a regular file counts only if nobody but its owner can read it.
        environment: where `QVERIS_API_KEY` is looked up when no file is given.

    Raises:
        InputError: no key, an unreadable or exposed file, or text that can't be a key.
    """
    if key_file is None:
        text = environment.get(API_KEY_VARIABLE, "")
        if not text.strip():
            raise InputError(
                "no catalog key", where=API_KEY_VARIABLE, fix="set it, or name a file with --api-key-file"
            )
        return validate_api_key(text)
    try:
        data = _read_standard_input() if key_file == "-" else _read_private(key_file)
    except OSError as error:
        raise InputError(f"{key_file} cannot be read ({error.strerror})", where="--api-key-file") from None
    try:
        return validate_api_key(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError(f"{key_file} holds no text", where="--api-key-file") from None


def _read_standard_input() -> bytes:
    if sys.stdin is None:
        raise InputError("standard input is closed", where="--api-key-file")
    return sys.stdin.buffer.read(_MAX_KEY_BYTES)


def _read_private(path: str) -> bytes:
    with open(path, "rb") as stream:
        status = os.fstat(stream.fileno())
        if stat.S_ISREG(status.st_mode) and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise InputError(f"{path} can be read by others", where="--api-key-file", fix=f"chmod 600 {path}")
        return stream.read(_MAX_KEY_BYTES)
