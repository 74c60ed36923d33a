"""What is sent, what is made of the answers, and what the client counts and refuses."""

import asyncio
import gzip
import json
import subprocess
import sys
import time
import zlib
from urllib.parse import unquote

import pytest

from discovercall.capability.authorization import AuthorizationRefused
from discovercall.capability.client import CallAnswer, CapabilityClient, RequestCounts
from discovercall.capability.exchange import ClientLimits
from discovercall.capability.failures import ApiFailure
from discovercall.foundation.errors import InputError, SpendLimitError
from tests.capability.loopback import KEY, LoopbackApi, Reply, answer, perform, serving

OPERATIONS = ("discover", "inspect", "call")
CALLED = {"success": True, "result": {"data": {"x": 1}}, "cost": 5}


def ask(operation: str, *replies: Reply, **options):
    async def run():
        async with serving(replies) as api, api.client(**options) as client:
            return await perform(client, operation)

    return asyncio.run(run())


def test_requests_are_exactly_as_the_api_expects_them() -> None:
    async def run() -> LoopbackApi:
        async with serving([answer({})]) as api, api.client() as client:
            await client.discover('天气 "x"\u2028\ud800', 7, "ses")
            await client.inspect(["a b", "c"], "srch", "ses")
            parameters = {"b": 1.0, "10": 1e21, "2": [None, True], "a": {"é": 2**60}}
            await client.call("a b/c&d=é'()*!~", parameters, "srch", "ses", "lab", lambda: None)
            return api

    api = asyncio.run(run())
    assert [seen.target for seen in api.seen] == [
        "/api/v1/search",
        "/api/v1/tools/by-ids",
        "/api/v1/tools/execute?tool_id=a%20b%2Fc%26d%3D%C3%A9'()*!~",
    ]
    assert [seen.body.decode() for seen in api.seen] == [
        '{"query":"天气 \\"x\\"\u2028\\ud800","limit":7,"session_id":"ses","view":"routing"}',
        '{"tool_ids":["a b","c"],"search_id":"srch","session_id":"ses","view":"lean"}',
        '{"parameters":{"2":[null,true],"10":1e+21,"b":1,"a":{"é":1152921504606846976}},'
        '"search_id":"srch","session_id":"ses","model":"lab","respond_with":"full"}',
    ]
    for seen in api.seen:
        assert seen.headers["authorization"] == f"Bearer {KEY}"
        assert seen.headers["content-type"] == "application/json"


@pytest.mark.parametrize("tool_id", ["x" * 100_000, "工具" * 20_000, "\u0000\r\n", "%2e%2e/..", ""])
def test_any_tool_id_can_be_called(tool_id: str) -> None:
    async def run() -> str:
        async with serving([answer(CALLED)]) as api, api.client() as client:
            await client.call(tool_id, {}, "s", "s", "m", lambda: None)
            return api.seen[0].target

    assert unquote(asyncio.run(run())) == f"/api/v1/tools/execute?tool_id={tool_id}"


def test_a_tool_id_that_no_url_can_carry_is_not_sent() -> None:
    async def run() -> tuple[ApiFailure, RequestCounts]:
        async with serving([answer(CALLED)]) as api, api.client() as client:
            with pytest.raises(ApiFailure) as raised:
                await client.call("a\ud800", {}, "s", "s", "m", lambda: pytest.fail("sent"))
            return raised.value, client.counts

    failure, counts = asyncio.run(run())
    assert (failure.reason_code, failure.requests, counts) == ("invalid_response", 0, RequestCounts())


