"""Keeps known secret values out of any text that leaves the process."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

MASK = "[redacted]"
_MIN_LENGTH = 4  # shorter values would blank out ordinary text
_PERCENT = re.compile(r"%[0-9A-F]{2}")
_SHORTEST_ENCODED = 8  # shorter ones, encoded, occur by chance


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


def with_encoded(secrets: Iterable[str]) -> Iterator[str]:
    """Secrets and the forms in which programs repeat them: URL-encoded, escaped as in JSON, in hex, in base64
    at any alignment (as far as it is theirs alone), and in one case."""
    for secret in secrets:
        yield secret
        if len(secret) < _SHORTEST_ENCODED:
            continue
        data = secret.encode("utf-8", "surrogatepass")
        for quoted in (quote(data, safe=""), quote(data), quote_plus(data)):
            yield from (quoted, _PERCENT.sub(lambda found: found[0].lower(), quoted))
        yield from (json.dumps(secret, ensure_ascii=plain)[1:-1] for plain in (True, False))
        yield from (secret.lower(), secret.upper(), data.hex(), data.hex().upper())
        for before in range(3):
            encoded = base64.b64encode(bytes(before) + data).decode().rstrip("=")
            inside = encoded[math.ceil(before * 4 / 3) : (before + len(data)) * 4 // 3]
            yield from (inside, inside.replace("+", "-").replace("/", "_"))
