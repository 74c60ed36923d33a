"""Fake OpenAI server: /v1/chat/completions, not streamed."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from tests.support.models.fake_server import FakeServer, Handler

USAGE = {"prompt_tokens": 1234, "completion_tokens": 57, "cached_tokens": 1024}
REFUSAL = "I'm sorry, but I can't help with that request."

ERRORS: dict[str, tuple[int, str, str | None, str | None, str]] = {
    "http400": (400, "invalid_request_error", None, None, "Invalid request (fake)."),
    "http400_schema": (
        400,
        "invalid_request_error",
        "response_format",
        "invalid_json_schema",
        "Invalid schema for response_format 'answer' (fake).",
    ),
    "http401": (401, "invalid_request_error", None, "invalid_api_key", "Incorrect API key: {key} (fake)"),
    "http403": (403, "invalid_request_error", None, "unsupported_country", "Region not supported (fake)"),
    "http404_model": (404, "invalid_request_error", "model", "model_not_found", "No model `{model}`."),
    "http400_model": (400, "invalid_request_error", "model", None, "'{model}' is not supported."),
    "http429": (429, "requests", None, "rate_limit_exceeded", "Rate limit reached. Try again in 1s."),
    "http429_quota": (429, "insufficient_quota", None, "insufficient_quota", "You exceeded your quota."),
    "http500": (500, "server_error", None, None, "The server had an error (fake)."),
    "http503": (503, "server_error", None, "server_is_overloaded", "Overloaded (fake)."),
}

SCENARIOS = {
    "ok": "the answer",
    "slow": "the answer after slow_s seconds",
    "hang": "silence",
    "headers_hang": "status and headers, then silence",
    "drip": "a body that never ends, a byte at a time",
    "tool_call": "a call of a tool that nobody offered",
    "tool_call_legacy": "the same as the old function_call",
    "bad_json": "text that is no JSON",
    "json_list": "JSON that is no object",
    "fenced_json": "the answer in a ```json fence",
    "wrong_schema": "JSON of the wrong shape",
    "empty": "empty text",
    "null_content": "no text at all",
    "refusal": "a refusal",
    "incomplete": "cut off at the most tokens",
    "content_filter": "ended by the content filter",
    "cut": "the connection dropped instead of an answer",
    "cut_once": "dropped at the first try, then ok",
    "cut_body": "the connection dropped in the middle of the body",
    "no_usage": "an answer without usage",
    "odd_usage": "usage of the wrong types",
    "huge": "a body of 9 MiB",
    "gzip": "a body that claims to be compressed",
    "html": "200 with a page that is no JSON",
    "no_choices": "200 with an empty list of choices",
    "error_in_200": "200 with an error of the provider behind a router",
    "rate_in_200": "200 with such an error that is a rate limit",
    "redirect": "307 to another path of this server",
    "bad_redirect": "302 to what is no address",
    "http500_once": "500 at the first try, then ok",
    "http429_once": "429 at the first try, then ok",
    "no_json_schema": "400 that names response_format for json_schema",
    "no_response_format": "422 that names response_format for anything but its absence",
    **{name: f"status {error[0]}" for name, error in ERRORS.items()},
}


class FakeOpenAI(FakeServer):
    """Args:
    scenario: what requests get that name none.
    key: what they have to authorise with; 401 otherwise.
    answer: the JSON value that the model answers with, or a function of the request's body that gives it.
    retry_after: the header beside a 429; None leaves it out.
    slow_s: seconds that the scenario `slow` takes.
    """

    scenarios: ClassVar[dict[str, str]] = SCENARIOS

    def __init__(
        self,
        scenario: str = "ok",
        key: str | None = None,
        answer: Any = None,
        retry_after: str | None = "1",
        slow_s: float = 0.5,
    ) -> None:
        super().__init__(scenario, key)
        self.answer = {"tool_id": "weather.now"} if answer is None else answer
        self.retry_after = retry_after
        self.slow_s = slow_s

    def url(self, scenario: str | None = None) -> str:
        """Base URL, with a scenario forced where one is given."""
        return f"{self.origin}/s/{scenario}/v1" if scenario else f"{self.origin}/v1"

    def answer_request(self, handler: Handler, path: str, scenario: str, body: Any) -> None:
        if path != "/v1/chat/completions" or handler.command != "POST" or not isinstance(body, dict):
            return handler.send_json(404, {"error": {"message": "Unknown request URL (fake)", "code": None}})
        if self.key is not None and handler.headers.get("Authorization") != f"Bearer {self.key}":
            return self.error(handler, "http401", body)
        if scenario.endswith("_once"):
            scenario = scenario.removesuffix("_once") if self.bump(scenario) == 1 else "ok"
        if scenario in ERRORS:
            return self.error(handler, scenario, body)
        wanted = (body.get("response_format") or {}).get("type")
        if scenario == "no_json_schema" and wanted == "json_schema":
            return self.error(handler, "http400_schema", body)
        if scenario == "no_response_format" and wanted:
            detail = [{"type": "literal_error", "loc": ["body", "response_format", "type"]}]
            return handler.send_json(422, {"detail": detail})
        trouble = getattr(self, f"_{scenario}", None)
        if trouble is not None:
            trouble(handler, body)
        else:
            handler.send_json(200, self.completion(scenario, body), {"x-request-id": "req_fake"})

    def error(self, handler: Handler, name: str, body: dict[str, Any]) -> None:
        status, kind, parameter, code, message = ERRORS[name]
        key = handler.headers.get("Authorization", "").removeprefix("Bearer ")
        text = message.format(model=body.get("model"), key=key)
        headers = {"Retry-After": self.retry_after} if name == "http429" and self.retry_after else {}
        error = {"message": text, "type": kind, "param": parameter, "code": code}
        handler.send_json(status, {"error": error}, headers)

    def completion(self, scenario: str, body: dict[str, Any]) -> dict[str, Any]:
        good = json.dumps(self.answer(body) if callable(self.answer) else self.answer)
        text = {
            "bad_json": "Sure! I would take the weather tool.",
            "json_list": "[1]",
            "fenced_json": f"```json\n{good}\n```",
            "wrong_schema": '{"unexpected": 1}',
            "empty": "",
            "incomplete": good[: len(good) // 2],
        }.get(scenario, good)
        message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
        finish = {"incomplete": "length", "content_filter": "content_filter"}.get(scenario, "stop")
        call = {"name": "no_such_tool", "arguments": "{}"}
        if scenario == "tool_call":
            message |= {"content": None, "tool_calls": [{"id": "c1", "type": "function", "function": call}]}
            finish = "tool_calls"
        elif scenario == "tool_call_legacy":
            message |= {"content": None, "function_call": call}
        elif scenario == "refusal":
            message |= {"content": None, "refusal": REFUSAL}
        elif scenario == "null_content":
            message["content"] = None
        usage: dict[str, Any] = {
            "prompt_tokens": USAGE["prompt_tokens"],
            "completion_tokens": USAGE["completion_tokens"],
            "total_tokens": USAGE["prompt_tokens"] + USAGE["completion_tokens"],
            "prompt_tokens_details": {"cached_tokens": USAGE["cached_tokens"], "audio_tokens": 0},
        }
        if scenario == "odd_usage":
            usage |= {"prompt_tokens": "many", "completion_tokens": -1, "prompt_tokens_details": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        completion = {"id": "c", "object": "chat.completion", "model": body["model"], "choices": [choice]}
        return completion if scenario == "no_usage" else completion | {"usage": usage}

    def _slow(self, handler: Handler, body: dict[str, Any]) -> None:
        handler.wait(self.slow_s)
        handler.send_json(200, self.completion("ok", body))

    def _hang(self, handler: Handler, body: dict[str, Any]) -> None:
        handler.wait(120)

    def _headers_hang(self, handler: Handler, body: dict[str, Any]) -> None:
        self._open(handler, 1000)
        handler.wait(120)

    def _drip(self, handler: Handler, body: dict[str, Any]) -> None:
        self._open(handler, 10**6)
        while True:
            handler.write(b" ")
            handler.wait(0.05)

    def _cut(self, handler: Handler, body: dict[str, Any]) -> None:
        handler.cut()

    def _cut_body(self, handler: Handler, body: dict[str, Any]) -> None:
        self._open(handler, 1000)
        handler.write(b'{"choices": [')
        handler.cut()

    def _open(self, handler: Handler, length: int) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(length))
        handler.end_headers()

    def _huge(self, handler: Handler, body: dict[str, Any]) -> None:
        handler.send_bytes(200, b" " * (9 * 2**20) + json.dumps(self.completion("ok", body)).encode())

    def _gzip(self, handler: Handler, body: dict[str, Any]) -> None:
        handler.send_bytes(200, b"\x1f\x8b", {"Content-Encoding": "gzip"})

    def _html(self, handler: Handler, body: dict[str, Any]) -> None:
        handler.send_bytes(200, b"<!doctype html><title>Please sign in</title>")

    def _no_choices(self, handler: Handler, body: dict[str, Any]) -> None:
        handler.send_json(200, {"choices": []})

    def _error_in_200(self, handler: Handler, body: dict[str, Any]) -> None:
        handler.send_json(200, {"error": {"code": 502, "message": "Provider returned error"}})

    def _rate_in_200(self, handler: Handler, body: dict[str, Any]) -> None:
        handler.send_json(200, {"error": {"code": 429, "message": "Provider is busy"}})

    def _redirect(self, handler: Handler, body: dict[str, Any]) -> None:
        handler.send_json(307, {}, {"Location": "/v1/chat/completions"})

    def _bad_redirect(self, handler: Handler, body: dict[str, Any]) -> None:
        handler.send_json(302, {}, {"Location": "http://[::1"})
