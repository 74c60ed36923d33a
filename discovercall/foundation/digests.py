"""SHA-256 digests, the only digests that artifacts carry."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from discovercall.foundation.json_text import compact_bytes

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_COMMIT = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")


def sha256_hex(data: bytes) -> str:
    """SHA-256 of bytes as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def sha256_of_json(value: Any) -> str:
    """SHA-256 of the compact JSON text of a value."""
    return sha256_hex(compact_bytes(value))


def is_sha256(value: object) -> bool:
    """True for exactly 64 lower-case hex digits."""
    return isinstance(value, str) and bool(_SHA256.match(value))


def is_commit(value: object) -> bool:
    """True for a git commit id: 40 or 64 lower-case hex digits."""
    return isinstance(value, str) and bool(_COMMIT.match(value))
