"""The API key, and what to do when the API does not take it."""

from __future__ import annotations

import re

from discovercall.foundation.ecmascript import trim
from discovercall.foundation.errors import InputError

API_KEY_VARIABLE = "QVERIS_API_KEY"
_REFUSALS = (401, 403)
_ANSWERS_THAT_TELL = 3
_HEADER_TEXT = re.compile(r"[\t\x20-\x7e]+")
_WHERE = "API key"
_FIX = f"set {API_KEY_VARIABLE} or give --api-key-file"


class AuthorizationRefused(InputError):
    """The API takes the key for nothing: going on would only fail every trial."""

    def __init__(self) -> None:
        super().__init__(
            "the API refused the key: the first three answers were all HTTP 401 or 403",
            where=_WHERE,
            fix=f"check {API_KEY_VARIABLE} or --api-key-file",
        )


class AuthorizationWatch:
    """Watches the first three answers of a run, as they arrive."""

    def __init__(self) -> None:
        self._refusals = 0
        self._accepted = False

    def answered(self, status: int) -> None:
        """Count an answer."""
        if status not in _REFUSALS:
            self._accepted = self._accepted or not self.refused
        elif not self._accepted:
            self._refusals += 1

    @property
    def refused(self) -> bool:
        """True once the first three answers were all 401 or 403."""
        return self._refusals >= _ANSWERS_THAT_TELL

    def check(self) -> None:
        """Raises: AuthorizationRefused: the first three answers were all 401 or 403."""
        if self.refused:
            raise AuthorizationRefused


def validate_api_key(text: str) -> str:
    """Trim white space from a key and make sure that it can stand in a header.

    Raises:
        InputError: nothing is left, or a character is neither printable ASCII nor a tab. The message does
            not repeat the key.
    """
    key = trim(text)
    if not key:
        raise InputError("no API key", where=_WHERE, fix=_FIX)
    if not _HEADER_TEXT.fullmatch(key):
        raise InputError("a character in it cannot stand in an HTTP header", where=_WHERE, fix=_FIX)
    return key
