"""Claude Code: how it is asked without tools, and how its events are judged."""

from __future__ import annotations

from typing import Any

from discovercall.adapter.authoring import Refusal
from discovercall.adapter.clis.decision import Question, Reply
from discovercall.adapter.clis.scratch import Scratch
from discovercall.foundation.ecma_json import JsonError, decode
from discovercall.foundation.json_text import compact

ANSWER_TOOL = "StructuredOutput"
"""The tool through which the client itself collects an answer that has a schema."""

_TURNS_OF_AN_ANSWER = 2  # the client counts the collected answer as a turn of its own
_VARIABLES = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    # A task or a catalog's text that says @path would have that file sent to the model.
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    # No second question after a refusal, and no other model in the place of the one that is asked.
    "CLAUDE_CODE_DISABLE_REFUSAL_RETRY": "1",
    "CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK": "1",
    "CLAUDE_CODE_DISABLE_MODEL_ACCESS_FALLBACK": "1",
    "CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "DISABLE_AUTOUPDATER": "1",
}


class ClaudeTurn:
    """One question to `claude --print`."""

    def __init__(self, question: Question, scratch: Scratch) -> None:
        self._question = question
        self._system = scratch.write("system.txt", question.system)
        self._result: dict[str, Any] | None = None
        self._events = 0
        self._asked_again = False
        self._error: object = None

    def arguments(self) -> list[str]:
        """Of the program; every one is known to the tested versions. No text of the request is among them."""
        fixed = (
            "--print --verbose --input-format stream-json --output-format stream-json --max-turns 1"
            " --safe-mode --no-session-persistence --permission-mode dontAsk"
        )
        return [
            *fixed.split(),
            *("--model", self._question.model, "--effort", self._question.options.effort),
            *("--system-prompt-file", str(self._system), "--tools", ""),
        ]

    def variables(self) -> dict[str, str]:
        """Further variables."""
        base_url = self._question.options.base_url
        return _VARIABLES | ({"ANTHROPIC_BASE_URL": base_url} if base_url else {})

    def payload(self) -> bytes:
        """The schema, then the user message, as the client's own input events: no limit of length."""
        start = {"subtype": "initialize", "jsonSchema": self._question.schema}
        control = {"type": "control_request", "request_id": "1", "request": start}
        message = {"role": "user", "content": self._question.user}
        user = {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": ""}
        lines = compact(control) + "\n" + compact(user) + "\n"
        # Line ends to some readers of lines; in JSON they only occur within strings.
        lines = lines.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
        return lines.encode("utf-8")

    def on_stdout(self, line: bytes) -> None:
        """Take in one event."""
        try:
            event = decode(line)
        except JsonError:
            event = None
        if not isinstance(event, dict):
            raise Refusal("invalid_events", "claude wrote a line that is no JSON object")
        self._events += 1
        kind = event.get("type")
        if kind == "assistant":
            self._on_assistant(event)
        elif kind == "user":
            self._on_user(event)
        elif kind == "result":
            self._result = event
        elif kind == "control_response":
            response = event.get("response")
            if not isinstance(response, dict) or response.get("subtype") != "success":
                raise Refusal("cli_failed", "claude refuses the schema")

    def on_stderr(self, line: bytes) -> None:
        """Nothing there is needed."""

    def _on_assistant(self, event: dict[str, Any]) -> None:
        self._error = event.get("error")
        for block in _blocks(event):
            kind = str(block.get("type"))
            if kind.endswith("tool_use") and (kind, block.get("name")) != ("tool_use", ANSWER_TOOL):
                raise Refusal("tool_use_rejected", "the model called a tool")

    def _on_user(self, event: dict[str, Any]) -> None:
        # The client speaks in the user's place only to ask once more.
        self._asked_again |= any(block.get("type") != "tool_result" for block in _blocks(event))

    def reply(self, status: int) -> Reply:
        """Judge the run. A failed request has the subtype `success` too, so `is_error` is what counts.

        Raises:
            Refusal: no usable answer.
        """
        result = self._result
        if result is None:
            if status != 0 or self._events == 0:
                raise Refusal("cli_failed", f"claude ended with status {status} before an answer")
            raise Refusal("invalid_events", "claude ended its events without an answer")
        if result.get("stop_reason") == "refusal":
            raise Refusal("refused", "the model refused")
        if result.get("is_error") is not False or status != 0:
            raise self._failed(result)
        if "structured_output" not in result:
            raise Refusal("invalid_output", "the model gave no structured answer")
        turns = result.get("num_turns")
        if self._asked_again or not isinstance(turns, int) or turns > _TURNS_OF_AN_ANSWER:
            raise Refusal("tool_use_rejected", "the model was asked more than once")
        return Reply(result["structured_output"], _usage(result))

    def _failed(self, result: dict[str, Any]) -> Refusal:
        status = result.get("api_error_status")
        if status == 429 or self._error == "rate_limit":
            return Refusal("rate_limited", "the provider's rate limit or quota")
        if self._error == "max_output_tokens":
            return Refusal("output_limit", "the model wrote too much")
        if result.get("subtype") in ("error_max_turns", "error_max_structured_output_retries"):
            return Refusal("invalid_output", "the model gave no answer that fits the schema")
        return Refusal("model_failed", f"the request failed{f': HTTP {status}' if status else ''}")


def _blocks(event: dict[str, Any]) -> list[dict[str, Any]]:
    message = event.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text"}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _usage(result: dict[str, Any]) -> dict[str, int] | None:
    """From `modelUsage`, which counts every request; `usage` misses some."""
    counts = {"prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0}
    models = result.get("modelUsage")
    for used in models.values() if isinstance(models, dict) else ():
        for name, fields in (
            ("prompt_tokens", ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")),
            ("completion_tokens", ("outputTokens",)),
            ("cached_tokens", ("cacheReadInputTokens",)),
        ):
            found = [used.get(field) for field in fields] if isinstance(used, dict) else []
            counts[name] += sum(count for count in found if isinstance(count, int))
    return counts if counts["prompt_tokens"] else None
