"""The API repeats the Authorization header wherever it can: the key does not come out of the client."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from discovercall.capability.client import CapabilityClient
from discovercall.capability.redaction import KeyRedaction
from discovercall.foundation.redaction import MASK
from tests.capability.loopback import KEY, Reply, Seen, answer, serving

AWKWARD = 'k"e\\y/with tab\tand more'
DEPTH = 20_000


def echo(text: str) -> dict[str, Any]:
    tool = {"tool_id": text, text: [text, {f"a {text} b {text}": None, "n": [1, True, None, [text]]}]}
    return {"search_id": text, "results": [tool, text, [text], 5]}


def escaped(text: str) -> bytes:
    """JSON with every character of every string escaped."""

    def write(value: Any) -> str:
        if isinstance(value, str):
            return '"' + "".join(f"\\u{ord(character):04x}" for character in value) + '"'
        if isinstance(value, dict):
            return "{" + ",".join(f"{write(name)}:{write(item)}" for name, item in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(write, value)) + "]"
        return json.dumps(value)

    return write(echo(text)).encode()


WRITERS: dict[str, Callable[[str], bytes]] = {
    "plain": lambda text: json.dumps(echo(text)).encode(),
    "escaped": escaped,
    "slashes": lambda text: json.dumps(echo(text)).replace("/", "\\/").encode(),
    "enveloped": lambda text: json.dumps({"status": "success", "data": echo(text)}).encode(),
    "large": lambda text: json.dumps(echo(text) | {"padding": "x" * 2**19}).encode(),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("key", [KEY, AWKWARD])
def test_key_in_an_answer_is_masked(writer, key):
    def reply(request: Seen) -> Reply:
        header = request.headers["authorization"]
        return Reply(
            WRITERS[writer](header),
            headers=(("x-qveris-api-version", header), ("x-qveris-catalog-version", f"1 {header}")),
        )

    async def run() -> tuple[Any, Any, CapabilityClient]:
        async with serving(reply) as api, api.client(api_key=key) as client:
            return (
                await client.discover("q", 10, "s"),
                await client.inspect(["a"], "s", "s"),
                client,
            )

    found, inspected, client = asyncio.run(run())
    shown = echo("Bearer [redacted]")
    assert (found.search_id, found.results) == ("Bearer [redacted]", shown["results"])
    assert inspected.results == shown["results"]
    assert list(found.results[0]) == ["tool_id", "Bearer [redacted]"]
    for revision in (client.revisions.api_revision, client.revisions.catalog_revision):
        assert "[redacted]" in revision
    assert key not in repr(client.revisions.observations())


def test_key_deep_down_is_masked():
    async def run() -> Any:
        body = b'{"results":[' + b"[" * DEPTH + json.dumps(KEY).encode() + b"]" * DEPTH + b"]}"
        async with serving([Reply(body)]) as api, api.client() as client:
            return (await client.inspect(["a"], "s", "s")).results

    value = asyncio.run(run())
    while isinstance(value, list):
        value = value[0]
    assert value == "[redacted]"


def test_other_text_is_kept():
    body = {"results": [{"a\u00e9\n": 'q"\\/', KEY[:-1]: KEY[1:], "n": [1.5, None, False]}]}

    async def run() -> Any:
        async with serving([answer(body)]) as api, api.client() as client:
            return (await client.inspect(["a"], "s", "s")).results

    assert asyncio.run(run()) == body["results"]


def test_waits_for_a_retry_of_a_call_are_told():
    events: list[object] = []

    def reply(request: Seen) -> Reply:
        events.append("request")
        tries = events.count("request")
        return Reply(status=429) if tries < 3 else answer({"success": True, "result": {"a": 1}, "cost": 1})

    async def sleep(seconds: float) -> None:
        events.append("sleep")

    async def run() -> None:
        async with serving(reply) as api, api.client(sleep=sleep) as client:
            await client.call("t", {}, "s", "s", "m", lambda: events.append("send"), events.append)

    asyncio.run(run())
    turned_away = ["request", True, "sleep", False]
    assert events == ["send", *turned_away, *turned_away, "request"]


def test_call_that_is_broken_off_while_it_waits_is_not_under_way():
    waits: list[bool] = []

    async def sleep(seconds: float) -> None:
        raise asyncio.CancelledError

    async def run() -> None:
        async with serving([Reply(status=429)]) as api, api.client(sleep=sleep) as client:
            with pytest.raises(asyncio.CancelledError):
                await client.call("t", {}, "s", "s", "m", lambda: None, waits.append)

    asyncio.run(run())
    assert waits == [True]


SECRET = "Catalogkey0123456789xyz"


@pytest.mark.parametrize("before", ["", "x", "xy", "xyz", "v1-"])
@pytest.mark.parametrize("after", ["", "!", "?>"])
@pytest.mark.parametrize(
    "encode",
    [
        lambda text: base64.b64encode(text.encode()).decode(),
        lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
        lambda text: text.encode().hex(),
        lambda text: text.encode().hex().upper(),
        lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
        lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
    ],
    ids=["base64", "url-safe base64", "hex", "upper hex", "percent", "percent base64"],
)
def test_a_revision_that_holds_the_key_encoded_is_masked(
    before: str, after: str, encode: Callable[[str], str]
) -> None:
    for key in (SECRET, "k?~>ÿ-secret~>?"):
        redact = KeyRedaction(key).text_or_none
        assert redact(f"v1-{encode(before + key + after)}") == MASK
        assert redact(f"v1-{encode(before + key[1:] + after)}") != MASK


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: base64.b64encode(text.encode()).decode(),
        lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
        lambda text: text.encode().hex(),
        lambda text: quote(text, safe=""),
        lambda text: re.sub("%..", lambda found: found[0].lower(), quote(text, safe="")),
        lambda text: json.dumps(text),
    ],
    ids=["base64", "url-safe base64", "hex", "percent", "lower percent", "json"],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_value_that_holds_the_key_encoded_is_masked(encode: Callable[[str], str], ascii_only: bool) -> None:
    for key in (SECRET, "k?~>ÿ-secret~>?"):
        redaction = KeyRedaction(key)
        shown = encode(f"of {key} all")
        sent = {"results": [{"a": key, shown: [shown, {"b": f"é {shown}"}], "c": encode(key[1:]), "n": 1}]}
        body = json.dumps(sent, ensure_ascii=ascii_only)
        assert redaction.may_be_in(body.encode())
        (found,) = redaction.value(json.loads(body))["results"]
        name = list(found)[1]
        assert (found["a"], found["c"], found["n"]) == (MASK, encode(key[1:]), 1)
        for text in (name, found[name][0], found[name][1]["b"].removeprefix("é ")):
            before, mask, after = text.partition(MASK)
            assert mask == MASK
            assert (shown[: len(before)], shown[len(shown) - len(after) :]) == (before, after)
            # Of base64, a character on either side belongs to both.
            assert len(before + after) <= len(encode("of ") + encode(" all")) + 2


def test_ordinary_revisions_and_short_keys_are_left() -> None:
    for text in ("2026-05-01", "a" * 64, "v1.2.3+build.5", "100%", "dGVzdA=="):
        assert KeyRedaction(SECRET).text_or_none(text) == text
        assert KeyRedaction("test").text_or_none(text.replace("test", "")) == text
    assert KeyRedaction(SECRET).text_or_none(None) is None
