"""Decides whether a call brought anything."""

from __future__ import annotations

from typing import Any

from discovercall.foundation.ecmascript import is_blank

_CONTENT_ELSEWHERE = ("truncated_content", "full_content_file_url")


def result_is_nonempty(result: Any) -> bool:
    """True when a call's result has content.

    Looks into `data` as often as there is one, however deep. A non-blank string, a list with an item, an
    object with a key, a number and a boolean are content; so is `data` that is null or {} beside a
    non-blank `truncated_content` or `full_content_file_url`.

    Args:
        result: the parsed `result` of a call; None when it is missing.
    """
    while isinstance(result, dict) and "data" in result:
        data = result["data"]
        if data is None or (isinstance(data, dict) and not data):
            return any(_is_text(result.get(name)) for name in _CONTENT_ELSEWHERE)
        result = data
    if isinstance(result, (dict, list)):
        return bool(result)
    return result is not None and (not isinstance(result, str) or _is_text(result))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not is_blank(value)
