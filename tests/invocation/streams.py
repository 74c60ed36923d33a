"""A fake model server that streams: answers as the mock does, or goes wrong on request."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from discovercall.invocation.cases import load_cases, load_mock_answers
from discovercall.invocation.runtime.chat import (
    Finish,
    ReasoningDelta,
    StreamItem,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from discovercall.invocation.runtime.mock import role_of
from discovercall.invocation.runtime.modes import ModeName
from tests.support.models.fake_server import FakeServer, Handler

KEY = "planted-Key/0123456789+abcdef"
BEARER = "planted-bearer-token-98765"
SHAPED = "sk-proj-Planted0123456789abcdefghij"
QUERY = "planted-query-value-4321"
SECRETS = (KEY, BEARER, SHAPED, QUERY)
LEAKY = (
    f"Incorrect API key provided: {KEY}. Sent as 'Authorization: Bearer {BEARER}', also seen {SHAPED} and"
    f" https://example.org/v1?api_key={QUERY}&access_token={QUERY}."
)
"""An error message as careless servers write it."""

Where = tuple[str | None, str | None]
"""Case and mode; None stands for all."""

HTTP = {"http400": 400, "http401": 401, "http403": 403, "http404": 404, "http429": 429, "http500": 500}
CODES = {"http401": "invalid_api_key", "http429": "rate_limit_exceeded"}

SCENARIOS = {
    "ok": "streams the answer",
    "bytewise": "the same, every byte a chunk of its own",
    "crlf": "lines end with CR LF, events come in several data lines' worth of white space",
    "comments": "keep-alive comments before and between events, and other fields",
    "no_usage": "usage missing",
    "usage_null": "usage null, and odd",
    "no_done": "[DONE] missing, finish reason there",
    "no_index": "tool calls without index, id and name repeated",
    "role_first": "an empty role chunk first, then a wait",
    "odd_header": "a content type with another charset",
    "no_end": "[DONE] and finish reason missing",
    "reset": "connection reset in mid-stream",
    "closed": "connection closed in mid-stream",
    "hang": "one piece of text, then silence",
    "headers_hang": "status and headers, then silence",
    "blackhole": "no answer at all",
    "bad_json": "a chunk that is no JSON",
    "json_list": "a chunk that is no object",
    "html": "200 with a page",
    "error_in_200": "200 with an error as JSON",
    "error_in_stream": "an error event in mid-stream",
    "gzip": "claims to be compressed",
    "redirect": "307 to another path",
    "endless": "a line without end",
    "refusal": "a refusal and no text",
    "length": "stopped at the most tokens",
    "long_error": "500 with a body that is cut off inside of a secret",
    "text_error": "502 with a body that is no JSON",
    **{name: f"status {status} with a careless message" for name, status in HTTP.items()},
}


class StreamServer(FakeServer):
    """Args:
    faults: scenario by case and mode; what is not named gets `scenario`.
    script: items that every request is answered with, instead of those of the mock.
    """

    scenarios: ClassVar[dict[str, str]] = SCENARIOS

    def __init__(
        self,
        scenario: str = "ok",
        *,
        faults: dict[Where, str] | None = None,
        script: Iterable[StreamItem] | None = None,
        key: str | None = KEY,
    ) -> None:
        super().__init__(scenario, key)
        self.faults = faults or {}
        self.script = None if script is None else list(script)
        self.answers = load_mock_answers()
        self.inputs = {case.input: case.id for case in load_cases().cases}

    def url(self, scenario: str | None = None) -> str:
        """Base URL, with a scenario forced where one is given."""
        return f"{self.origin}/s/{scenario}/v1" if scenario else f"{self.origin}/v1"

    def answer_request(self, handler: Handler, path: str, scenario: str, body: Any) -> None:
        if path != "/v1/chat/completions" or not body.get("stream"):
            return handler.send_json(404, {"error": {"message": "unknown request (fake)"}})
        if self.key is not None and handler.headers.get("Authorization") != f"Bearer {self.key}":
            return handler.send_json(401, {"error": {"message": LEAKY, "code": "invalid_api_key"}})
        case, mode = self._asked(body)
        for where in ((case, mode), (case, None), (None, mode)):
            scenario = self.faults.get(where, scenario)
        if scenario in HTTP:
            error = {"message": LEAKY, "type": "fake", "code": CODES.get(scenario, f"fake_{HTTP[scenario]}")}
            return handler.send_json(HTTP[scenario], {"error": error})
        trouble: Callable[[Handler, dict[str, Any]], None] | None = getattr(self, f"_{scenario}", None)
        if trouble is not None:
            return trouble(handler, body)
        stream = _Stream(handler, scenario)
        stream.open()
        for chunk in self._chunks(scenario, body):
            stream.event(chunk)
        if scenario not in ("no_done", "no_end"):
            stream.event("[DONE]")
        stream.close()

    def _asked(self, body: dict[str, Any]) -> tuple[str | None, str]:
        texts = [message["content"] for message in body["messages"] if message["role"] == "user"]
        case = next((self.inputs[text] for text in texts if text in self.inputs), None)
        return case, (ModeName.CHAT_AGENT_TOOLS if body.get("tools") else ModeName.DUAL_AGENT).value

    def _items(self, body: dict[str, Any]) -> list[StreamItem]:
        if self.script is not None:
            return self.script
        case, mode = self._asked(body)
        return list(self.answers[str(case), ModeName(mode)].script[role_of(body["messages"])])

    def _chunks(self, scenario: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        chunks = [self._chunk(item, scenario) for item in self._items(body)]
        if scenario == "role_first":
            chunks.insert(0, _choice({"role": "assistant", "content": ""}))
        if scenario == "no_end":
            chunks = [c for c in chunks if not (c["choices"] and c["choices"][0]["finish_reason"])]
        if scenario in ("no_usage", "no_end"):
            chunks = [c for c in chunks if c["choices"]]
        return chunks

    def _chunk(self, item: StreamItem, scenario: str) -> dict[str, Any]:
        match item:
            case TextDelta(text):
                return _choice({"content": text})
            case ReasoningDelta():
                return _choice({"reasoning_content": "hm"})
            case ToolCallDelta(index, call_id, name, arguments):
                if scenario == "no_index":
                    function = {"name": name or "", "arguments": arguments}
                    return _choice({"tool_calls": [{"id": call_id, "function": function}]})
                call = {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
                return _choice({"tool_calls": [call]})
            case Finish(reason):
                return _choice({}, "length" if scenario == "length" else reason)
            case Usage():
                told = {
                    "prompt_tokens": item.prompt,
                    "completion_tokens": item.completion,
                    "total_tokens": item.total,
                    "prompt_tokens_details": {"cached_tokens": item.cached},
                }
                odd = {"prompt_tokens": "many", "completion_tokens": -1, "prompt_tokens_details": []}
                return {"choices": [], "usage": odd if scenario == "usage_null" else told}

    def _begin(self, handler: Handler) -> _Stream:
        stream = _Stream(handler, "ok")
        stream.open()
        stream.event(_choice({"content": "Hello, "}))
        return stream

    def _reset(self, handler: Handler, body: dict[str, Any]) -> None:
        self._begin(handler)
        handler.wait(0.05)
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.close_connection = True
        handler.rfile.close()
        handler.wfile.close()
        handler.connection.close()

    def _closed(self, handler: Handler, body: dict[str, Any]) -> None:
        self._begin(handler)
        handler.cut()

    def _hang(self, handler: Handler, body: dict[str, Any]) -> None:
        self._begin(handler)
        handler.wait(120)

    def _headers_hang(self, handler: Handler, body: dict[str, Any]) -> None:
        _Stream(handler, "ok").open()
        handler.wait(120)

    def _blackhole(self, handler: Handler, body: dict[str, Any]) -> None:
        handler.wait(120)

    def _bad_json(self, handler: Handler, body: dict[str, Any]) -> None:
        stream = self._begin(handler)
        stream.event('{"choices": [' + LEAKY)
        stream.close()

    def _json_list(self, handler: Handler, body: dict[str, Any]) -> None:
        stream = self._begin(handler)
        stream.event("[1]")
        stream.close()

    def _html(self, handler: Handler, body: dict[str, Any]) -> None:
        page = f"<!doctype html><p>{LEAKY}</p>".encode()
        handler.send_bytes(200, page, {"Content-Type": "text/html"})

    def _error_in_200(self, handler: Handler, body: dict[str, Any]) -> None:
        handler.send_json(200, {"error": {"code": 502, "message": LEAKY}})

    def _error_in_stream(self, handler: Handler, body: dict[str, Any]) -> None:
        stream = self._begin(handler)
        stream.event({"error": {"code": 429, "message": LEAKY}})
        stream.close()

    def _gzip(self, handler: Handler, body: dict[str, Any]) -> None:
        handler.send_bytes(
            200, b"\x1f\x8b", {"Content-Encoding": "gzip", "Content-Type": "text/event-stream"}
        )

    def _redirect(self, handler: Handler, body: dict[str, Any]) -> None:
        handler.send_json(307, {}, {"Location": f"{self.origin}/v1/chat/completions?key={KEY}"})

    def _endless(self, handler: Handler, body: dict[str, Any]) -> None:
        stream = self._begin(handler)
        stream.raw(b"data: ")
        for _ in range(40):
            stream.raw(b"x" * 2**19)

    def _refusal(self, handler: Handler, body: dict[str, Any]) -> None:
        stream = _Stream(handler, "ok")
        stream.open()
        stream.event(_choice({"refusal": "I can't."}))
        stream.event(_choice({}, "stop"))
        stream.event("[DONE]")
        stream.close()

    def _long_error(self, handler: Handler, body: dict[str, Any]) -> None:
        # The client reads 64 KiB: the key is cut in the middle.
        start = b'{"error": {"message": "'
        filler = b"x" * (64 * 2**10 - len(start) - len(KEY) // 2)
        handler.send_bytes(500, start + filler + KEY.encode() + b'"}}')

    def _text_error(self, handler: Handler, body: dict[str, Any]) -> None:
        handler.send_bytes(502, LEAKY.encode(), {"Content-Type": "text/plain"})


class _Stream:
    def __init__(self, handler: Handler, scenario: str) -> None:
        self._handler = handler
        self._scenario = scenario

    def open(self) -> None:
        charset = "; charset=latin-1" if self._scenario == "odd_header" else ""
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", f"text/event-stream{charset}")
        self._handler.send_header("Transfer-Encoding", "chunked")
        self._handler.end_headers()

    def event(self, value: Any) -> None:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        end = "\r\n" if self._scenario == "crlf" else "\n"
        before = ""
        if self._scenario == "comments":
            before = f": keep-alive{end}{end}event: message{end}id: 7{end}retry: 10{end}: and another{end}"
        data = f"{before}data: {text}{end}{end}".encode()
        if self._scenario == "bytewise":
            for byte in data:
                self.raw(bytes([byte]))
        else:
            self.raw(data)
        if self._scenario == "role_first":
            self._handler.wait(0.05)

    def raw(self, data: bytes) -> None:
        self._handler.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def close(self) -> None:
        self._handler.write(b"0\r\n\r\n")


def _choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": None}
