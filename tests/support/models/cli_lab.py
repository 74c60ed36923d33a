"""Puts one decision per scenario to an installed model command line, through its adapter, and reports.

Run as a program of its own, within `netlab` where that is possible: the fake server and the command line then
share a network that ends at loopback. Reads a JSON object on standard input, writes one on standard output.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from discovercall.adapter.bundled import bundled_adapter
from discovercall.adapter.environment import adapter_environment
from discovercall.adapter.failures import AdapterFailure
from discovercall.adapter.family import become_subreaper
from discovercall.adapter.process import run_adapter
from discovercall.adapter.protocol import parse_answer, request_bytes
from tests.support.models.fake_anthropic import FakeAnthropic
from tests.support.models.fake_responses import FakeResponses

SERVERS: dict[str, type[FakeResponses | FakeAnthropic]] = {"codex": FakeResponses, "claude": FakeAnthropic}


def left_running(program: str) -> list[str]:
    """Command lines of processes that still run something of the installed package."""
    found = []
    package = str(Path(program).parents[1])
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
            state = path.with_name("stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if state != "Z" and any(word.startswith(package.encode()) for word in words[:2]):
            found.append(b" ".join(words).decode("utf-8", "replace")[:200])
    return found


def decide(asked: dict[str, Any], arguments: list[str], limit_s: float) -> dict[str, Any]:
    """One decision: answer or code, seconds, and what was left in its folder."""
    adapter = bundled_adapter(f"{asked['cli']}-cli")
    assert adapter is not None
    environment = adapter_environment(asked["environment"], adapter.environment, ())
    folder = Path(asked["folder"])
    before = time.monotonic()
    outcome: dict[str, Any] = {}
    try:
        result = asyncio.run(
            run_adapter(
                adapter.command(Path("tasks.jsonl"), ("--cli-path", asked["program"], *arguments)),
                request_bytes(asked["request"]),
                env=environment,
                timeout_s=limit_s,
                cwd=str(folder),
            )
        )
        outcome["stdout"] = result.stdout.decode()
        outcome["answer"] = parse_answer(result.stdout)
    except AdapterFailure as failure:
        outcome["code"] = failure.code
    outcome["seconds"] = time.monotonic() - before
    outcome["left"] = sorted(path.name for path in folder.iterdir())
    outcome["running"] = left_running(asked["program"])
    return outcome


def main() -> None:
    asked = json.load(sys.stdin)
    become_subreaper()
    report: dict[str, Any] = {"pid": os.getpid(), "outcomes": {}}
    with SERVERS[asked["cli"]](key=asked["key"], answer=asked["answer"]) as server:
        for scenario, limit_s in asked["scenarios"].items():
            first = len(server.requests)
            arguments = ["--base-url", server.url(scenario), *asked["arguments"]]
            outcome = decide(asked, arguments, limit_s)
            posts = [one for one in server.requests[first:] if one.method == "POST"]
            outcome["requests"] = [{"path": one.path, "body": one.body} for one in posts]
            report["outcomes"][scenario] = outcome
        if asked["production"]:
            report["outcomes"]["production"] = decide(asked, asked["arguments"], 20)
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
