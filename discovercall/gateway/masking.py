"""What a server says of its tools, without the secrets that it was given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from discovercall.foundation.redaction import Redactor, with_encoded

_KEY_LENGTH = 16
_PROSE = frozenset(["title", "description", "$comment", "default", "examples"])
_NAMED = frozenset(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"])


class ToolMask:
    """Masks secrets in the texts and the schema of a tool.

    Names, enumerations and patterns decide whether a call is valid, so that only values as long as a key
    are masked there; a plain word, such as the level of a log, is spared everywhere but in messages.

    Args:
        secrets: values of headers and variables.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = tuple(secrets)
        special = [value for value in known if not value.isalpha() or len(value) >= _KEY_LENGTH]
        self.message = Redactor(with_encoded(known))
        """For what a server says beside its tools; to be applied before a text is cut."""
        self.text = Redactor(special)
        self._exact = Redactor(value for value in special if len(value) >= _KEY_LENGTH)

    def schema(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """A schema with the same structure."""
        return {self._exact(name): self._member(name, value) for name, value in schema.items()}

    def hides(self, name: str) -> bool:
        """Whether a tool's name holds a key: such a tool can't be called without showing it."""
        return self._exact(name) != name

    def _member(self, name: str, value: Any) -> Any:
        if name in _NAMED and isinstance(value, Mapping):
            return {self._exact(key): self._any(part, self._exact) for key, part in value.items()}
        return self._any(value, self.text if name in _PROSE else self._exact)

    def _any(self, value: Any, mask: Redactor) -> Any:
        if isinstance(value, str):
            return mask(value)
        if isinstance(value, list):
            return [self._any(item, mask) for item in value]
        if isinstance(value, Mapping):
            if mask is self._exact:
                return self.schema(value)
            return {mask(key): self._any(part, mask) for key, part in value.items()}
        return value
