"""Keeps a call's result within its budget, and says so: shortening is never an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discovercall.foundation.json_text import compact_bytes

MIN_BYTES = 16
BUDGET = "budgets.max_result_bytes"
_ADVICE = "Narrow the call (filter, page, fewer fields) to see the rest."


@dataclass(frozen=True, slots=True)
class Bounded:
    """A value within the budget; `notice` says what was left out, None where nothing was."""

    value: Any
    notice: str | None = None


def bound(value: Any, max_bytes: int) -> Bounded:
    """Cut a result to the budget.

    Args:
        value: text, or anything that JSON can say.
        max_bytes: limit on a text in UTF-8, or on the compact JSON of anything else; 0 or less for none,
            below 16 acts as 16.

    Returns:
        The value itself where it fits; the longest prefix of whole items of a list, if one item fits; else
        text cut at a line, at a space, or between two characters.
    """
    if max_bytes <= 0:
        return Bounded(value)
    limit = max(MIN_BYTES, max_bytes)
    encoded = value.encode("utf-8", "replace") if isinstance(value, str) else compact_bytes(value)
    if len(encoded) <= limit:
        return Bounded(value)
    if isinstance(value, list):
        kept = _whole_items(value, limit)
        if kept:
            notice = f"Result shortened: {kept} of {len(value)} items shown ({BUDGET} is {limit}). {_ADVICE}"
            return Bounded(value[:kept], notice)
    data = encoded.decode("utf-8", "replace").encode()
    cut = _cut(data, limit)
    notice = f"Result shortened: {len(cut)} of {len(data)} bytes kept ({BUDGET} is {limit}). {_ADVICE}"
    if not isinstance(value, str):
        notice += " What is left is text and no longer valid JSON."
    return Bounded(cut.decode("utf-8"), notice)


def _whole_items(items: list[Any], limit: int) -> int:
    size = 2  # the brackets
    for count, item in enumerate(items):
        size += len(compact_bytes(item)) + (1 if count else 0)
        if size > limit:
            return count
    return len(items)


def _cut(data: bytes, limit: int) -> bytes:
    """At most `limit` bytes: up to the last newline, else the last space, else the last whole character."""
    head = data[:limit]
    for mark in (b"\n", b" "):
        place = head.rfind(mark)
        if place > 0:
            return head[:place]
    while head and (data[len(head)] & 0xC0) == 0x80:
        head = head[:-1]
    return head
