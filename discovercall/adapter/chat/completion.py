"""A chat completion: the request body for a decision, and the decision in a response body. No I/O."""

from __future__ import annotations

import re
from typing import Any

from discovercall.adapter.answers import fits_schema
from discovercall.adapter.authoring import Refusal
from discovercall.adapter.chat.settings import ChatSettings
from discovercall.foundation.ecma_json import JsonError, decode, loads
from discovercall.foundation.ecmascript import is_safe, trim
from discovercall.foundation.json_text import compact_bytes
from discovercall.foundation.token_usage import USAGE_FIELDS, chat_usage

_SCHEMA_NAME = "answer"
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)```", re.DOTALL | re.IGNORECASE)


def request_body(request: dict[str, Any], settings: ChatSettings, mode: str) -> bytes:
    """The body of a completion request: messages and schema as the harness gave them.

    Args:
        request: a request of the adapter protocol.
        settings: how the model is asked.
        mode: one of `settings.FALLBACKS`.
    """
    body = {"model": settings.model or request["model"], "messages": request["messages"]}
    if mode == "json_schema":
        spec = {"name": _SCHEMA_NAME, "strict": True, "schema": request["response_schema"]}
        body["response_format"] = {"type": mode, "json_schema": spec}
    elif mode == "json_object":
        body["response_format"] = {"type": mode}
    return compact_bytes(body | settings.parameters)


def read_completion(data: bytes, schema: dict[str, Any], mode: str) -> dict[str, Any]:
    """The adapter's answer in a completion.

    Args:
        data: the body of a response with status 200.
        schema: the request's response schema.
        mode: how the model was asked.

    Returns:
        The model's answer, with `usage` where the server counted, and with a `note` that says how the model
        was asked (`response_format`) and which model answered (`model`, where the server says so).

    Raises:
        Refusal: `refused`, `tool_use_rejected`, `output_limit`, `invalid_output`; `model_failed` or
            `rate_limited` where the response is no completion.
    """
    completion = _parse(data)
    answer = _answer(_text(completion), mode)
    if not fits_schema(answer, schema):
        raise Refusal("invalid_output", "the answer does not fit the response schema")
    reported = completion.get("usage")
    usage = chat_usage(reported, USAGE_FIELDS) if isinstance(reported, dict) else {}
    note = {"response_format": mode}
    if is_safe(completion.get("model")):
        note["model"] = completion["model"]
    return answer | ({"usage": usage} if usage else {}) | {"note": note}


def _parse(data: bytes) -> dict[str, Any]:
    try:
        completion = decode(data)
    except JsonError:
        raise Refusal("model_failed", "the server's response is no JSON") from None
    if not isinstance(completion, dict):
        raise Refusal("model_failed", "the server's response is no JSON object")
    error = completion.get("error")
    if error:  # routers report a provider's failure so, with status 200
        limited = isinstance(error, dict) and error.get("code") in (429, "429", "rate_limit_exceeded")
        raise Refusal("rate_limited" if limited else "model_failed", "the server reports an error")
    return completion


def _text(completion: dict[str, Any]) -> str:
    choices = completion.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise Refusal("model_failed", "the server's response holds no message")
    finish = choice.get("finish_reason")
    if message.get("refusal") or finish == "content_filter":
        raise Refusal("refused")
    called = message.get("tool_calls") or message.get("function_call")
    if called or finish in ("tool_calls", "function_call"):
        raise Refusal("tool_use_rejected")
    if finish == "length":
        raise Refusal("output_limit", "the answer was cut off at the most tokens")
    if finish == "error" or choice.get("error"):
        raise Refusal("model_failed", "the server reports an error")
    content = message.get("content")
    if not isinstance(content, str):
        raise Refusal("invalid_output", "the message has no text")
    return content


def _answer(text: str, mode: str) -> dict[str, Any]:
    text = trim(text)
    fenced = _FENCED.fullmatch(text) if mode == "none" else None
    try:
        answer = loads(fenced.group(1) if fenced else text)
    except JsonError:
        raise Refusal("invalid_output", "the answer is no JSON") from None
    if not isinstance(answer, dict):
        raise Refusal("invalid_output", "the answer is no JSON object")
    return answer
