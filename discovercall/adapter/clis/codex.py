"""Codex CLI: how it is asked without tools, and how its events are judged.

Its event stream may leave out tool calls. Its log of received server events (on stderr, switched on for that
one module) has them all, so an answer counts only where that log shows one response without a tool call.
"""

from __future__ import annotations

import re
from typing import Any

from discovercall.adapter.authoring import Refusal
from discovercall.adapter.clis.decision import Question, Reply
from discovercall.adapter.clis.scratch import Scratch
from discovercall.foundation.ecma_json import JsonError, decode, loads
from discovercall.foundation.json_text import compact, string_text

API_BASE_URL = "https://api.openai.com/v1"
_PROVIDER = "discovercall"
_LOG = "codex_api::sse::responses"
_LOGGED = f"{_LOG}: SSE event: ".encode()
_HARMLESS_ITEMS = ("agent_message", "reasoning", "error")
_HARMLESS_OUTPUT = ("message", "reasoning")
_RATE_CODES = ("rate_limit_exceeded", "insufficient_quota")
# What the client itself writes on a 429 and on a used-up plan; the server's own words are not matched.
_RATE_WORDS = re.compile(r"status:? 429\b|^rate limit exceeded|^Quota exceeded|hit your usage limit")
_FAILURES = {"max_output_tokens": "output_limit", "content_filter": "refused"}

_FEATURES_OFF = (
    "apps",
    "goals",
    "hooks",
    "image_generation",
    "plugins",
    "shell_tool",
    "tool_suggest",
)


