"""Runs the benchmark: as a command, and in this process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discovercall.invocation.cases import CASE_NAMES, load_cases, load_mock_answers
from discovercall.invocation.redaction import SecretRedactor
from discovercall.invocation.report_model import RunReport
from discovercall.invocation.runner import Bench, ModelUnderTest, run_cases
from discovercall.invocation.runtime.mock import MockChatClient
from discovercall.invocation.runtime.modes import ModeName
from tests.invocation.streams import KEY

PROGRAM = [sys.executable, "-c", "from discovercall.cli.main import main; main()", "invoke"]
MODES = ("dual_agent", "chat_agent_tools")


def environment(**more: str) -> dict[str, str]:
    """The whole environment of a command: no proxy, no key but what is given."""
    return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **more}


def invoke(
    folder: Path, *arguments: str, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `discovercall invoke …` in a folder."""
    return subprocess.run(
        [*PROGRAM, *arguments],
        cwd=folder,
        env=env or environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def live(folder: Path, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the benchmark against a server, with the planted key."""
    env = environment(AGENT_LAB_OPENAI_API_KEY=KEY)
    return invoke(folder, "run", "--base-url", url, "--model", "fake", *arguments, env=env)


def bundles(folder: Path) -> list[Path]:
    """The public bundles of the default folder, oldest first."""
    return sorted(path for path in (folder / "outputs" / "benchmarks").glob("*") if path.name[0] != ".")


def read(bundle: Path) -> dict[str, Any]:
    """A bundle's report."""
    return dict(json.loads((bundle / "report.json").read_bytes()))


def bench(**changes: Any) -> Bench:
    """A bench of the mock."""
    answers = load_mock_answers()

    def make(case: Any, mode: ModeName) -> ModelUnderTest:
        found = answers[case.id, mode]
        return ModelUnderTest(MockChatClient(found.script), found.fallbacks)

    values: dict[str, Any] = {
        "make_model": make,
        "timeout_s": 30.0,
        "clock": time.time,
        "monotonic": time.monotonic,
        "new_id": lambda: str(uuid.uuid4()),
        "redact": SecretRedactor(),
    }
    return Bench(**{**values, **changes})


def run_mock(
    cases: Sequence[str] = CASE_NAMES, modes: Sequence[str] = MODES, runs: int = 1, **changes: Any
) -> list[RunReport]:
    """Run cases on the mock, in this process."""
    chosen = load_cases().named(cases)
    names = [ModeName(mode) for mode in modes]
    return asyncio.run(run_cases(bench(**changes), chosen, names, runs, lambda run: None))
