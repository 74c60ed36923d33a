"""The chunks of a stream, one by one: what they give, and what is no chunk."""

from __future__ import annotations

import json
from typing import Any

import pytest

from discovercall.invocation.runtime.chat import (
    ChatError,
    Finish,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from discovercall.invocation.runtime.chunks import MAX_ANSWER, ChunkReader, provider_error, refusal


def read(*chunks: Any) -> list[Any]:
    reader = ChunkReader()
    return [item for chunk in chunks for item in reader.items(json.dumps(chunk))]


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def test_a_stream_of_everything() -> None:
    call = {"index": 3, "id": "c1", "function": {"name": "find", "arguments": '{"a":'}}
    usage = {
        "prompt_tokens": 7, "completion_tokens": -1, "total_tokens": 1.5,
        "prompt_tokens_details": {"cached_tokens": 2},
    }  # fmt: skip
    assert read(
        delta(role="assistant", content=""),
        delta(reasoning_content="hm"),
        delta(content="Hi"),
        delta(tool_calls=[call]),
        {"choices": [{"index": 1, "delta": {"content": "another choice"}}]},
        {"choices": [{"delta": None, "finish_reason": "stop" * 30}]},
        {"choices": None, "usage": usage},
        {"usage": {"prompt_tokens_details": []}},
    ) == [
        ReasoningDelta(),
        TextDelta("Hi"),
        ToolCallDelta(3, "c1", "find", '{"a":'),
        Finish(("stop" * 30)[:64]),
        Usage(prompt=7, completion=None, total=None, cached=2),
        Usage(prompt=None, completion=None, total=None, cached=None),
    ]


def test_calls_without_an_index_are_told_apart_by_their_ids() -> None:
    found = read(
        *(
            delta(tool_calls=[{"id": name, "function": {"arguments": text}}])
            for name, text in (("a", "1"), (None, "2"), ("a", "3"), ("b", "4"), (None, "5"))
        ),
        delta(tool_calls=[{"index": 10_000, "id": "b"}]),
    )
    assert [item.index for item in found] == [0, 0, 0, 1, 1, 1]
    assert found[5] == ToolCallDelta(1, "b", None, "")


@pytest.mark.parametrize(
    ("chunk", "line"),
    [
        ([], "a chunk is no JSON object"),
        ({"choices": {}}, "choices is no list"),
        ({"choices": [1]}, "a choice is no object with a delta"),
        ({"choices": [{"delta": "text"}]}, "a choice is no object with a delta"),
        (delta(content=5), "content is no text"),
        (delta(tool_calls={"a": 1}), "tool_calls is no list"),
        (delta(tool_calls=["find"]), "a tool call is no object with a function"),
        (delta(tool_calls=[{"function": []}]), "a tool call is no object with a function"),
        (delta(tool_calls=[{"function": {"name": 5}}]), "a tool call's name or arguments are no text"),
        (
            delta(tool_calls=[{"function": {"arguments": {}}}]),
            "a tool call's name or arguments are no text",
        ),
        (delta(content="x" * (MAX_ANSWER + 1)), f"the answer is longer than {MAX_ANSWER} characters"),
    ],
)
def test_what_is_no_chunk_is_refused(chunk: Any, line: str) -> None:
    with pytest.raises(ChatError) as error:
        read(chunk)
    assert (error.value.code, str(error.value)) == ("invalid_stream", f"invalid_stream: {line}")


def test_a_chunk_that_is_no_json_is_refused() -> None:
    with pytest.raises(ChatError, match=r"^invalid_stream: a chunk is not valid JSON \("):
        list(ChunkReader().items("{"))


@pytest.mark.parametrize(("chunks", "refused"), [(({"refusal": "no"},), True), (({"content": "x"},), False)])
def test_a_refusal_counts_where_nothing_else_was_said(chunks: Any, refused: bool) -> None:
    reader = ChunkReader()
    for fields in chunks:
        list(reader.items(json.dumps(delta(**fields))))
    if not refused:
        list(reader.items(json.dumps(delta(refusal="no"))))
        reader.check_end()
        return
    with pytest.raises(ChatError) as error:
        reader.check_end()
    assert error.value.code == "refused"


@pytest.mark.parametrize(
    ("status", "error", "code", "text"),
    [
        (401, {"code": "bad_key", "message": "no"}, "unauthorized", "HTTP 401 (bad_key): no"),
        (429, "slow down", "rate_limited", "HTTP 429: slow down"),
        (404, None, "request_refused", "HTTP 404"),
        (500, {}, "provider_error", "HTTP 500"),
        (None, {"code": 429, "message": ""}, "rate_limited", "the provider reports an error"),
        (None, {"code": 503}, "provider_error", "the provider reports an error"),
        (None, {"message": 5}, "provider_error", "the provider reports an error"),
    ],
)
def test_an_error_of_the_provider(status: int | None, error: Any, code: str, text: str) -> None:
    found = provider_error(status, error)
    assert (found.code, str(found)) == (code, f"{code}: {text}")
    with pytest.raises(ChatError):
        read({"error": error or "x"})


@pytest.mark.parametrize(
    ("status", "body", "whole", "text"),
    [
        (302, b"", True, "HTTP 302: redirects are not followed"),
        (400, b'{"error": {"message": "why"}}', True, "HTTP 400: why"),
        (400, b'{"error": {"message": "why"}}', False, "HTTP 400"),
        (400, b"<html>", True, "HTTP 400"),
        (400, b"[1]", True, "HTTP 400"),
    ],
)
def test_a_response_that_is_no_success(status: int, body: bytes, whole: bool, text: str) -> None:
    found = refusal(status, body, whole=whole)
    assert str(found) == f"request_refused: {text}"
