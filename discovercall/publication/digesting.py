"""Digests of what must not be named: plain ones, and keyed ones that nobody can find by trying."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from discovercall.foundation.digests import sha256_hex
from discovercall.foundation.errors import InputError
from discovercall.foundation.json_text import compact_bytes

KEY_VARIABLE = "DISCOVERCALL_PUBLICATION_KEY"
KEY_BYTES = 32
_KEY_TEXT = re.compile(rf"[0-9a-fA-F]{{{KEY_BYTES * 2}}}\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Digests:
    """Digests of tool ids and of private records.

    Args:
        key: 32 bytes for keyed digests (HMAC-SHA-256, RFC 2104); None for plain SHA-256.
    """

    key: bytes | None

    def tool_id(self, tool_id: str) -> str:
        """Digest of a tool id; a lone surrogate counts as U+FFFD, as UTF-8 encoders write it."""
        return self._digest(b"tool_id", _SURROGATE.sub("\ufffd", tool_id).encode())

    def record(self, record: Mapping[str, Any]) -> str:
        """Digest of a private record's compact JSON."""
        return self._digest(b"record", compact_bytes(record))

    def _digest(self, purpose: bytes, data: bytes) -> str:
        if self.key is None:
            return sha256_hex(data)
        return hmac.new(self.key, purpose + b"\0" + data, sha256).hexdigest()


def parse_key(text: str) -> bytes:
    """A publication key from 64 hex digits.

    Raises:
        InputError: the text is no such key; the message does not repeat it.
    """
    if not _KEY_TEXT.match(text):
        raise InputError(f"must be {KEY_BYTES * 2} hex digits", where=KEY_VARIABLE)
    return bytes.fromhex(text)
