"""TOML files that people write."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from discovercall.foundation.ecma_json import BYTE_ORDER_MARK
from discovercall.foundation.errors import InputError
from discovercall.foundation.jsonl import read_text


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file, with or without a byte order mark.

    Raises:
        InputError: it can't be read, is no UTF-8 or no TOML.
    """
    text, _ = read_text(path)
    try:
        return tomllib.loads(text.removeprefix(BYTE_ORDER_MARK))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not valid TOML ({error})", where=str(path)) from None
    except RecursionError:
        raise InputError("nested too deeply", where=str(path)) from None
