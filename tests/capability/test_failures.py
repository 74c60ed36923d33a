"""Every fault, on each operation: the reason code and the number of requests."""

import asyncio
import gzip
import socket
import time
import traceback

import pytest

from discovercall.capability.exchange import ClientLimits
from discovercall.capability.failures import ApiFailure
from tests.capability.loopback import KEY, LoopbackApi, Reply, answer, perform, serving

OPERATIONS = ("discover", "inspect", "call")
BODY = b'{"search_id":"s","success":true,"results":[],"result":{"data":{"x":"provider-detail"}}}'
ZIPPED = gzip.compress(BODY)
GZIP = (("content-encoding", "gzip"),)

# fault: reply, reason code, retried on discover and inspect, retried on call
FAULTS = {
    **{
        f"http_{status}": (Reply(BODY, status=status), f"http_{status}", status in (429, 503), status == 429)
        for status in (300, 304, 400, 401, 402, 403, 404, 408, 409, 422, 429, 500, 502, 503, 504)
    },
    **{
        f"redirect_{status}": (
            Reply(BODY, status, (("location", "/api/v1/search"),)),
            f"http_{status}",
            False,
            False,
        )
        for status in (301, 302, 303, 307, 308)
    },
    "malformed_redirect": (Reply(b"", 302, (("location", "http://[::bad/\x80"),)), "http_302", False, False),
    "reset": (Reply(fault="reset"), "network_failure", True, False),
    "close": (Reply(fault="close"), "network_failure", True, False),
    "reset_in_body": (Reply(BODY, fault="reset_body"), "network_failure", True, False),
    "close_in_body": (Reply(BODY, fault="close_body"), "network_failure", True, False),
    "close_in_chunks": (Reply(BODY, fault="close_body", chunked=True), "network_failure", True, False),
    "close_in_gzip": (Reply(ZIPPED, headers=GZIP, fault="close_body"), "network_failure", True, False),
    "no_http": (Reply(b"", head=b"SSH-2.0-OpenSSH\r\n\r\n"), "network_failure", True, False),
    "stall": (Reply(fault="stall"), "request_timeout", True, False),
    "stall_in_head": (
        Reply(fault="stall_body", body=b"", head=b"HTTP/1.1 200 OK\r\n"),
        "request_timeout",
        True,
        False,
    ),
    "stall_in_body": (Reply(BODY, fault="stall_body"), "response_timeout", True, False),
    "drip": (Reply(BODY, fault="drip"), "response_timeout", True, False),
    "html": (Reply(b"<html>provider-detail</html>"), "invalid_response", False, False),
    "empty": (Reply(b""), "invalid_response", False, False),
    "no_content": (Reply(b"", status=204), "invalid_response", False, False),
    "half_json": (Reply(b'{"search_id":"x"'), "invalid_response", False, False),
    "nan": (Reply(b'{"search_id":NaN}'), "invalid_response", False, False),
    "invalid_utf8": (Reply(b'{"search_id":"\xe4\xba"}'), "invalid_response", False, False),
    "utf16": (Reply(BODY.decode().encode("utf-16")), "invalid_response", False, False),
    "gzip_label_only": (Reply(BODY, headers=GZIP), "invalid_response", False, False),
    "gzip_cut": (Reply(ZIPPED[:-9], headers=GZIP), "invalid_response", False, False),
    "gzip_corrupt": (Reply(ZIPPED[:-12] + b"garbagegarbage", headers=GZIP), "invalid_response", False, False),
    "brotli": (Reply(BODY, headers=(("content-encoding", "br"),)), "invalid_response", False, False),
    "failure_envelope": (answer({"status": "failure", "data": None}), "failure_envelope", False, False),
    "too_large": (Reply(b'{"x":"%b"}' % (b"a" * 70_000)), "response_too_large", False, False),
    "gzip_too_large": (Reply(gzip.compress(b"a" * 70_000), headers=GZIP), "response_too_large", False, False),
}
SMALL_BODY = ClientLimits(timeout_s=10, max_body_bytes=2**16)
SHORT_TIME = ClientLimits(timeout_s=0.25, retries=1)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_lasting_fault_has_its_reason_code_and_number_of_requests(fault: str, operation: str) -> None:
    reply, reason_code, retried, call_retried = FAULTS[fault]
    limits = SHORT_TIME if reason_code.endswith("timeout") else SMALL_BODY
    requests = limits.retries + 1 if (call_retried if operation == "call" else retried) else 1
    first = [answer({})] if reason_code in ("http_401", "http_403") else []  # three of them end a run
    sleeps: list[float] = []

    async def run() -> tuple[ApiFailure, LoopbackApi]:
        async with serving([*first, reply]) as api, api.client(sleeps, limits=limits) as client:
            for _ in first:
                await perform(client, "discover")
            with pytest.raises(ApiFailure) as raised:
                await perform(client, operation)
            return raised.value, api

    failure, api = asyncio.run(run())
    assert (failure.reason_code, failure.requests) == (reason_code, requests)
    assert len(api.seen) == requests + len(first)
    assert sleeps == [0.5, 1.0, 2.0][: requests - 1]
    assert failure.status == (int(reason_code[5:]) if reason_code.startswith("http_") else failure.status)
    assert str(failure) == "API request failed"
    assert set(vars(failure)) == {"reason_code", "requests", "status"}
    assert (
        failure.__cause__ is failure.__context__ is None
    )  # httpx's errors hold the request with its headers
    assert KEY not in "".join(traceback.format_exception(failure))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_nothing_listens(operation: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        api = LoopbackApi([], port=unused.getsockname()[1])

        async def run() -> ApiFailure:
            async with api.client([]) as client:
                with pytest.raises(ApiFailure) as raised:
                    await perform(client, operation)
                return raised.value

        failure = asyncio.run(run())
    assert (failure.reason_code, failure.status) == ("network_failure", None)
    assert failure.requests == (1 if operation == "call" else 4)


@pytest.mark.parametrize("fault", ["stall", "stall_body", "drip"])
def test_a_stalled_or_dripping_billed_call_ends_at_its_limit(fault: str) -> None:
    async def run() -> float:
        limits = ClientLimits(timeout_s=0.5)
        async with serving([Reply(BODY * 50, fault=fault)]) as api, api.client(limits=limits) as client:
            start = time.monotonic()
            with pytest.raises(ApiFailure):
                await perform(client, "call")
            return time.monotonic() - start

    assert 0.4 < asyncio.run(run()) < 1.5


def test_a_connection_that_is_never_accepted_ends_at_the_limit() -> None:
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        api = LoopbackApi([], port=full.getsockname()[1])

        async def run() -> tuple[str, float]:
            async with api.client(limits=ClientLimits(timeout_s=0.3)) as client:
                start = time.monotonic()
                with pytest.raises(ApiFailure) as raised:
                    await perform(client, "call")
                return raised.value.reason_code, time.monotonic() - start

        reason_code, elapsed = asyncio.run(run())
    assert reason_code == "request_timeout"
    assert elapsed < 1.3


@pytest.mark.parametrize("operation", OPERATIONS)
def test_different_faults_use_up_the_same_tries(operation: str) -> None:
    replies = [
        Reply(status=429, headers=(("retry-after", "7"),)),
        Reply(status=503, headers=(("retry-after", "0"),)),
        Reply(BODY, headers=(("retry-after", "9"),), fault="close_body"),
        Reply(BODY),
    ]
    sleeps: list[float] = []

    async def run() -> tuple[object, int]:
        async with serving(replies) as api, api.client(sleeps) as client:
            if operation == "call":
                with pytest.raises(ApiFailure, match="API request failed") as raised:
                    await perform(client, operation)
                return raised.value.reason_code, raised.value.requests
            return await perform(client, operation), len(api.seen)

    result, requests = asyncio.run(run())
    if operation == "call":
        assert (result, requests, sleeps) == ("http_503", 2, [7.0])
    else:
        assert (requests, sleeps) == (4, [7.0, 0.0, 2.0])


def test_a_cancelled_request_leaves_the_client_usable() -> None:
    async def run() -> tuple[object, int]:
        async with serving([Reply(fault="stall"), Reply(BODY)]) as api, api.client() as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(perform(client, "call"), 0.2)
            return (await perform(client, "call")).success, client.counts.calls

    assert asyncio.run(run()) == (True, 2)
