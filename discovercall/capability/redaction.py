"""Keeps the API key out of what the API answers, should it repeat it: answers go to adapters and records."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from discovercall.foundation.redaction import MASK, Redactor

_SHORTEST_ENCODED = 8
"""Shorter keys, encoded, occur by chance."""


class KeyRedaction:
    """Replaces the API key in parsed answers. Very short keys are left, as `Redactor` does.

    Args:
        key: the key.
    """

    def __init__(self, key: str) -> None:
        self._bytes = key.encode()
        self._redact = Redactor([key])
        self._key = key if len(key) >= _SHORTEST_ENCODED else None

    def may_be_in(self, body: bytes) -> bool:
        """Whether a JSON document can hold the key: as it is, or with characters escaped."""
        return self._bytes in body or b"\\" in body

    def text_or_none(self, text: str | None) -> str | None:
        """A text without the key; one that holds it in base64, hex or URL-encoded is masked whole."""
        if text is None:
            return None
        shown = self._redact(text)
        return MASK if self._key is not None and _holds_encoded(shown, self._key) else shown

    def value(self, value: Any) -> Any:
        """A JSON value without the key in its strings and object keys, of any depth; changed in place."""
        holder = [value]
        open_containers: list[Any] = [holder]
        while open_containers:
            container = open_containers.pop()
            if isinstance(container, dict):
                self._rename_keys(container)
                places: Iterable[Any] = list(container)
            else:
                places = range(len(container))
            for place in places:
                item = container[place]
                if isinstance(item, str):
                    container[place] = self._redact(item)
                elif isinstance(item, list | dict):
                    open_containers.append(item)
        return holder[0]

    def _rename_keys(self, fields: dict[str, Any]) -> None:
        names = [(name, self._redact(name)) for name in fields]
        if any(name != shown for name, shown in names):
            renamed = {shown: fields[name] for name, shown in names}  # in the same order
            fields.clear()
            fields.update(renamed)


def _holds_encoded(text: str, key: str) -> bool:
    plain = unquote(text)
    dense = plain.replace("-", "+").replace("_", "/")
    data = key.encode()
    return (
        key in plain
        or data.hex() in plain.lower()
        or any(_base64_inside(data, offset) in dense for offset in range(3))
    )


def _base64_inside(data: bytes, offset: int) -> str:
    """The characters of base64 that some bytes alone decide, `offset` bytes (0 to 2) coming before them."""
    encoded = base64.b64encode(bytes(offset) + data).decode().rstrip("=")
    return encoded[math.ceil(offset * 4 / 3) : (offset + len(data)) * 4 // 3]
