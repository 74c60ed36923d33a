"""Where the catalog key comes from. The key itself never enters a message."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from discovercall.capability.authorization import API_KEY_VARIABLE, validate_api_key
from discovercall.foundation.errors import InputError
from discovercall.foundation.files import ExposedFile, read_private

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
        data = _read_standard_input() if key_file == "-" else read_private(Path(key_file), _MAX_KEY_BYTES)
    except ExposedFile:
        raise InputError(
            f"{key_file} can be read by others", where="--api-key-file", fix=f"chmod 600 {key_file}"
        ) from None
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
