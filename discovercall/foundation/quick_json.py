"""A quick reader for what most JSON looks like; `ecma_json` reads the rest."""

from __future__ import annotations

import re
from typing import Any

from pydantic_core import from_json

from discovercall.foundation.ecma_json import INTEGER_DIGITS, JsonError

_SAMPLE = 50  # a run of more digits than that has digits at so many places of every 50th character
_SAMPLED_DIGITS = re.compile(rb"[0-9]{%d}" % (INTEGER_DIGITS // _SAMPLE))


def quick_loads(data: bytes) -> Any:
    """Parse what most JSON looks like, in half the time of `loads`.

    Args:
        data: UTF-8 text of one value.

    Returns:
        What `loads` gives for the text.

    Raises:
        JsonError: no JSON, or some that only `loads` reads: deep, with lone surrogates or huge numbers.
    """
    if _SAMPLED_DIGITS.search(data[::_SAMPLE]):
        raise JsonError("may hold a huge number", 0)
    try:
        return from_json(data, allow_inf_nan=False)
    except ValueError as error:
        raise JsonError(str(error), 0) from None
