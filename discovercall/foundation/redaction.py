"""Keeps known secret values out of any text that leaves the process."""

from __future__ import annotations

from collections.abc import Iterable

MASK = "[redacted]"
_MIN_LENGTH = 4  # shorter values would blank out ordinary text


class Redactor:
    """Replaces known secrets in text.

    Args:
        secrets: secret values; empty and very short ones are ignored.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = sorted({s for s in secrets if len(s) >= _MIN_LENGTH}, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text
