"""Fake Anthropic Messages API, streamed, as Claude Code speaks it."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from tests.support.models.cli_server import CliModelServer
from tests.support.models.fake_server import Handler
from tests.support.models.streaming import EventStream

ERRORS = {
    "http400": (400, "invalid_request_error", "Invalid request (fake)."),
    "http400_credit": (400, "invalid_request_error", "Your credit balance is too low (fake)."),
    "http401": (401, "authentication_error", "invalid x-api-key"),
    "http403": (403, "permission_error", "No permission (fake)."),
    "http404_model": (404, "not_found_error", "model: {model}"),
    "http413": (413, "request_too_large", "Request exceeds the maximum size"),
    "http429": (429, "rate_limit_error", "This request would exceed your rate limit (fake)."),
    "http500": (500, "api_error", "Internal server error"),
    "http529": (529, "overloaded_error", "Overloaded"),
}
SCENARIOS = {
    "ok": "the answer, through the client's own tool",
    "text": "the answer as text",
    "thinking": "thinking, then the answer",
    "preamble": "a text beside the answer",
    "hang": "message_start, then silence",
    "blackhole": "silence",
    "tool_bash": "asks for Bash",
    "bad_json": "text that is no JSON",
    "wrong_schema": "an answer of the wrong shape",
    "refusal": "stop_reason refusal",
    "max_tokens": "stop_reason max_tokens",
    "empty": "no content",
    "cut_once": "dropped at the first try, then ok",
    "http500_once": "500 at the first try, then ok",
    **{name: f"status {error[0]}" for name, error in ERRORS.items()},
}
USAGE = {"prompt_tokens": 1534, "completion_tokens": 57, "cached_tokens": 1024}
_USAGE = {
    "input_tokens": 210,
    "cache_creation_input_tokens": 300,
    "cache_read_input_tokens": 1024,
    "output_tokens": 57,
}


class FakeAnthropic(CliModelServer):
    """The Messages API."""

    scenarios: ClassVar[dict[str, str]] = SCENARIOS
    errors = tuple(ERRORS)

    def serves(self, path: str) -> bool:
        return path.startswith("/v1/messages")

    def not_found(self, handler: Handler) -> None:
        error = {"type": "not_found_error", "message": "not found (fake)"}
        handler.send_json(404, {"type": "error", "error": error})

    def authorised(self, handler: Handler) -> bool:
        bearer = handler.headers.get("Authorization", "").removeprefix("Bearer ")
        return bool(handler.headers.get("x-api-key", bearer) == self.key)

    def error(self, handler: Handler, name: str, body: dict[str, Any]) -> None:
        status, kind, message = ERRORS[name]
        error = {"type": kind, "message": message.format(model=body.get("model"))}
        headers = {"retry-after": "1"} if name == "http429" else {}
        handler.send_json(status, {"type": "error", "error": error, "request_id": "req_fake"}, headers)

    def blocks(self, scenario: str) -> tuple[list[dict[str, Any]], str]:
        """Content and stop reason of a message."""
        if scenario in ("refusal", "empty"):
            return [], "refusal" if scenario == "refusal" else "end_turn"
        if scenario == "tool_bash":
            call = {"command": "touch tool_was_here", "description": "fake"}
            return [{"type": "tool_use", "id": "toolu_b", "name": "Bash", "input": call}], "tool_use"
        text = json.dumps(self.answer)
        if scenario in ("text", "bad_json", "max_tokens"):
            said = {"text": text, "bad_json": "Sure!", "max_tokens": text[:9]}[scenario]
            return [{"type": "text", "text": said}], "max_tokens" if scenario == "max_tokens" else "end_turn"
        answer = {"unexpected": 1} if scenario == "wrong_schema" else self.answer
        answered = {"type": "tool_use", "id": "toolu_a", "name": "StructuredOutput", "input": answer}
        before: dict[str, list[dict[str, Any]]] = {
            "thinking": [{"type": "thinking", "thinking": "hm", "signature": "ZmFrZQ=="}],
            "preamble": [{"type": "text", "text": "Let me answer."}],
        }
        return [*before.get(scenario, []), answered], "tool_use"

    def message(self, handler: Handler, scenario: str, body: dict[str, Any]) -> None:
        blocks, stop = self.blocks(scenario)
        message = {
            "id": f"msg_fake_{self.bump('message')}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": blocks,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": _USAGE,
        }
        if not body.get("stream"):
            return handler.send_json(200, message)
        stream = EventStream(handler)
        stream.send("message_start", message=message | {"content": [], "stop_reason": None})
        if scenario == "hang":
            handler.wait(120)
        for index, block in enumerate(blocks):
            start, delta = _pieces(block)
            stream.send("content_block_start", index=index, content_block=start)
            stream.send("content_block_delta", index=index, delta=delta)
            if scenario == "cut":
                return handler.cut()
            stream.send("content_block_stop", index=index)
        stream.send("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=_USAGE)
        stream.send("message_stop")
        stream.end()


def _pieces(block: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """An empty block and the delta that fills it."""
    if block["type"] == "text":
        return block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
    if block["type"] == "thinking":
        return block | {"thinking": ""}, {"type": "thinking_delta", "thinking": block["thinking"]}
    return block | {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
