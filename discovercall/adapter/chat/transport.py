"""Sends completion requests over HTTP, each once, within limits of size."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx

from discovercall.adapter.authoring import Refusal
from discovercall.adapter.chat.replies import Reply
from discovercall.adapter.chat.settings import ChatSettings
from discovercall.foundation.errors import InputError
from discovercall.foundation.http import is_compressed, open_model_client

MAX_BODY_BYTES = 8 * 2**20
MAX_ERROR_BODY_BYTES = 64 * 2**10

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
    try:
        client = open_model_client(
            settings.url, settings.key, accept="application/json", trust_env=not settings.loopback
        )
    except InputError:
        raise Refusal("start_failed", "the environment's proxies or certificates cannot be used") from None
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
    if is_compressed(response):
        raise Refusal("model_failed", "the response is compressed, though this was not asked for")
    data = bytearray()
    async for chunk in response.aiter_raw():
        data += chunk
        if len(data) > limit:
            if response.is_success:
                raise Refusal("output_limit", f"the response is larger than {limit} bytes")
            break
    return bytes(data[:limit])