@pytest.mark.parametrize(
    ("body", "search_id", "results"),
    [
        (
            {"search_id": "  sid-1 ", "results": [None, 5, {"tool_id": "a"}]},
            "sid-1",
            [None, 5, {"tool_id": "a"}],
        ),
        ({"search_id": "\ufeff \u00a0", "results": []}, None, []),
        ({"search_id": 5, "results": None}, None, []),
        ({"search_id": "s", "results": {"0": {"tool_id": "a"}}}, "s", []),
        ({"results": [1]}, None, [1]),
        ({"search_id": "s", "results": list(range(30))}, "s", list(range(10))),
        ({"status": "success", "data": {"search_id": "s", "results": [1]}}, "s", [1]),
        ({"status": "success", "data": {"status": "failure", "data": None}}, None, []),
        ([], None, []),
        ("x", None, []),
        (None, None, []),
        (True, None, []),
    ],
)
def test_shapes_of_a_search_answer(body, search_id, results) -> None:
    found = ask("discover", answer(body))
    assert (found.search_id, found.results) == (search_id, results)
    assert ask("inspect", answer(body)).results[:10] == results


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (CALLED, CallAnswer(True, True, 5)),
        ({"success": True}, CallAnswer(True, False, None)),
        ({"success": True, "result": {"data": None}, "cost": 0.25}, CallAnswer(True, False, 0.25)),
        ({"success": False, "result": {"x": 1}, "cost": True}, CallAnswer(False, False, None)),
        ({"success": 1, "result": {"x": 1}, "cost": "5"}, CallAnswer(False, False, None)),
        ({"success": "true", "result": {"x": 1}}, CallAnswer(False, False, None)),
        ({"data": CALLED, "message": "ok"}, CallAnswer(True, True, 5)),
        ({**CALLED, "data": None, "message": "ok", "status": 500}, CallAnswer(True, True, 5)),
        ([True], CallAnswer(False, False, None)),
        (None, CallAnswer(False, False, None)),
    ],
)
def test_shapes_of_a_call_answer(body, expected: CallAnswer) -> None:
    assert ask("call", answer(body)) == expected


@pytest.mark.parametrize(
    ("operation", "nest"),
    [
        ("discover", (b"[", b"1", b"]")),
        ("inspect", (b'{"x":', b"1", b"}")),
        ("call", (b"[", b"1", b"]")),
        ("call", (b'{"data":', b'"x"', b"}")),
        ("call", (b'{"data":', b"{}", b"}")),
    ],
)
def test_depth_has_no_limit(operation: str, nest: tuple[bytes, bytes, bytes]) -> None:
    opened, inner, closed = nest
    deep = opened * 200_000 + inner + closed * 200_000
    body = (b'{"success":true,"result":%b}' if operation == "call" else b'{"results":[%b]}') % deep
    found = ask(operation, Reply(body), limits=ClientLimits(timeout_s=60))
    if operation == "call":
        assert found == CallAnswer(True, inner != b"{}", None)
    else:
        assert len(found.results) == 1


def test_reading_a_deep_body_does_not_stop_other_requests() -> None:
    body = b'{"results":[%b]}' % (b"[" * 500_000 + b"]" * 500_000)

    async def run() -> tuple[float, float]:
        async with serving([Reply(body)]) as api, api.client() as client:
            start = before = time.monotonic()
            longest = 0.0
            search = asyncio.create_task(perform(client, "discover"))
            while not search.done():
                await asyncio.sleep(0.01)
                longest, before = max(longest, time.monotonic() - before), time.monotonic()
            return longest, time.monotonic() - start

    longest_stop, whole = asyncio.run(run())
    assert longest_stop < whole / 3


def test_deep_parameters_can_be_sent() -> None:
    deep: dict = {}
    for _ in range(100_000):
        deep = {"x": deep}

    async def run() -> int:
        async with serving([answer(CALLED)]) as api, api.client() as client:
            await client.call("a", deep, "s", "s", "m", lambda: None)
            return api.seen[0].body.count(b'{"x":')

    assert asyncio.run(run()) == 100_000


BODY = json.dumps(CALLED).encode()


@pytest.mark.parametrize(
    "reply",
    [
        Reply(gzip.compress(BODY), headers=(("content-encoding", "gzip"),)),
        Reply(gzip.compress(BODY), headers=(("Content-Encoding", " GZIP "),), chunked=True),
        Reply(gzip.compress(BODY[:9]) + gzip.compress(BODY[9:]), headers=(("content-encoding", "x-gzip"),)),
        Reply(BODY, headers=(("content-encoding", "identity"),)),
        Reply(b"\xef\xbb\xbf" + BODY),
        Reply(BODY, headers=(("content-type", "text/html; charset=utf-16"),)),
        Reply(BODY, status=299),
        Reply(BODY, headers=(("set-cookie", "a=b"), ("location", "/elsewhere"))),
    ],
)
def test_answers_that_are_read_all_the_same(reply: Reply) -> None:
    assert ask("call", reply) == CallAnswer(True, True, 5)


