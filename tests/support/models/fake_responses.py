"""Fake OpenAI Responses API, streamed, as Codex CLI speaks it."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from tests.support.models.cli_server import CliModelServer
from tests.support.models.fake_openai import ERRORS
from tests.support.models.fake_server import Handler
from tests.support.models.streaming import EventStream

SCENARIOS = {
    "ok": "the answer",
    "reasoning": "a summary of reasoning, then the answer",
    "preamble": "a commentary, then the answer",
    "hang": "response.created, then silence",
    "blackhole": "silence",
    "tool_shell": "asks for a shell command",
    "tool_unknown": "asks for a tool that nobody offered",
    "bad_json": "text that is no JSON",
    "fenced_json": "the answer in a ```json fence",
    "wrong_schema": "JSON of the wrong shape",
    "empty": "no output at all",
    "refusal": "a refusal",
    "incomplete": "cut off at the most tokens",
    "content_filter": "ended by the content filter",
    "failed": "response.failed, server_error",
    "failed_rate": "response.failed, rate_limit_exceeded",
    "cut": "the connection dropped in mid stream, always",
    "cut_once": "dropped at the first try, then ok",
    "no_usage": "no usage",
    "http500_once": "500 at the first try, then ok",
    **{name: f"status {error[0]}" for name, error in ERRORS.items()},
}
USAGE = {"prompt_tokens": 1234, "completion_tokens": 57, "cached_tokens": 1024}
_USAGE = {
    "input_tokens": 1234,
    "input_tokens_details": {"cached_tokens": 1024},
    "output_tokens": 57,
    "output_tokens_details": {"reasoning_tokens": 21},
    "total_tokens": 1291,
}
_CALLS = {
    "tool_shell": ("exec_command", {"cmd": "touch tool_was_here"}),
    "tool_unknown": ("no_such_tool", {}),
}


class FakeResponses(CliModelServer):
    """The Responses API."""

    scenarios: ClassVar[dict[str, str]] = SCENARIOS
    errors = tuple(ERRORS)
    suffix = "/v1"

    def serves(self, path: str) -> bool:
        return path == "/v1/responses"

    def not_found(self, handler: Handler) -> None:
        handler.send_json(404, {"error": {"message": "Unknown request URL (fake)", "code": None}})

    def authorised(self, handler: Handler) -> bool:
        return handler.headers.get("Authorization") == f"Bearer {self.key}"

    def error(self, handler: Handler, name: str, body: dict[str, Any]) -> None:
        status, kind, parameter, code, message = ERRORS[name]
        key = handler.headers.get("Authorization", "").removeprefix("Bearer ")
        text = message.format(model=body.get("model"), key=key)
        headers = {"Retry-After": "1"} if name == "http429" else {}
        error = {"message": text, "type": kind, "param": parameter, "code": code}
        handler.send_json(status, {"error": error}, headers)

    def items(self, scenario: str) -> list[dict[str, Any]]:
        """The output items of a response."""
        if scenario in _CALLS:
            name, arguments = _CALLS[scenario]
            text = json.dumps(arguments)
            return [{"type": "function_call", "id": "fc", "call_id": "c", "name": name, "arguments": text}]
        if scenario == "empty":
            return []
        good = json.dumps(self.answer)
        text = {
            "bad_json": "Sure!",
            "fenced_json": f"```json\n{good}\n```",
            "wrong_schema": '{"unexpected": 1}',
        }.get(scenario, good)
        part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
        if scenario == "refusal":
            part = {"type": "refusal", "refusal": "I'm sorry, but I can't help with that request."}
        found = []
        if scenario == "reasoning":
            summary = [{"type": "summary_text", "text": "**Thinking**"}]
            found.append(
                {"type": "reasoning", "id": "rs", "summary": summary, "encrypted_content": "ZmFrZQ=="}
            )
        if scenario == "preamble":
            comment = {"type": "output_text", "text": "Let me think.", "annotations": []}
            found.append(_message("m0", comment) | {"phase": "commentary"})
        return [*found, _message("m1", part)]

    def message(self, handler: Handler, scenario: str, body: dict[str, Any]) -> None:
        stream = EventStream(handler)
        base = {"id": "resp", "object": "response", "model": body["model"], "output": [], "usage": None}
        stream.send("response.created", response=base | {"status": "in_progress"})
        if scenario == "hang":
            handler.wait(120)
        if scenario.startswith("failed"):
            code = "rate_limit_exceeded" if scenario == "failed_rate" else "server_error"
            error = {"code": code, "message": "Slow down (fake)."}
            stream.send("response.failed", response=base | {"status": "failed", "error": error})
            return stream.end()
        items = self.items(scenario)
        for index, item in enumerate(items):
            _send_item(stream, index, item)
            if scenario == "cut":
                return handler.cut()
        if scenario in ("incomplete", "content_filter"):
            reason = "max_output_tokens" if scenario == "incomplete" else "content_filter"
            done: dict[str, Any] = {
                "status": "incomplete",
                "incomplete_details": {"reason": reason},
                "usage": _USAGE,
            }
            stream.send("response.incomplete", response=base | done)
        else:
            usage = None if scenario == "no_usage" else _USAGE
            done = {"status": "completed", "output": items, "usage": usage}
            stream.send("response.completed", response=base | done)
        stream.end()


def _message(name: str, part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "id": name, "role": "assistant", "status": "completed", "content": [part]}


def _send_item(stream: EventStream, index: int, item: dict[str, Any]) -> None:
    stream.send("response.output_item.added", output_index=index, item=item | {"status": "in_progress"})
    for part in item.get("content", ()):
        place = {"item_id": item["id"], "output_index": index, "content_index": 0}
        if part["type"] == "refusal":
            stream.send("response.refusal.delta", **place, delta=part["refusal"])
            stream.send("response.refusal.done", **place, refusal=part["refusal"])
        else:
            stream.send("response.output_text.delta", **place, delta=part["text"])
            stream.send("response.output_text.done", **place, text=part["text"])
    stream.send("response.output_item.done", output_index=index, item=item)
