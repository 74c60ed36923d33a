"""The client of the capability API: discover, inspect, and the billed call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from discovercall.capability import failures
from discovercall.capability.authorization import AuthorizationWatch, validate_api_key
from discovercall.capability.emptiness import result_is_nonempty
from discovercall.capability.envelope import FailureEnvelope, Operation, unwrap
from discovercall.capability.exchange import (
    ClientLimits,
    Head,
    Outcome,
    exchange,
    open_http,
)
from discovercall.capability.failures import ApiFailure
from discovercall.capability.pacing import Pacer, Sleep
from discovercall.capability.redaction import KeyRedaction
from discovercall.capability.retry import is_retried, retry_wait
from discovercall.capability.revisions import RevisionCollector
from discovercall.foundation.base_url import is_loopback, normalize_base_url
from discovercall.foundation.clocks import Clock
from discovercall.foundation.ecma_json import JsonError, decode
from discovercall.foundation.ecmascript import is_finite_number, trim
from discovercall.foundation.errors import InputError
from discovercall.foundation.http import trusted_certificates
from discovercall.foundation.json_text import compact_bytes

_URI_COMPONENT_SAFE = "!~*'()"  # beside letters, digits, - . _ and ~: what encodeURIComponent leaves
_READ_ASIDE_BYTES = 2**18


@dataclass(frozen=True, slots=True)
class Discovery:
    """What a search found: its trimmed id (None when blank or missing) and at most `limit` results."""

    search_id: str | None
    results: list[Any]


@dataclass(frozen=True, slots=True)
class Inspection:
    """The inspected tools, as the API wrote them."""

    results: list[Any]


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """An answered call: `result_nonempty` only with success; `cost` where the answer has a number."""

    success: bool
    result_nonempty: bool
    cost: int | float | None


@dataclass(slots=True)
class RequestCounts:
    """Requests of one client so far, retries included.

    Args:
        searches: search requests.
        inspects: inspect requests.
        calls: calls of which a request was sent, each counted once: those that may have been billed.
        call_requests: execute requests.
    """

    searches: int = 0
    inspects: int = 0
    calls: int = 0
    call_requests: int = 0


class CapabilityClient:
    """Talks to one capability API with one key; an asynchronous context manager.

    Args:
        base_url: base URL of the API; see `normalize_base_url`.
        api_key: the key; see `validate_api_key`.
        limits: time, size and tries of a request.
        requests_per_minute: most requests that start in a minute, over all operations and retries.
        revisions: collects the revision headers; a restored one for a run that is resumed.
        clock: seconds since the Unix epoch, against which a Retry-After date is read.
        monotonic: seconds on a clock that never goes back, by which requests are spaced.
        sleep: waits a number of seconds.

    Raises:
        InputError: the base URL, the key or the environment's proxy settings can't be used.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        limits: ClientLimits | None = None,
        requests_per_minute: float | None = None,
        revisions: RevisionCollector | None = None,
        clock: Clock = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.base_url = normalize_base_url(base_url)
        self.counts = RequestCounts()
        self.revisions = revisions if revisions is not None else RevisionCollector()
        self._limits = limits if limits is not None else ClientLimits()
        self._clock = clock
        self._sleep = sleep
        self._pacer = Pacer(requests_per_minute, monotonic, sleep)
        self._watch = AuthorizationWatch()
        key = validate_api_key(api_key)
        self._redaction = KeyRedaction(key)
        self._headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
        }
        try:
            self._origin = httpx.URL(self.base_url)
        except httpx.InvalidURL:
            raise InputError("its host cannot be used", where="base URL") from None
        self._path = urlsplit(self.base_url).path
        trust_env = not is_loopback(self.base_url)
        certificates = trusted_certificates(trust_env=trust_env)
        self._pooled = open_http(certificates, keep_alive=True, trust_env=trust_env)
        # A pooled connection may have gone stale, and a billed call that fails on it can't be repeated.
        self._unpooled = open_http(certificates, keep_alive=False, trust_env=trust_env)

    async def __aenter__(self) -> CapabilityClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pooled.aclose()
        await self._unpooled.aclose()

    async def discover(self, query: str, limit: int, session_id: str) -> Discovery:
        """Search the catalog.

        Args:
            query: what is looked for.
            limit: most results that count.
            session_id: the trial's random id.

        Raises:
            ApiFailure: no usable answer, retries included.
            AuthorizationRefused: the first three answers of this client were all 401 or 403.
        """
        body = {"query": query, "limit": limit, "session_id": session_id, "view": "routing"}
        answer = await self._request("discover", "/search", body)
        search_id = answer.get("search_id") if isinstance(answer, dict) else None
        return Discovery(
            search_id=(trim(search_id) or None) if isinstance(search_id, str) else None,
            results=_results(answer)[:limit],
        )

    async def inspect(self, tool_ids: Sequence[str], search_id: str, session_id: str) -> Inspection:
        """Fetch the definitions of tools.

        Args:
            tool_ids: ids of the tools.
            search_id: id of the search that found them.
            session_id: the trial's random id.

        Raises:
            ApiFailure: no usable answer, retries included.
            AuthorizationRefused: the first three answers of this client were all 401 or 403.
        """
        body = {
            "tool_ids": list(tool_ids),
            "search_id": search_id,
            "session_id": session_id,
            "view": "lean",
        }
        return Inspection(results=_results(await self._request("inspect", "/tools/by-ids", body)))

    async def call(
        self,
        tool_id: str,
        parameters: dict[str, Any],
        search_id: str,
        session_id: str,
        model: str,
        on_send: Callable[[], None],
        on_wait: Callable[[bool], None] | None = None,
    ) -> CallAnswer:
        """Execute a tool, which is billed. Sent again after a 429 only, for then it did not happen.

        Args:
            tool_id: id of the tool.
            parameters: its parameters.
            search_id: id of the search that found it.
            session_id: the trial's random id.
            model: name of the model that chose.
            on_send: called once, right before the first request leaves; may raise to forbid it.
            on_wait: called with True when the API has turned the call away and it is to be sent again later,
                and with False right before it is sent again. A wait that is broken off has no False: then no
                call is under way.

        Raises:
            ApiFailure: no usable answer; with `requests` 0 nothing was sent.
            AuthorizationRefused: the first three answers of this client were all 401 or 403.
        """
        try:
            component = quote(tool_id, safe=_URI_COMPONENT_SAFE)
        except UnicodeEncodeError:  # a lone surrogate, which no URL can carry
            raise ApiFailure(failures.INVALID_RESPONSE, requests=0, status=None) from None
        body = {
            "parameters": parameters,
            "search_id": search_id,
            "session_id": session_id,
            "model": model,
            "respond_with": "full",
        }
        answer = await self._request("call", f"/tools/execute?tool_id={component}", body, on_send, on_wait)
        fields = answer if isinstance(answer, dict) else {}
        success = fields.get("success") is True
        cost = fields.get("cost")
        return CallAnswer(
            success=success,
            result_nonempty=success and result_is_nonempty(fields.get("result")),
            cost=cost if is_finite_number(cost) else None,
        )

    async def _request(
        self,
        operation: Operation,
        path: str,
        body: dict[str, Any],
        on_send: Callable[[], None] | None = None,
        on_wait: Callable[[bool], None] | None = None,
    ) -> Any:
        content = compact_bytes(body)
        last_answer: Head | None = None
        sent = 0
        try:
            while True:
                await self._pacer.wait()
                self._watch.check()
                if on_send is not None and sent == 0:
                    on_send()
                if on_wait is not None and sent > 0:
                    on_wait(False)
                self._count(operation, first=sent == 0)
                sent += 1
                outcome = await self._send(operation, path, content)
                if outcome.head is not None:
                    last_answer = outcome.head
                    self._watch.answered(outcome.head.status)
                value, reason_code = await _read(operation, outcome, self._redaction)
                if reason_code is None:
                    return value
                if sent > self._limits.retries or not is_retried(operation, reason_code):
                    break
                if on_wait is not None:
                    on_wait(True)
                await self._sleep(retry_wait(_retry_after(outcome), sent - 1, self._clock()))
        finally:
            if last_answer is not None:
                self.revisions.observe(
                    self._redaction.text_or_none(last_answer.api_revision),
                    self._redaction.text_or_none(last_answer.catalog_revision),
                )
        self._watch.check()
        raise ApiFailure(reason_code, requests=sent, status=outcome.head.status if outcome.head else None)

    async def _send(self, operation: Operation, path: str, content: bytes) -> Outcome:
        http = self._unpooled if operation == "call" else self._pooled
        # The target is given as it is, for httpx would rewrite some characters of the path and the query.
        target = (self._path + path).encode("ascii")
        request = http.build_request(
            "POST", self._origin, content=content, headers=self._headers, extensions={"target": target}
        )
        return await exchange(http, request, self._limits)

    def _count(self, operation: Operation, *, first: bool) -> None:
        if operation == "discover":
            self.counts.searches += 1
        elif operation == "inspect":
            self.counts.inspects += 1
        else:
            self.counts.calls += first
            self.counts.call_requests += 1


