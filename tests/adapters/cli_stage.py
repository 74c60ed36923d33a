"""Decisions of the bundled Codex and Claude adapters, real processes, with a scripted command line behind."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discovercall.adapter.bundled import bundled_adapter
from discovercall.adapter.environment import adapter_environment
from discovercall.adapter.failures import AdapterFailure
from discovercall.adapter.process import run_adapter
from discovercall.adapter.protocol import parse_answer, request_bytes, select_request

KEY = "sk-test-5e1f0c9a7b"
MODELS = {"codex": "gpt-5.5", "claude": "claude-sonnet-4-5"}
KEYS = {"codex": "CODEX_API_KEY", "claude": "ANTHROPIC_API_KEY"}
VERSIONS = {"codex": "codex-cli 0.171.0", "claude": "2.1.332 (Claude Code)"}
ANSWER = {"tool_id": "weather.now"}
FAKE = Path(__file__).parents[1] / "support" / "models" / "fake_cli.py"


def request_for(cli: str, prompt: str = "Will it rain in São Paulo?") -> dict[str, Any]:
    """A request for a selection."""
    results = [{"tool_id": "weather.now", "reliability": None}]
    return select_request(MODELS[cli], 1, "0" * 64, "t1", prompt, results)


def codex_script(answer: Any = ANSWER, **changes: Any) -> dict[str, Any]:
    """What Codex writes in a good run, as JSON values; None leaves an entry out."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    usage = {"input_tokens": 1234, "cached_input_tokens": 1024, "output_tokens": 57}
    script = {
        "version": VERSIONS["codex"],
        "stdout": [
            {"type": "thread.started", "thread_id": "1"},
            {"type": "turn.started"},
            {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": text}},
            {"type": "turn.completed", "usage": usage},
        ],
        "stderr": [
            "WARNING: proceeding",
            logged("response.created", response={}),
            logged("response.output_item.done", item={"type": "message"}),
            logged("response.completed", response={"status": "completed"}),
        ],
    }
    return script | changes


def logged(kind: str, **fields: Any) -> str:
    """A server event in Codex's log."""
    event = json.dumps({"type": kind, **fields})
    return f"2026-01-01T00:00:00.000000Z TRACE codex_api::sse::responses: SSE event: {event}"


def claude_script(answer: Any = ANSWER, **changes: Any) -> dict[str, Any]:
    """What Claude Code writes in a good run."""
    call = {"type": "tool_use", "id": "t", "name": "StructuredOutput", "input": answer}
    done = {"type": "tool_result", "tool_use_id": "t", "content": "Structured output provided successfully"}
    script = {
        "version": VERSIONS["claude"],
        "stdout": [
            {"type": "system", "subtype": "init", "tools": ["StructuredOutput"]},
            {"type": "control_response", "response": {"subtype": "success", "request_id": "1"}},
            {"type": "assistant", "message": {"role": "assistant", "content": [call]}},
            {"type": "user", "message": {"role": "user", "content": [done]}},
            claude_result(structured_output=answer),
        ],
    }
    return script | changes


def claude_result(**changes: Any) -> dict[str, Any]:
    """Claude Code's last event; None leaves a field out."""
    used = {
        "inputTokens": 210,
        "outputTokens": 57,
        "cacheReadInputTokens": 1024,
        "cacheCreationInputTokens": 300,
    }
    result = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "api_error_status": None,
        "num_turns": 2,
        "stop_reason": "tool_use",
        "modelUsage": {"claude-sonnet-4-5": used},
    }
    return {name: value for name, value in (result | changes).items() if value is not None}


GOOD = {"codex": codex_script, "claude": claude_script}


@dataclass
class Stage:
    """A folder with one scripted command line, which is all of PATH, and a home."""

    folder: Path
    cli: str
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.bin = self.folder / "bin"
        self.home = self.folder / "home"
        self.temporary = self.folder / "tmp"
        for folder in (self.bin, self.home, self.temporary):
            folder.mkdir()
        program = self.bin / self.cli
        program.write_text(f"#!{sys.executable} -S\n{FAKE.read_text(encoding='utf-8')}", encoding="utf-8")
        program.chmod(0o755)
        self.variables = {
            "PATH": str(self.bin),
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            KEYS[self.cli]: KEY,
        }
        self.plays(GOOD[self.cli]())

    def plays(self, script: Mapping[str, Any]) -> None:
        """Set what the command line does; lines that are no strings are written as JSON."""
        lines = {
            stream: [line if isinstance(line, str) else json.dumps(line) for line in script.get(stream, ())]
            for stream in ("stdout", "stderr")
        }
        path = self.bin / f"{self.cli}.script.json"
        path.write_text(json.dumps({**script, **lines}), encoding="utf-8")

    @property
    def seen(self) -> dict[str, Any]:
        """What the command line was given when it last ran."""
        seen: dict[str, Any] = json.loads((self.bin / f"{self.cli}.seen.json").read_text(encoding="utf-8"))
        return seen

    @property
    def started(self) -> bool:
        """Whether it was asked anything."""
        return (self.bin / f"{self.cli}.seen.json").exists()

    def command(self, *arguments: str) -> list[str]:
        adapter = bundled_adapter(f"{self.cli}-cli")
        assert adapter is not None
        return adapter.command(Path("tasks.jsonl"), arguments)

    def environment(self) -> dict[str, str]:
        adapter = bundled_adapter(f"{self.cli}-cli")
        assert adapter is not None
        return adapter_environment(self.variables, adapter.environment, ())

    def decide(self, *arguments: str, request: dict[str, Any] | None = None, timeout_s: float = 30) -> Any:
        """The answer to one decision.

        Raises:
            AdapterFailure: there is none.
        """
        payload = request_bytes(request or request_for(self.cli))
        result = asyncio.run(
            run_adapter(
                self.command(*arguments),
                payload,
                env=self.environment(),
                timeout_s=timeout_s,
                cwd=self._scratch(),
            )
        )
        assert os.listdir(self._scratch()) == []
        return parse_answer(result.stdout)

    def code(self, *arguments: str, **options: Any) -> str | None:
        """The reason code of a decision that failed; None where it was answered."""
        try:
            self.decide(*arguments, **options)
        except AdapterFailure as failure:
            return failure.code
        return None

    def _scratch(self) -> str:
        folder = self.folder / "decision"
        folder.mkdir(exist_ok=True)
        return str(folder)

    def left(self) -> list[str]:
        """What a decision left in its working folder and among temporary files."""
        return sorted([*os.listdir(self._scratch()), *os.listdir(self.temporary)])