class CodexTurn:
    """One question to `codex exec`."""

    def __init__(self, question: Question, scratch: Scratch) -> None:
        self._question = question
        self._work = scratch.work
        # A file, not arguments: no limit of length, nothing in process lists, and no text that would be taken
        # for something else than a string.
        (scratch.config / "config.toml").write_text(config(question), encoding="utf-8")
        self._schema = scratch.write("schema.json", compact(question.schema))
        self._answer: str | None = None
        self._usage: dict[str, Any] = {}
        self._completed = False
        self._failure: str | None = None
        self._events = 0
        self._responses = 0
        self._refused = False
        self._rate_limited = False
        self._incomplete: str | None = None

    def arguments(self) -> list[str]:
        """Of the program; every one is known to the tested versions."""
        fixed = "exec --ephemeral --ignore-rules --strict-config --skip-git-repo-check --sandbox read-only"
        files = ["--cd", str(self._work), "--output-schema", str(self._schema)]
        return [*fixed.split(), *files, "--color", "never", "--json", "-"]

    def variables(self) -> dict[str, str]:
        """Further variables: the log that shows each response."""
        return {"RUST_LOG": f"error,{_LOG}=trace"}

    def payload(self) -> bytes:
        """The user message.

        Raises:
            Refusal: `start_failed`; it can't be encoded.
        """
        try:
            return self._question.user.encode("utf-8")
        except UnicodeEncodeError:
            raise Refusal("start_failed", "the request has a lone surrogate") from None

    def on_stdout(self, line: bytes) -> None:
        """Take in one event."""
        event = _object(line)
        self._events += 1
        kind = event.get("type")
        if kind in ("item.started", "item.updated", "item.completed"):
            self._on_item(event.get("item"))
        elif kind == "turn.completed":
            self._completed = True
            usage = event.get("usage")
            self._usage = usage if isinstance(usage, dict) else {}
        elif kind == "turn.failed":
            error = event.get("error")
            self._failure = str(error.get("message", "")) if isinstance(error, dict) else ""

    def _on_item(self, item: Any) -> None:
        kind = item.get("type") if isinstance(item, dict) else None
        if kind not in _HARMLESS_ITEMS:
            raise Refusal("tool_use_rejected", "the model used a tool")
        if kind == "agent_message":  # the last one counts: a commentary or a cut try may come before
            self._answer = str(item.get("text", ""))

    def on_stderr(self, line: bytes) -> None:
        """Take in one line of the log; only server events count."""
        _, logged, text = line.partition(_LOGGED)
        if logged:
            self._on_response(_object(text))

    def _on_response(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "response.created":
            self._refused = False
        elif kind in ("response.output_item.added", "response.output_item.done"):
            item = event.get("item")
            if not isinstance(item, dict) or item.get("type") not in _HARMLESS_OUTPUT:
                raise Refusal("tool_use_rejected", "the model called a tool")
        elif kind == "response.refusal.done":
            self._refused = True
        elif kind == "response.completed":
            self._responses += 1
            if self._responses > 1:
                raise Refusal("tool_use_rejected", "the model was asked more than once")
        elif kind == "response.incomplete":
            self._incomplete = _inner(event, "incomplete_details", "reason")
        elif kind == "response.failed":
            self._rate_limited = _inner(event, "error", "code") in _RATE_CODES

    def reply(self, status: int) -> Reply:
        """Judge the run. The exit status alone says nothing: 0.144.1 ends with 0 on SIGTERM.

        Raises:
            Refusal: no usable answer.
        """
        if self._failure is not None:
            raise self._failed(self._failure)
        if not self._completed:
            if status != 0 or self._events == 0:
                raise Refusal("cli_failed", f"codex ended with status {status} before an answer")
            raise Refusal("invalid_events", "codex ended its events without an answer")
        if self._responses == 0:
            raise Refusal("invalid_events", "this version of codex does not log its responses")
        if self._refused:
            raise Refusal("refused", "the model refused")
        if self._answer is None:
            raise Refusal("invalid_output", "the model gave no text")
        try:
            return Reply(loads(self._answer), self._used())
        except JsonError:
            raise Refusal("invalid_output", "the answer is not JSON") from None

    def _failed(self, message: str) -> Refusal:
        if self._rate_limited or _RATE_WORDS.search(message):
            return Refusal("rate_limited", "the provider's rate limit or quota")
        if self._incomplete in _FAILURES:
            return Refusal(_FAILURES[self._incomplete], f"the response is incomplete: {self._incomplete}")
        found = re.search(r"status:? ([45]\d\d)\b", message)
        return Refusal("model_failed", f"the turn failed{f': HTTP {found.group(1)}' if found else ''}")

    def _used(self) -> dict[str, int] | None:
        counts = {
            "prompt_tokens": self._usage.get("input_tokens"),
            "completion_tokens": self._usage.get("output_tokens"),
            "cached_tokens": self._usage.get("cached_input_tokens"),
        }
        # Zeros stand for usage that the server did not send: no prompt is empty.
        return {k: v for k, v in counts.items() if isinstance(v, int)} if counts["prompt_tokens"] else None


def config(question: Question) -> str:
    """The whole config.toml of one decision.

    A provider of its own, even for OpenAI: the built-in one opens a WebSocket, whose events are not logged,
    and has fixed retries. Without a base URL it goes where the login belongs.

    Raises:
        Refusal: `start_failed`; the system instruction can't be written as TOML.
    """
    recent = _version_key(question.version) >= (0, 171, 0)
    base_url = question.options.base_url or (API_BASE_URL if question.by_key else None)
    lines = [
        f"model = {_toml(question.model)}",
        f"model_provider = {_toml(_PROVIDER)}",
        f"model_reasoning_effort = {_toml(question.options.effort)}",
        f"developer_instructions = {_toml(question.system)}",
        'web_search = "disabled"',
        "project_doc_max_bytes = 0",
        "include_environment_context = false",
        "include_permissions_instructions = false",
        "skills.include_instructions = false",
        "tools.experimental_request_user_input.enabled = false",
        "analytics.enabled = false",
        *(["agents.enabled = false"] if recent else []),
        f"[model_providers.{_PROVIDER}]",
        f"name = {_toml(_PROVIDER)}",
        *([f"base_url = {_toml(base_url)}"] if base_url else []),
        'wire_api = "responses"',
        *(['env_key = "CODEX_API_KEY"'] if question.by_key else []),
        f"requires_openai_auth = {'false' if question.by_key else 'true'}",
        "supports_websockets = false",
        "request_max_retries = 2",
        "stream_max_retries = 1",
        "[features]",
    ]
    newer = ("api_key_model_discovery", "unbounded_connection_retries", "view_image")
    features = (*_FEATURES_OFF, *(newer if recent else ("multi_agent",)))
    return "\n".join((*lines, *(f"{name} = false" for name in features), ""))


def _toml(text: str) -> str:
    """A TOML basic string: a JSON string is one, but for DEL and lone surrogates."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise Refusal("start_failed", "the request has a lone surrogate")
    return string_text(text).replace("\x7f", "\\u007f")


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("-", 1)[0].split("."))


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = decode(line)
    except JsonError:
        value = None
    if not isinstance(value, dict):
        raise Refusal("invalid_events", "codex wrote a line that is no JSON object")
    return value


def _inner(event: dict[str, Any], *path: str) -> str | None:
    value: Any = event.get("response")
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None
