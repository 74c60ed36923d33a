"""The base URL of a capability API: one normal form, and nothing in it that could leak or mislead."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from discovercall.foundation.ecmascript import WHITE_SPACE
from discovercall.foundation.errors import InputError

_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
# The URL Standard would silently drop or encode these, so that the result is not what was typed.
_FORBIDDEN = re.compile(f"[{WHITE_SPACE}\\\\\x00-\x1f\x7f-\x9f]")


def normalize_base_url(url: str) -> str:
    """Write a base URL as the URL Standard (WHATWG) does, without a trailing slash.

    Args:
        url: an https URL, or an http URL whose host is localhost, 127.0.0.1 or [::1].

    Raises:
        InputError: the URL is no such URL, or has credentials, a query, a fragment, white space or a
            backslash. The message never repeats the URL, which may hold a secret.
    """
    if not isinstance(url, str) or not url:
        raise _refusal("it is empty")
    if _FORBIDDEN.search(url):
        raise _refusal("it has white space, a backslash or a control character")
    if "?" in url or "#" in url:
        raise _refusal("it has a query or a fragment")
    parts = _parse(url)
    if parts["username"] or parts["password"]:
        raise _refusal("it has credentials")
    if parts["protocol"] == "http:" and parts["hostname"] not in _LOOPBACK_HOSTS:
        raise _refusal("http is for localhost, 127.0.0.1 and [::1] only")
    if parts["protocol"] not in ("http:", "https:"):
        raise _refusal("it is no https URL")
    return str(parts["href"]).rstrip("/")


def is_loopback(url: str) -> bool:
    """True when the host of a URL in normal form is exactly localhost, 127.0.0.1 or [::1]."""
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return False
    return host is not None and (f"[{host}]" if ":" in host else host) in _LOOPBACK_HOSTS


def _parse(url: str) -> dict[str, Any]:
    from ada_url import parse_url  # loads a shared library, which most commands don't need

    try:
        return dict(parse_url(url))
    except ValueError:
        raise _refusal("it cannot be parsed") from None


def _refusal(reason: str) -> InputError:
    return InputError(
        f"not usable as a base URL: {reason}",
        where="base URL",
        fix="give an https URL such as https://host/api/v1, without credentials, query or fragment",
    )
