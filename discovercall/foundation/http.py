"""HTTP clients that hold a key: they follow nothing, remember nothing, log nothing, and check who answers."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from discovercall.foundation.errors import InputError

_IDLE_CONNECTION_S = 5.0
_CONNECT_S = 20.0


def trusted_certificates(*, trust_env: bool) -> ssl.SSLContext:
    """The certificates that servers are checked against; slow to load, so one set serves all clients.

    Raises:
        InputError: the environment's certificate settings can't be used.
    """
    try:
        return httpx.create_ssl_context(trust_env=trust_env)
    except OSError:
        raise InputError(
            "no certificates can be read from there",
            where="SSL_CERT_FILE or SSL_CERT_DIR",
            fix="correct or unset it",
        ) from None


def open_client(
    headers: Mapping[str, str],
    *,
    certificates: ssl.SSLContext | None,
    keep_alive: bool,
    trust_env: bool,
    connect_s: float | None = None,
) -> httpx.AsyncClient:
    """An HTTP client without a limit of time but for connecting.

    Args:
        headers: sent with each request.
        certificates: what servers are checked against; none for a client that speaks plain http.
        keep_alive: connections are used again; else each request has its own.
        trust_env: the environment's proxies count.
        connect_s: most seconds until there is a connection.

    Raises:
        InputError: the environment's proxy settings can't be used.
    """
    for name in ("httpx", "httpcore"):  # they log URLs from level INFO on, and these hold tool ids
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)
    try:
        return httpx.AsyncClient(
            verify=certificates or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),  # which trusts nobody
            trust_env=trust_env,
            # httpx limits each read, so a dripping body would go on for ever
            timeout=httpx.Timeout(None, connect=connect_s),
            limits=httpx.Limits(
                max_connections=None,
                max_keepalive_connections=None if keep_alive else 0,
                keepalive_expiry=_IDLE_CONNECTION_S,
            ),
            headers={
                "User-Agent": "discovercall",
                "Connection": "keep-alive" if keep_alive else "close",
                **headers,
            },
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            event_hooks={"response": [_drop_location]},
        )
    except (httpx.InvalidURL, ValueError, ImportError):
        raise InputError(
            "the environment's proxy settings cannot be used",
            where="HTTP_PROXY, HTTPS_PROXY or ALL_PROXY",
            fix="correct or unset them",
        ) from None


def open_model_client(url: str, key: str | None, *, accept: str, trust_env: bool) -> httpx.AsyncClient:
    """A client of a server of models: JSON goes out, nothing compressed comes back (`is_compressed`).

    Each request has a connection of its own, for on one that has gone stale nobody can tell whether the
    request was carried out.

    Args:
        url: where requests go to; one with http is on this machine.
        key: what requests are authorised with.
        accept: media type of the answers.
        trust_env: the environment's proxies count.

    Raises:
        InputError: the environment's certificate or proxy settings can't be used.
    """
    headers = {
        "Content-Type": "application/json",
        "Accept": accept,
        # A compressed body's size is not known before it has been unpacked.
        "Accept-Encoding": "identity",
    }
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    return open_client(
        headers,
        certificates=trusted_certificates(trust_env=True) if url.startswith("https:") else None,
        keep_alive=False,
        trust_env=trust_env,
        connect_s=_CONNECT_S,
    )


def is_compressed(response: httpx.Response) -> bool:
    """Whether a body's true size can't be known before it has been unpacked."""
    return str(response.headers.get("content-encoding", "identity")).lower() != "identity"


async def _drop_location(response: httpx.Response) -> None:
    # httpx parses a redirect's target even where it is not to follow it, and fails on a malformed one.
    response.headers.pop("location", None)