def test_a_body_at_the_limit_is_taken_and_one_byte_more_is_not() -> None:
    for more, zipped in ((0, False), (0, True), (1, False), (1, True)):
        body = b'{"success":true}' + b" " * (2**16 - 16 + more)
        headers = (("content-encoding", "gzip"),) if zipped else ()
        reply = Reply(gzip.compress(body) if zipped else body, headers=headers)
        limits = ClientLimits(max_body_bytes=2**16)
        if more:
            with pytest.raises(ApiFailure) as raised:
                ask("call", reply, limits=limits)
            assert raised.value.reason_code == "response_too_large"
        else:
            assert ask("call", reply, limits=limits).success


def test_searches_share_a_connection_and_each_billed_call_has_its_own() -> None:
    async def run() -> list[tuple[int, str]]:
        async with serving([answer(CALLED, headers=(("set-cookie", "a=b"),))]) as api, api.client() as client:
            for operation in ("discover", "inspect", "call", "discover", "call"):
                await perform(client, operation)
            assert not any("cookie" in seen.headers for seen in api.seen)
            return [(seen.connection, seen.headers["connection"]) for seen in api.seen]

    assert asyncio.run(run()) == [
        (1, "keep-alive"),
        (1, "keep-alive"),
        (2, "close"),
        (1, "keep-alive"),
        (3, "close"),
    ]


def test_revisions_come_from_the_last_answer_to_each_request() -> None:
    def revised(api: str, catalog: str, status: int = 200, fault: str = "") -> Reply:
        headers = (("X-Qveris-Api-Version", api), ("x-qveris-catalog-version", catalog))
        return Reply(b"{}", status, headers, fault)

    replies = [
        revised("from-503", "from-503", 503),
        revised("b", " c1 "),
        revised("a", "", 500),
        revised("y" * 257, "z\x01", 429),
        Reply(fault="close"),
        Reply(b"{", headers=(("x-qveris-catalog-version", "c1"),)),
    ]

    async def run() -> CapabilityClient:
        async with serving(replies) as api, api.client() as client:
            await perform(client, "discover")
            for operation in ("inspect", "call", "inspect"):
                with pytest.raises(ApiFailure):
                    await perform(client, operation)
            return client

    client = asyncio.run(run())
    assert client.revisions.observations() == [("b", "c1"), ("a", None), ("invalid", "invalid"), (None, "c1")]
    assert client.revisions.api_revision == "mixed:a,b,invalid"


def test_on_send_is_called_once_and_can_forbid_the_call() -> None:
    told: list[str] = []

    def forbid() -> None:
        raise SpendLimitError("the limit is reached")

    async def run() -> tuple[RequestCounts, int]:
        replies = [Reply(status=429), Reply(status=429), answer(CALLED)]
        async with serving(replies) as api, api.client() as client:
            with pytest.raises(SpendLimitError):
                await perform(client, "call", forbid)
            assert client.counts == RequestCounts()
            await perform(client, "call", lambda: told.append("sent"))
            await perform(client, "discover")
            await perform(client, "inspect")
            return client.counts, len(api.seen)

    assert asyncio.run(run()) == (RequestCounts(searches=1, inspects=1, calls=1, call_requests=3), 5)
    assert told == ["sent"]


def outcomes(*statuses: int, together: bool = False) -> tuple[list[str], int]:
    """What requests end with, one after the other or together, and how many were sent."""

    async def run() -> tuple[list[str], int]:
        replies = [Reply(BODY, status) for status in statuses]
        async with serving(replies) as api, api.client(limits=ClientLimits(retries=0)) as client:
            names: list[str] = []

            async def one() -> None:
                try:
                    await perform(client, "discover")
                except (ApiFailure, InputError) as error:
                    names.append(getattr(error, "reason_code", type(error).__name__))
                else:
                    names.append("ok")

            if together:
                await asyncio.gather(*(one() for _ in statuses))
            else:
                for _ in statuses:
                    await one()
            return names, len(api.seen)

    return asyncio.run(run())


def test_three_refusals_at_the_start_end_the_run() -> None:
    refused = "AuthorizationRefused"
    assert outcomes(401, 403, 401, 200, 200) == (["http_401", "http_403", refused, refused, refused], 3)
    assert outcomes(401, 401, 200, 401, 401) == (["http_401", "http_401", "ok", "http_401", "http_401"], 5)
    assert outcomes(500, 401, 401, 401) == (["http_500", "http_401", "http_401", "http_401"], 4)
    names, _ = outcomes(401, 401, 401, 401, 401, together=True)
    assert sorted(names) == [refused] * 3 + ["http_401"] * 2


