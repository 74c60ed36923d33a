"""The key that a gateway asks of its clients: made at random, or read from a file only its owner can read."""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from discovercall.foundation.errors import InputError
from discovercall.foundation.files import ExposedFile, read_private

_KEY_BYTES = 24
_MAX_KEY_BYTES = 65_536


def new_key() -> str:
    """A random key, safe in a header."""
    return secrets.token_urlsafe(_KEY_BYTES)


def read_key(path: Path) -> str:
    """Read a key file; white space around the key is trimmed.

    Raises:
        InputError: it can't be read, others may read it, or it holds no key that a header can carry.
    """
    try:
        key = read_private(path, _MAX_KEY_BYTES).strip()
    except ExposedFile:
        raise InputError("others can read it", where=str(path), fix=f"chmod 600 {path}") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", where=str(path)) from None
    if not key or not all(0x21 <= byte <= 0x7E for byte in key):
        raise InputError("holds no key", where=str(path), fix="one line of visible ASCII characters")
    return key.decode("ascii")


def write_key(path: Path, key: str) -> None:
    """Create a key file with mode 0600; an existing file is never overwritten.

    Raises:
        InputError: it exists or can't be created.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InputError(f"cannot be created ({error.strerror or error})", where=str(path)) from None
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(key + "\n")


class BearerKey:
    """Finds out whether a request carries the key, in a time that does not depend on what it carries."""

    def __init__(self, key: str) -> None:
        self._expected = f"Bearer {key}".encode("latin-1")

    def is_in(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether the first Authorization header is right.

        Args:
            headers: of an ASGI scope, their names in lower case.
        """
        given = next((value for name, value in headers if name == b"authorization"), b"")
        return hmac.compare_digest(given, self._expected)
