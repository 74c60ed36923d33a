"""Puts decisions to the bundled OpenAI-compatible adapter, started as the harness starts it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discovercall.adapter.bundled import bundled_adapter
from discovercall.adapter.environment import adapter_environment
from discovercall.adapter.failures import AdapterFailure
from discovercall.adapter.process import run_adapter
from discovercall.adapter.protocol import parse_answer, request_bytes, select_request

KEY = "sk-test-5e1f0c9a7b"
SELECT = select_request(
    "gpt-fake",
    1,
    "0" * 64,
    "t1",
    "Will it rain in São Paulo?",
    [{"tool_id": "weather.now", "reliability": None}],
)

# Read once: threads that parse Python at the same time fail now and then (3.11).
_ADAPTER = bundled_adapter("openai-compatible")
assert _ADAPTER is not None


def command(*arguments: str) -> list[str]:
    """The adapter's command line."""
    assert _ADAPTER is not None
    return _ADAPTER.command(Path("tasks.jsonl"), arguments)


def environment(variables: Mapping[str, str] | None = None, requested: Sequence[str] = ()) -> dict[str, str]:
    """What the harness passes on of its own environment and `variables`."""
    assert _ADAPTER is not None
    given = {"PATH": os.environ["PATH"], "OPENAI_API_KEY": KEY} if variables is None else dict(variables)
    return adapter_environment(given, _ADAPTER.environment, requested)


def decide(
    base_url: str,
    *arguments: str,
    request: dict[str, Any] = SELECT,
    variables: Mapping[str, str] | None = None,
    requested: Sequence[str] = (),
    timeout_s: float = 30,
    stderr_file: Path | None = None,
) -> Any:
    """The answer to one decision; a copy of what the adapter writes to stderr goes to `stderr_file`.

    Raises:
        AdapterFailure: there is none.
    """
    started = command("--base-url", base_url, *arguments)
    if stderr_file is not None:
        script = 'file=$1; shift; "$@" 2>"$file"; status=$?; cat "$file" >&2; exit $status'
        started = ["/bin/sh", "-c", script, "sh", str(stderr_file), *started]
    result = asyncio.run(
        run_adapter(
            started,
            request_bytes(request),
            env=environment(variables, requested),
            timeout_s=timeout_s,
        )
    )
    return parse_answer(result.stdout)


def code_of(base_url: str, *arguments: str, **options: Any) -> str | None:
    """The reason code of a decision that failed; None where it was answered."""
    try:
        decide(base_url, *arguments, **options)
    except AdapterFailure as failure:
        return failure.code
    return None


def output_of(*arguments: str, variables: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of one decision."""
    done = subprocess.run(
        command(*arguments),
        input=json.dumps(SELECT),
        env=environment(variables),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr
