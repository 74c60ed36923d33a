"""Keeps the API key out of what the API answers, should it repeat it: answers go to adapters and records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

from discovercall.foundation.redaction import MASK, Redactor, with_encoded


class KeyRedaction:
    """Replaces the API key in parsed answers, plain or encoded. Very short keys are left, as `Redactor` does.

    Args:
        key: the key.
    """

    def __init__(self, key: str) -> None:
        self._forms = tuple(dict.fromkeys(with_encoded([key])))
        self._bytes = tuple(form.encode() for form in self._forms)
        self._plain = Redactor([key])
        self._redact = Redactor(self._forms)

    def may_be_in(self, body: bytes) -> bool:
        """Whether a JSON document can hold the key: as it is, encoded, or with characters escaped."""
        return b"\\" in body or any(form in body for form in self._bytes)

    def text_or_none(self, text: str | None) -> str | None:
        """A text without the key; one that holds it encoded is masked whole."""
        if text is None:
            return None
        shown = self._plain(text)
        decoded = unquote(shown)
        return shown if self._redact(decoded) == decoded else MASK

    def value(self, value: Any) -> Any:
        """A JSON value without the key in its strings and object keys, of any depth; changed in place."""
        text = "\n".join(_texts(value))
        if not any(form in text for form in self._forms):  # of a large answer faster than string by string
            return value
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


def _texts(value: Any) -> Iterator[str]:
    """The strings and object keys of a JSON value, of any depth."""
    open_containers: list[Any] = [[value]]
    while open_containers:
        container = open_containers.pop()
        if isinstance(container, dict):
            yield from container
            container = container.values()
        for item in container:
            if isinstance(item, str):
                yield item
            elif isinstance(item, list | dict):
                open_containers.append(item)