async def _read(operation: Operation, outcome: Outcome, redaction: KeyRedaction) -> tuple[Any, str | None]:
    """The answer in a response body, and the reason why there is none."""
    if outcome.body is None:
        return None, outcome.reason_code
    if len(outcome.body) < _READ_ASIDE_BYTES:
        return _parse(operation, outcome.body, redaction)
    # A large deep body takes seconds, in which the time limits of other requests would run out unattended.
    return await asyncio.to_thread(_parse, operation, outcome.body, redaction)


def _parse(operation: Operation, body: bytes, redaction: KeyRedaction) -> tuple[Any, str | None]:
    try:
        answer = unwrap(operation, decode(body))
    except JsonError:
        return None, failures.INVALID_RESPONSE
    if isinstance(answer, FailureEnvelope):
        return None, failures.FAILURE_ENVELOPE
    if operation == "call" or not redaction.may_be_in(body):  # of a call's result no text is kept
        return answer.value, None
    return redaction.value(answer.value), None


def _retry_after(outcome: Outcome) -> str | None:
    """The header of an error answer; one whose body broke off says nothing about when to try again."""
    answered = outcome.head is not None and outcome.reason_code == failures.http_reason(outcome.head.status)
    return outcome.head.retry_after if outcome.head is not None and answered else None


def _results(answer: Any) -> list[Any]:
    results = answer.get("results") if isinstance(answer, dict) else None
    return results if isinstance(results, list) else []