def test_a_refused_key_is_a_users_mistake_and_not_repeated() -> None:
    error = AuthorizationRefused()
    assert error.exit_code == 2
    assert "QVERIS_API_KEY" in str(error)


def test_requests_are_spaced_over_all_operations_and_retries() -> None:
    now = 1000.0
    sleeps: list[float] = []

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        sleeps.append(seconds)

    async def run() -> None:
        retry = Reply(status=429, headers=(("retry-after", "0.5"),))
        async with serving([answer({}), retry, answer(CALLED)]) as api:
            client = api.client(requests_per_minute=30, monotonic=lambda: now, sleep=sleep)
            async with client:
                await perform(client, "discover")
                await perform(client, "call")

    asyncio.run(run())
    assert sleeps == [2.0, 0.5, 1.5]


def test_retry_after_date_is_read_against_the_clock() -> None:
    sleeps: list[float] = []
    reply = Reply(status=429, headers=(("retry-after", "Thu, 13 Aug 2026 00:00:05 GMT"),))
    ask("call", reply, answer(CALLED), sleeps=sleeps, clock=lambda: 1786579200.0)
    assert sleeps == [5.0]


@pytest.mark.parametrize("key", ["", " \ufeff ", "ключ", "a\r\nX: y", "a\x00b", "a\x7f"])
def test_an_unusable_key_is_refused_before_any_request(key: str) -> None:
    with pytest.raises(InputError) as raised:
        CapabilityClient("https://example.org", key)
    assert not key.strip() or key not in str(raised.value)


def test_a_plain_http_host_never_gets_the_key() -> None:
    with pytest.raises(InputError):
        CapabilityClient("http://example.org", KEY)


def test_unusable_proxy_settings_are_a_users_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "foo://user:proxy-secret@[")
    with pytest.raises(InputError) as raised:
        CapabilityClient("https://example.org", KEY)
    assert "proxy-secret" not in str(raised.value)


def test_the_environments_proxy_is_not_used_on_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert ask("call", answer(CALLED)).success


def test_nothing_is_logged_even_when_logging_is_on() -> None:
    program = """
import asyncio, logging
logging.basicConfig(level=logging.DEBUG)
logging.getLogger("asyncio").setLevel(logging.ERROR)
from tests.capability.loopback import answer, perform, serving
async def run():
    async with serving([answer({"success": True})]) as api, api.client() as client:
        await perform(client, "call")
asyncio.run(run())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""


MEASURE = """
import asyncio, json, pathlib, sys
from discovercall.capability.client import CapabilityClient
from discovercall.capability.failures import ApiFailure
def peak():
    status = pathlib.Path("/proc/self/status").read_text()  # getrusage would count the parent's memory too
    return int(status.split("VmHWM:")[1].split()[0]) // 1024
async def run():
    async with CapabilityClient(sys.argv[1], "key") as client:
        await client.discover("q", 1, "s")
        before, reasons = peak(), []
        for _ in range(2):
            try:
                await client.call("a", {}, "s", "s", "m", lambda: None)
            except ApiFailure as failure:
                reasons.append(failure.reason_code)
        print(json.dumps([reasons, peak() - before]))
asyncio.run(run())
"""


def test_an_endless_body_and_a_gzip_bomb_stay_within_memory() -> None:
    squeeze = zlib.compressobj(9, wbits=16 + zlib.MAX_WBITS)
    bomb = b"".join(squeeze.compress(b" " * 2**20) for _ in range(300)) + squeeze.flush()
    replies = [
        answer({}),
        Reply(b" " * 300 * 2**20),
        Reply(bomb, headers=(("content-encoding", "gzip"),)),
    ]

    async def run() -> bytes:
        async with serving(replies) as api:
            arguments = ("-c", MEASURE, api.base_url)
            process = await asyncio.create_subprocess_exec(
                sys.executable, *arguments, stdout=asyncio.subprocess.PIPE
            )
            return (await process.communicate())[0]

    reasons, grown_mib = json.loads(asyncio.run(run()))
    assert reasons == ["response_too_large"] * 2
    assert grown_mib < 100
