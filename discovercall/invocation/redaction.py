"""Takes secrets out of text: the configured key in every form, and whatever is shaped like a key."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from discovercall.foundation.redaction import MASK, Redactor
from discovercall.foundation.shown import shown_line
from discovercall.publication.key_shapes import KEY_SHAPES
from discovercall.publication.secret_scan import SecretScanner

ERROR_LIMIT = 300
"""Characters of an error message that are kept."""

_VALUE = r"[^\s\"'&,;(){}\[\]<>]+"
_RULES = (
    (re.compile(r"(?i)\b(bearer|basic)[ \t]+[^\s\"',;]+"), rf"\1 {MASK}"),
    # Also what providers leave of a key in their own messages, such as sk-ab***yz.
    (re.compile(r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_*.-]{4,}"), MASK),
    (
        re.compile(
            r"(?i)((?<![a-z])(?:api[_-]?key|(?:access|auth|refresh|session)[_-]?token|client[_-]?secret"
            r"|key|token|secret|password|authorization"
            rf"|signature|sig)(?:\\?[\"'])?\s*[=:]\s*(?:\\?[\"'])?)(?!\[redacted)(?!(?:bearer|basic)\b){_VALUE}"
        ),
        rf"\1{MASK}",
    ),
    (
        re.compile(
            r"(?i)(\b(?:api[ _-]?key|token|secret|password)(?: provided)?(?: is|:)? )(?=\S*[0-9*])\S{8,}"
        ),
        rf"\1{MASK}",
    ),
)


class SecretRedactor:
    """Makes text fit to leave the process.

    Args:
        secrets: configured key values.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = [secret for secret in secrets if secret]
        self._known = Redactor(known + [quote(secret, safe="") for secret in known])
        self._scanner = SecretScanner(known, shapes=False)
        self._shapes = re.compile("|".join(f"(?:{shape.guard}{shape.pattern})" for shape in KEY_SHAPES))

    def __call__(self, text: str) -> str:
        """The text without secrets; a text in which one is hidden by encoding is masked whole."""
        clean = self._shapes.sub(MASK, self._known(text))
        for pattern, replacement in _RULES:
            clean = pattern.sub(replacement, clean)
        return MASK if self._scanner.finds(clean) else clean

    def short(self, text: str) -> str:
        """One line for a terminal without secrets, of at most `ERROR_LIMIT` characters. Redacted first: a cut
        secret is none that could be recognised."""
        return shown_line(self(text), ERROR_LIMIT)

    def tree(self, value: Any) -> Any:
        """A JSON value with every text in it redacted."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, list):
            return [self.tree(item) for item in value]
        if isinstance(value, dict):
            return {key: self.tree(item) for key, item in value.items()}
        return value
