"""Counts that come from outside, of tokens above all: each is a whole number that JSON carries exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from discovercall.foundation.ecmascript import MAX_SAFE_INTEGER, is_integer

USAGE_FIELDS = ("prompt_tokens", "completion_tokens", "cached_tokens")
"""The token counts of a decision, as answers and records name them."""


def counts_of(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, int]:
    """The counts among some values.

    Args:
        values: anything by name.
        names: which are wanted; one that is missing or no whole number from 0 is left out.
    """
    given = ((name, values[name]) for name in names if name in values)
    return {name: int(value) for name, value in given if is_integer(value) and 0 <= value <= MAX_SAFE_INTEGER}


def chat_usage(reported: Mapping[str, Any], names: Iterable[str]) -> dict[str, int]:
    """The counts in the `usage` of a chat completion, which nests the cached tokens.

    Args:
        reported: the server's object.
        names: `USAGE_FIELDS`, `total_tokens`.
    """
    details = reported.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return counts_of({**reported, "cached_tokens": cached}, names)
