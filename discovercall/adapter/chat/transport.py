"""Sends completion requests over HTTP, each once, within limits of size."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx

from discovercall.adapter.authoring import Refusal
from discovercall.adapter.chat.replies import Reply
from discovercall.adapter.chat.settings import ChatSettings

MAX_BODY_BYTES = 8 * 2**20
MAX_ERROR_BODY_BYTES = 64 * 2**10
CONNECT_S = 20.0

Post = Callable[[bytes], Awaitable[Reply]]
"""Sends a request body and takes in the reply."""


class NotConnected(Exception):
    """No connection came about, so nothing was sent."""


@asynccontextmanager
async def connection(settings: ChatSettings) -> AsyncIterator[Post]:
    """What requests are sent with. Each has a connection of its own, for on one that has gone stale nobody
    can tell whether the request was carried out. No limit of time.

    What the yielded function raises:
        NotConnected: nothing was sent.
        Refusal: `model_failed`, where the request may have been carried out; `output_limit`, where the
            response is too large.
    """
    headers = {
        "User-Agent": "discovercall",
        "Content-Type": "application/json",
        "Accept": "application/json",
        # A compressed body's size is not known before it has been unpacked.
        "Accept-Encoding": "identity",
        "Connection": "close",
    }
    if settings.key is not None:
        headers["Authorization"] = f"Bearer {settings.key}"
    try:
        client = httpx.AsyncClient(
            headers=headers,
            # Certificates are slow to load, and plain http (loopback) needs none.
            verify=httpx.create_ssl_context() if settings.url.startswith("https:") else False,
            trust_env=not settings.loopback,
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            event_hooks={"response": [_drop_location]},
        )
    except (httpx.InvalidURL, ValueError, ImportError, OSError):
        raise Refusal("start_failed", "the environment's proxies or certificates can't be used") from None
    async with client:
        yield lambda body: _post(client, settings.url, body)


async def _post(client: httpx.AsyncClient, url: str, body: bytes) -> Reply:
    try:
        async with client.stream("POST", url, content=body) as response:
            return Reply(response.status_code, response.headers.get("retry-after"), await _read(response))
    except (httpx.ConnectError, httpx.ConnectTimeout):
        raise NotConnected from None
    except httpx.ProxyError:
        raise Refusal("model_failed", "the proxy refused the connection") from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError):
        raise Refusal("model_failed", "the connection broke off before the answer was whole") from None


async def _read(response: httpx.Response) -> bytes:
    limit = MAX_BODY_BYTES if response.is_success else MAX_ERROR_BODY_BYTES
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal("model_failed", "the response is compressed, though this was not asked for")
    data = bytearray()
    async for chunk in response.aiter_raw():
        data += chunk
        if len(data) > limit:
            if response.is_success:
                raise Refusal("output_limit", f"the response is larger than {limit} bytes")
            break
    return bytes(data[:limit])


async def _drop_location(response: httpx.Response) -> None:
    # httpx parses a redirect's target even where it is not to follow it, and fails on a malformed one.
    response.headers.pop("location", None)
