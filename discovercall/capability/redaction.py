"""Keeps the API key out of what the API answers, should it repeat it: answers go to adapters and records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from discovercall.foundation.redaction import Redactor


class KeyRedaction:
    """Replaces the API key in parsed answers. Very short keys are left, as `Redactor` does.

    Args:
        key: the key.
    """

    def __init__(self, key: str) -> None:
        self._bytes = key.encode()
        self._redact = Redactor([key])

    def may_be_in(self, body: bytes) -> bool:
        """Whether a JSON document can hold the key: as it is, or with characters escaped."""
        return self._bytes in body or b"\\" in body

    def text_or_none(self, text: str | None) -> str | None:
        """A text without the key."""
        return None if text is None else self._redact(text)

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
