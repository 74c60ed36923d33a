"""One HTTP request and its response, within limits of time and size; every failure is a value."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass

import httpx

from discovercall.capability import failures
from discovercall.capability.body import BodyReader, BodyTooLarge, UndecodableBody
from discovercall.capability.revisions import API_REVISION_HEADER, CATALOG_REVISION_HEADER
from discovercall.foundation.http import open_client


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """What one request may take.

    Args:
        timeout_s: seconds for a whole exchange, from the connection to the end of the body.
        max_body_bytes: most bytes of a decoded response body.
        retries: most further tries after the first.
    """

    timeout_s: float = 120.0
    max_body_bytes: int = 32 * 2**20
    retries: int = 3


@dataclass(frozen=True, slots=True)
class Head:
    """What is used of a response's status line and headers."""

    status: int
    retry_after: str | None
    api_revision: str | None
    catalog_revision: str | None
    content_encoding: str | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an exchange ended: `body` where it succeeded, else `reason_code`; `head` once one arrived."""

    head: Head | None
    body: bytes | None
    reason_code: str | None


def open_http(certificates: ssl.SSLContext, *, keep_alive: bool, trust_env: bool) -> httpx.AsyncClient:
    """An HTTP client of a capability API.

    Args:
        certificates: what servers are checked against.
        keep_alive: connections are used again; else each request has its own.
        trust_env: the environment's proxies count.

    Raises:
        InputError: the environment's proxy settings can't be used.
    """
    headers = {"Accept": "application/json", "Accept-Encoding": "gzip"}
    return open_client(headers, certificates=certificates, keep_alive=keep_alive, trust_env=trust_env)


async def exchange(http: httpx.AsyncClient, request: httpx.Request, limits: ClientLimits) -> Outcome:
    """Send a request once and take in its response.

    `request_timeout` is a response head that did not come in time, `response_timeout` a body that did not
    end in time. The body of an error answer is not read.
    """
    head: Head | None = None
    try:
        async with asyncio.timeout(limits.timeout_s) as deadline:
            response = await http.send(request, stream=True)
            try:
                head = _head(response)
                if not response.is_success:
                    return Outcome(head, None, failures.http_reason(head.status))
                reader = BodyReader(head.content_encoding, limits.max_body_bytes)
                async for chunk in response.aiter_raw():
                    reader.feed(chunk)
                return Outcome(head, reader.finish(), None)
            finally:
                await response.aclose()
    except TimeoutError:
        if deadline.expired():
            return Outcome(head, None, failures.RESPONSE_TIMEOUT if head else failures.REQUEST_TIMEOUT)
        return Outcome(head, None, failures.NETWORK_FAILURE)
    except BodyTooLarge:
        return Outcome(head, None, failures.RESPONSE_TOO_LARGE)
    except UndecodableBody:
        return Outcome(head, None, failures.INVALID_RESPONSE)
    except (httpx.TransportError, OSError):
        return Outcome(head, None, failures.NETWORK_FAILURE)


def _head(response: httpx.Response) -> Head:
    headers: dict[str, list[str]] = {}
    for name, value in response.headers.raw:
        # Octets beyond ASCII are opaque in HTTP (RFC 9110, 5.5): one character each, as in Fetch.
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))

    def value_of(name: str) -> str | None:
        return ", ".join(headers[name]) if name in headers else None

    return Head(
        status=response.status_code,
        retry_after=value_of("retry-after"),
        api_revision=value_of(API_REVISION_HEADER),
        catalog_revision=value_of(CATALOG_REVISION_HEADER),
        content_encoding=value_of("content-encoding"),
    )
