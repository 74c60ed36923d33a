"""The live client on the wire: what it yields, and how it fails."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from typing import Any

import pytest

from discovercall.invocation.redaction import SecretRedactor
from discovercall.invocation.runtime.chat import (
    ChatError,
    Finish,
    ReasoningDelta,
    StreamItem,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from discovercall.invocation.runtime.live import LiveChatClient
from discovercall.invocation.runtime.timing import CallTiming, TimedChatClient
from tests.invocation.streams import KEY, SECRETS, StreamServer

TEXT = ["Guten Morgen – ", "早上好 \u2028 ", "🙂\u0085!"]
ANSWER: list[StreamItem] = [*map(TextDelta, TEXT), Finish("stop"), Usage(10, 5, 15, 4)]
CALLS: list[StreamItem] = [
    TextDelta("On it."),
    ToolCallDelta(0, "a", "device_volume_adjust", ""),
    ToolCallDelta(0, None, None, '{"change"'),
    ToolCallDelta(0, None, None, ":1}"),
    ToolCallDelta(1, "b", "session_terminate", "{}"),
    Finish("tool_calls"),
    Usage(1, 2, 3, None),
]


def ask(url: str, timed: list[CallTiming] | None = None, **parameters: Any) -> list[StreamItem]:
    async def run() -> list[StreamItem]:
        client = TimedChatClient(
            LiveChatClient(url, "gpt-x", KEY, SecretRedactor([KEY]).short), time.monotonic
        )
        items: list[StreamItem] = []
        try:
            async with aclosing(client.stream([{"role": "user", "content": "Hi"}], **parameters)) as stream:
                async for item in stream:
                    items.append(item)
        except ChatError as error:
            error.items = items  # type: ignore[attr-defined]
            raise
        finally:
            await client.aclose()
            if timed is not None:
                timed.extend(client.calls)
        return items

    return asyncio.run(asyncio.wait_for(run(), 20))


def text_of(items: list[StreamItem]) -> str:
    return "".join(item.text for item in items if isinstance(item, TextDelta))


@pytest.mark.parametrize(
    "scenario", ["ok", "bytewise", "crlf", "comments", "no_done", "role_first", "odd_header"]
)
@pytest.mark.parametrize("script", [ANSWER, CALLS], ids=["text", "calls"])
def test_streams_come_out_as_they_were_meant(scenario: str, script: list[StreamItem]) -> None:
    with StreamServer(script=script) as server:
        items = ask(server.url(scenario))
    assert text_of(items) == text_of(script)
    calls = [item for item in items if isinstance(item, ToolCallDelta)]
    assert calls == [item for item in script if isinstance(item, ToolCallDelta)]
    assert items[-2:] == script[-2:]


def test_missing_usage_is_no_usage_and_odd_usage_is_none() -> None:
    with StreamServer(script=ANSWER) as server:
        assert not [item for item in ask(server.url("no_usage")) if isinstance(item, Usage)]
        assert ask(server.url("usage_null"))[-1] == Usage(None, None, None, None)


def test_tool_calls_without_index_are_told_apart_by_id() -> None:
    script: list[StreamItem] = [
        ToolCallDelta(0, "a", "f", '{"x":'),
        ToolCallDelta(0, "a", "f", "1}"),
        ToolCallDelta(1, "b", "g", "{}"),
        Finish("tool_calls"),
    ]
    with StreamServer(script=script) as server:
        calls = [item for item in ask(server.url("no_index")) if isinstance(item, ToolCallDelta)]
    assert [(call.index, call.id, call.name, call.arguments) for call in calls] == [
        (0, "a", "f", '{"x":'),
        (0, "a", "f", "1}"),
        (1, "b", "g", "{}"),
    ]


def test_the_request_is_that_of_a_streamed_completion() -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    with StreamServer(script=ANSWER) as server:
        ask(server.url(), tools=tools, temperature=0.5)
        (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "temperature": 0.5,
        "model": "gpt-x",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": tools,
    }


@pytest.mark.parametrize(
    ("scenario", "code", "says"),
    [
        ("http400", "request_refused", "HTTP 400 (fake_400): Incorrect API key provided: [redacted]"),
        ("http401", "unauthorized", "HTTP 401 (invalid_api_key): Incorrect API key provided: [redacted]"),
        ("http403", "unauthorized", "HTTP 403"),
        ("http404", "request_refused", "HTTP 404"),
        ("http429", "rate_limited", "HTTP 429"),
        ("http500", "provider_error", "HTTP 500"),
        ("text_error", "provider_error", "HTTP 502"),
        ("long_error", "provider_error", "HTTP 500"),
        ("error_in_200", "provider_error", "the provider reports an error: Incorrect"),
        ("error_in_stream", "rate_limited", "the provider reports an error: Incorrect"),
        ("no_end", "incomplete_stream", "without finish reason and [DONE]"),
        ("reset", "connection_lost", "broke off"),
        ("closed", "connection_lost", "broke off"),
        ("bad_json", "invalid_stream", "not valid JSON"),
        ("json_list", "invalid_stream", "no JSON object"),
        ("html", "invalid_stream", "no text/event-stream"),
        ("gzip", "invalid_stream", "compressed"),
        ("endless", "invalid_stream", "larger than"),
        ("redirect", "request_refused", "redirects are not followed"),
        ("refusal", "refused", "refused"),
    ],
)
def test_each_fault_has_its_error_without_secrets_and_is_asked_once(
    scenario: str, code: str, says: str
) -> None:
    with StreamServer(script=ANSWER) as server, pytest.raises(ChatError) as caught:
        ask(server.url(scenario))
    assert caught.value.code == code
    assert says in caught.value.message
    assert len(caught.value.message) <= 300
    assert not [
        secret for secret in SECRETS if secret in str(caught.value) or secret[:12] in str(caught.value)
    ]
    assert len(server.requests) == 1


@pytest.mark.parametrize("item", [TextDelta("x" * 70_000), ToolCallDelta(0, None, None, "x" * 70_000)])
def test_an_answer_without_end_is_cut_off(item: StreamItem) -> None:
    with StreamServer(script=[item] * 4) as server, pytest.raises(ChatError, match="longer than 262144"):
        ask(server.url())


def test_what_came_before_a_fault_stays_valid() -> None:
    with StreamServer() as server, pytest.raises(ChatError) as caught:
        ask(server.url("closed"))
    assert caught.value.items == [TextDelta("Hello, ")]  # type: ignore[attr-defined]


def test_nobody_listens() -> None:
    with StreamServer() as server:
        url = server.url()
    with pytest.raises(ChatError) as caught:
        ask(url)
    assert caught.value.code == "unreachable"


def test_the_first_token_is_no_empty_chunk_but_may_be_reasoning() -> None:
    timed: list[CallTiming] = []
    with StreamServer(script=[Finish("stop")]) as server:
        ask(server.url(), timed)
        assert timed[-1].first_token_ms is None
        assert timed[-1].elapsed_ms
        server.script = [ReasoningDelta(), *ANSWER]
        items = ask(server.url("role_first"), timed)
    assert isinstance(items[0], ReasoningDelta)
    # The empty role chunk came 50 ms before.
    first, elapsed = timed[-1].first_token_ms, timed[-1].elapsed_ms
    assert first is not None
    assert elapsed is not None
    assert 50 <= first < elapsed
    assert timed[-1].usage == Usage(10, 5, 15, 4)


def test_closing_early_closes_the_connection() -> None:
    async def run(url: str) -> None:
        client = LiveChatClient(url, "m", KEY, str)
        async with aclosing(client.stream([{"role": "user", "content": "Hi"}])) as stream:
            assert await anext(stream) == TextDelta("Hello, ")
        await client.aclose()

    with StreamServer() as server:
        asyncio.run(run(server.url("hang")))
        for _ in range(200):
            if server.requests[0].outcome:
                break
            time.sleep(0.02)
        assert server.requests[0].outcome == "client_gone"
