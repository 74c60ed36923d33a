"""Messages of MCP servers and clients that can't be believed: too long, not readable, without the key."""

from __future__ import annotations

import codecs
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import anyio
import httpx2
import pytest
from mcp import MCPError
from mcp.types import PARSE_ERROR, JSONRPCRequest
from pydantic import TypeAdapter, ValidationError

from discovercall.gateway import message_limit
from discovercall.gateway.catalog import Tool
from discovercall.gateway.downstream import (
    AuthRefusedError,
    CallRefusedError,
    DownstreamError,
    ServerOfflineError,
    TransportLostError,
)
from discovercall.gateway.index_file import MAX_DEPTH, MAX_NAME, is_indexable
from discovercall.gateway.masking import ToolMask
from discovercall.gateway.mcp_face import BearerOnly
from discovercall.gateway.mcp_failures import failure_of
from discovercall.gateway.message_limit import CUT_MARK, ENCODED, LINE_ENCODING, TOO_LONG, limit_body
from discovercall.gateway.unparsed import (
    INVALID_ANSWER,
    INVALID_REQUEST,
    answers_checked,
    request_id,
    requests_checked,
)


def test_a_line_is_cut_at_the_limit_and_the_next_one_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_limit, "MESSAGE_LIMIT", 8)
    decoder = codecs.getincrementaldecoder(LINE_ENCODING)()
    parts = [b"short\nexactly8\n", b"123456", b"789abc", b"def\nn\xc3", b"\xa9xt\n", b"rest"]
    read = "".join(decoder.decode(part) for part in parts)
    assert read == f"short\nexactly8\n12345678 {CUT_MARK}\nnéxt\nrest"
    decoder.decode(b"too long for it")
    decoder.reset()
    assert decoder.decode(b"fine", True) == "fine"
    assert b"x".decode(LINE_ENCODING) == "x"


class Body(httpx2.AsyncByteStream):
    closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(4):
            yield b"1234"

    async def aclose(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("headers", "limit", "told"),
    [
        ({"content-type": "application/json"}, 16, None),
        ({"content-type": "application/json"}, 15, TOO_LONG),
        ({"content-type": "text/event-stream; charset=utf-8"}, 1, None),
        ({"content-type": "text/event-stream", "content-encoding": "gzip"}, 99, ENCODED),
        ({"content-encoding": "Identity"}, 16, None),
    ],
)
def test_a_body_ends_at_the_limit(
    monkeypatch: pytest.MonkeyPatch, headers: dict[str, str], limit: int, told: str | None
) -> None:
    monkeypatch.setattr(message_limit, "MESSAGE_LIMIT", limit)
    body = Body()
    response = SimpleNamespace(headers=httpx2.Headers(headers), stream=body)
    limit_body(response)

    async def read() -> bytes:
        data = b"".join([part async for part in response.stream])
        await response.stream.aclose()
        return data

    if told is None:
        assert anyio.run(read) == b"1234" * 4
        assert body.closed
        return
    with pytest.raises(httpx2.StreamError) as error:
        anyio.run(read)
    assert str(error.value) == told


def unreadable(value: Any) -> ValidationError:
    """What the SDK says of a line or an object that is no message."""
    known = TypeAdapter(JSONRPCRequest)
    read = known.validate_json if isinstance(value, str) else known.validate_python
    with pytest.raises(ValidationError) as caught:
        read(value)
    return caught.value


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ('{"id": 7, "method": ', 7),
        ('{"id": "a-1", "cut', "a-1"),
        ('{"method": "x", "id": -3, "params": [', -3),
        ('{"method": ', None),
        ("no JSON", None),
        ({"id": 5}, 5),
        ({"id": True}, None),
        ({"id": 1.5}, None),
        ({"id": None}, None),
    ],
)
def test_an_unreadable_message_still_names_its_request(value: Any, number: object) -> None:
    assert request_id(unreadable(value)) == number


def test_an_error_without_input_names_no_request() -> None:
    assert request_id(ValueError("x")) is None


def relayed(kind: Any, *items: Any) -> tuple[list[Any], list[Any]]:
    """What arrives behind a checked transport, and what was sent back."""

    async def run() -> tuple[list[Any], list[Any]]:
        into, read = anyio.create_memory_object_stream[Any](16)
        write, back = anyio.create_memory_object_stream[Any](16)

        @asynccontextmanager
        async def transport() -> AsyncIterator[tuple[Any, Any]]:
            yield read, write

        for item in items:
            await into.send(item)
        into.close()
        async with read, back:
            async with kind(transport()) as (checked, _):
                arrived = [item async for item in checked]
            write.close()
            return arrived, [item async for item in back]

    return anyio.run(run)


