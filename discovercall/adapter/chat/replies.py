"""What a server's reply other than a completion means: wait, ask otherwise, or give up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from discovercall.adapter.authoring import Refusal
from discovercall.foundation.ecma_json import JsonError, decode
from discovercall.foundation.retry_after import retry_after_s

MOST_WAITS = 6

_FORMAT_STATUSES = (400, 404, 422)
_FORMAT_NAMED = re.compile(rb"response[_ ]format", re.IGNORECASE)
_QUOTA = "insufficient_quota"
_HINTS = {
    400: "the request was not understood",
    401: "the key was refused",
    403: "the key may not do this",
    404: "no such address or model; is the base URL whole (most end in /v1)?",
    413: "the request is too large",
}
# Of a body only these words are repeated: anything else might be the key or the prompt.
_KNOWN_CODES = frozenset(
    {
        "context_length_exceeded",
        "exceed_context_size_error",
        "invalid_api_key",
        "invalid_json_schema",
        _QUOTA,
        "model_not_found",
        "unsupported_parameter",
        "unsupported_value",
    }
)


@dataclass(frozen=True, slots=True)
class Reply:
    """A response: its status, its Retry-After header and its body (the beginning, unless it is a 2xx)."""

    status: int
    retry_after: str | None
    body: bytes


def refuses_response_format(reply: Reply) -> bool:
    """True for a client error that names `response_format`: another way of asking for JSON may do."""
    return reply.status in _FORMAT_STATUSES and bool(_FORMAT_NAMED.search(reply.body))


def failure(reply: Reply) -> Refusal:
    """What to report for a reply that ends the decision."""
    hint = "redirects are not followed" if 300 <= reply.status < 400 else _HINTS.get(reply.status, "")
    parts = [f"HTTP {reply.status}", *_known_codes(reply), *([hint] if hint else [])]
    return Refusal("model_failed", ": ".join(parts))


class Patience:
    """How long a server that answers 429 is waited for.

    Args:
        budget_s: seconds that may be waited in all.
    """

    def __init__(self, budget_s: float) -> None:
        self._left = budget_s
        self._waits = 0

    def next_wait(self, reply: Reply, now: float) -> float:
        """Seconds until the next try.

        Args:
            reply: the reply with status 429. Where it does not say how long, the wait is 1 s, then doubled.
            now: seconds since the Unix epoch.

        Raises:
            Refusal: `rate_limited`: too long, too often, or the quota is used up, which no waiting mends.
        """
        if _QUOTA in _known_codes(reply):
            raise Refusal("rate_limited", "HTTP 429: the quota is used up")
        told = retry_after_s(reply.retry_after, now)
        wait = 2.0**self._waits if told is None else told
        if wait > self._left or self._waits == MOST_WAITS:
            raise Refusal("rate_limited", "HTTP 429: longer or more often than --max-wait-s allows")
        self._left -= wait
        self._waits += 1
        return wait


def _known_codes(reply: Reply) -> list[str]:
    try:
        document: Any = decode(reply.body)
    except JsonError:
        return []
    error = document.get("error") if isinstance(document, dict) else None
    named = [error.get("code"), error.get("type")] if isinstance(error, dict) else []
    return [code for code in dict.fromkeys(filter(_is_text, named)) if code in _KNOWN_CODES]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
