"""When a completion is asked for again, and how long is waited before; no network, no clock."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovercall.adapter.authoring import Refusal
from discovercall.adapter.chat.completion import read_completion
from discovercall.adapter.chat.decision import converse
from discovercall.adapter.chat.replies import Reply
from discovercall.adapter.chat.settings import read_settings
from discovercall.adapter.chat.transport import NotConnected
from discovercall.adapter.protocol import select_request, select_response_schema

REQUEST = select_request("m", 1, "0" * 64, "t", "p", [])
ANSWER = Reply(200, None, json.dumps({"choices": [{"message": {"content": '{"tool_id":"a"}'}}]}).encode())
REFUSES_FORMAT = Reply(400, None, b'{"error": {"message": "Unknown Response Format"}}')
NOW = 1_800_000_000.0


def limited(retry_after: str | None = None) -> Reply:
    return Reply(429, retry_after, b"slow down")


def converse_with(
    *replies: Reply | type[NotConnected], arguments: tuple[str, ...] = ()
) -> tuple[Any, int, list[float]]:
    """The answer or the reason code, requests sent, and waits."""
    waits: list[float] = []
    sent: list[bytes] = []

    async def post(body: bytes) -> Reply:
        reply = replies[len(sent)]
        sent.append(body)
        if isinstance(reply, Reply):
            return reply
        raise reply

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    settings = read_settings(["--base-url=http://localhost/v1", *arguments], {})
    outcome: Any
    try:
        outcome = asyncio.run(converse(REQUEST, settings, post, sleep=sleep, clock=lambda: NOW))
    except Refusal as refusal:
        outcome = refusal.code
    return outcome, len(sent), waits


def test_connects_once_more_where_nothing_was_sent() -> None:
    answer, sent, _ = converse_with(NotConnected, ANSWER)
    assert (answer["tool_id"], sent) == ("a", 2)
    assert converse_with(NotConnected, limited("0"), NotConnected)[:2] == ("model_failed", 3)


def test_waits_double_and_stay_within_the_bound() -> None:
    assert converse_with(*[limited()] * 9) == ("rate_limited", 6, [1, 2, 4, 8, 16])
    assert converse_with(*[limited()] * 9, arguments=("--max-wait-s=0",)) == ("rate_limited", 1, [])


def test_waits_count_together_over_formats() -> None:
    answer, sent, waits = converse_with(limited("40"), REFUSES_FORMAT, limited("20"), ANSWER)
    assert (answer["note"], sent, waits) == ({"response_format": "json_object"}, 4, [40, 20])
    assert converse_with(limited("40"), REFUSES_FORMAT, limited("21"))[:2] == ("rate_limited", 3)


@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_client_error_that_names_the_format_changes_it(status: int) -> None:
    reply = Reply(status, None, b'{"detail": [{"loc": ["body", "response_format"]}]}')
    answer, sent, _ = converse_with(reply, reply, ANSWER)
    assert (answer["note"], sent) == ({"response_format": "none"}, 3)
    assert converse_with(reply, reply, reply)[:2] == ("model_failed", 3)


@pytest.mark.parametrize("status", [401, 403, 413, 500, 503])
def test_another_status_does_not(status: int) -> None:
    assert converse_with(Reply(status, None, b"response_format"))[:2] == ("model_failed", 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "usage", "error", "refusal", "model"]), inner
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_response_body_breaks_the_reader(document: Any) -> None:
    try:
        answer = read_completion(json.dumps(document).encode(), select_response_schema(), "none")
    except Refusal:
        return
    assert isinstance(answer["tool_id"], str)


@given(st.binary(max_size=40))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    with pytest.raises(Refusal):
        read_completion(data, select_response_schema(), "json_schema")