def told(item: Any) -> tuple[object, str]:
    return item.message.id, item.message.error.message


def test_unreadable_answers_arrive_as_errors_of_their_requests() -> None:
    items = ["a message", unreadable('{"id": 7, '), unreadable("noise"), unreadable(f'{{"id": 8 {CUT_MARK}')]
    arrived, back = relayed(answers_checked, *items)
    assert arrived[0] == "a message"
    assert [told(item) for item in arrived[1:]] == [(7, INVALID_ANSWER), (8, TOO_LONG)]
    assert back == []


def test_unreadable_requests_are_answered() -> None:
    arrived, back = relayed(requests_checked, "a message", unreadable('{"id": 7, '), unreadable("noise"))
    assert arrived == ["a message"]
    assert [told(item) for item in back] == [(7, INVALID_REQUEST), (None, INVALID_REQUEST)]


def connection(words: str = "", status: int | None = None) -> Any:
    mask = ToolMask(())
    return SimpleNamespace(mask=mask, refused_status=status, last_words=lambda: words)


@pytest.mark.parametrize(
    ("error", "words", "connecting", "kind", "said"),
    [
        (OSError("gone"), "", True, ServerOfflineError, "gone"),
        (OSError(), "Traceback", False, TransportLostError, "OSError; it said: Traceback"),
        (MCPError(-32602, "bad city"), "", False, CallRefusedError, "bad city (code -32602)"),
        (MCPError(-32602, "bad city"), "", True, ServerOfflineError, "bad city"),
        (MCPError(-32000, "Connection closed"), "", False, TransportLostError, "Connection closed"),
        (MCPError(PARSE_ERROR, INVALID_ANSWER), "", False, CallRefusedError, INVALID_ANSWER),
        (MCPError(PARSE_ERROR, "Failed to parse x"), "", True, ServerOfflineError, INVALID_ANSWER),
        (MCPError(PARSE_ERROR, "other"), "", False, CallRefusedError, f"other (code {PARSE_ERROR})"),
        (unreadable("noise"), "", False, CallRefusedError, INVALID_ANSWER),
        (httpx2.StreamError(TOO_LONG), "", True, ServerOfflineError, TOO_LONG),
        (ExceptionGroup("x", [httpx2.StreamError(ENCODED)]), "", False, TransportLostError, ENCODED),
        (
            ExceptionGroup("only", [ExceptionGroup("groups", [OSError("in")])]),
            "",
            True,
            ServerOfflineError,
            "in",
        ),
    ],
)
def test_a_failure_in_the_brokers_terms(
    error: BaseException, words: str, connecting: bool, kind: type[DownstreamError], said: str
) -> None:
    found = failure_of(error, connection(words), connecting=connecting)
    assert type(found) is kind
    assert str(found) == said


def test_a_refused_key_is_told_before_all_else() -> None:
    found = failure_of(OSError("x"), connection(status=403), connecting=True)
    assert type(found) is AuthRefusedError
    assert "HTTP status 403" in str(found)


@pytest.mark.parametrize(
    ("scope", "passes"),
    [
        ({"type": "http", "headers": [(b"authorization", b"Bearer key")]}, True),
        ({"type": "http", "headers": [(b"authorization", b"Bearer kez")]}, False),
        ({"type": "http", "headers": []}, False),
        ({"type": "lifespan"}, True),
    ],
)
def test_nothing_passes_without_the_key(scope: dict[str, Any], passes: bool) -> None:
    sent: list[Any] = []
    reached: list[Any] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope)

    async def send(message: Any) -> None:
        sent.append(message)

    async def ask() -> None:
        await BearerOnly(application, "key")(scope, anyio.sleep_forever, send)  # type: ignore[arg-type]

    anyio.run(ask)
    assert bool(reached) is passes
    assert [message.get("status") for message in sent] == ([] if passes else [401, None])


TOOL = Tool(
    tool_ref="s.t", server_id="s", name="t", title="", description="", input_schema={"type": "object"},
    read_only=True,
)  # fmt: skip


def deep(levels: int) -> dict[str, Any]:
    return {"properties": [deep(levels - 1)]} if levels else {}


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({}, True),
        ({"name": "n" * MAX_NAME}, True),
        ({"name": "n" * (MAX_NAME + 1)}, False),
        ({"name": "a\u200bb"}, False),
        ({"name": " "}, False),
        ({"input_schema": deep(3)}, True),
        ({"input_schema": deep(MAX_DEPTH)}, False),
        ({"description": "\ud800"}, True),
    ],
)
def test_what_an_index_can_keep(changes: dict[str, Any], kept: bool) -> None:
    assert is_indexable(replace(TOOL, **changes)) is kept
