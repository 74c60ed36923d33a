"""Runs the real command line against a loopback API with a scripted adapter."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.catalog_api import KEY, CatalogApi
from tests.support.records import lines, task

PROGRAM = str(Path(sys.executable).parent / "discovercall")
SCRIPTED = Path(__file__).with_name("scripted_adapter.py")
MARK = "DISCOVERCALL_TEST_MARK"
PATIENCE_S = 120.0
_RUN_FIELDS = {"run_id", "started_at", "finished_at", "durations_ms"}


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


class Bench:
    """A folder with a task set, an adapter and an API that all agree; every piece can be changed.

    Attributes:
        script: what the adapter does; written anew at each start.
        environment: the command's whole environment.
    """

    def __init__(self, folder: Path, api: CatalogApi) -> None:
        self.folder = folder
        self.api = api
        self.tasks = folder / "tasks.jsonl"
        self.output = folder / "run.jsonl"
        self.adapter = folder / "adapter"
        self.script: dict[str, Any] = {}
        self._started: set[int] = set()
        self.mark = uuid.uuid4().hex
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "QVERIS_API_KEY": KEY,
            MARK: self.mark,
        }
        self.use_tasks(task("weather"))
        words = [sys.executable, "-I", "-S", "-B", str(SCRIPTED), str(folder / "script.json")]
        self.adapter.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n")
        self.adapter.chmod(0o755)

    def use_tasks(self, *tasks: dict[str, Any]) -> None:
        """Write the task set."""
        self.tasks.write_text(lines(*tasks), encoding="utf-8")

    @property
    def journal(self) -> Path:
        """The journal of the output."""
        return self.output.with_name(self.output.name + ".journal.jsonl")

    def arguments(self, **changes: Any) -> list[str]:
        """The `run` command line; None drops a flag, True makes it bare, a list repeats it."""
        flags: dict[str, Any] = {
            "model": "model-1",
            "lane": "configured-model",
            "tasks": self.tasks,
            "adapter": self.adapter,
            "adapter_env": [MARK],
            "adapter_revision": "adapter-1",
            "trials": 1,
            "execute": True,
            "output": self.output,
            "api_base_url": self.api.base_url,
            **changes,
        }
        words = ["run"]
        for name, value in flags.items():
            flag = f"--{name.replace('_', '-')}"
            for one in value if isinstance(value, list) else [value]:
                if one is True:
                    words.append(flag)
                elif one is not None and one is not False:
                    words += [flag, str(one)]
        return words

    def start(self, **changes: Any) -> subprocess.Popen[str]:
        """Start `run` in a process group of its own."""
        (self.folder / "script.json").write_text(json.dumps(self.script), encoding="utf-8")
        return self.command(*self.arguments(**changes))

    def command(self, *arguments: str) -> subprocess.Popen[str]:
        """Start any command."""
        process = subprocess.Popen(
            [PROGRAM, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._started.add(process.pid)
        return process

    def run(self, *, stdin: str | None = None, **changes: Any) -> Done:
        """Run to the end."""
        return finish(self.start(**changes), stdin)

    def records(self) -> list[dict[str, Any]]:
        """The output's records."""
        return read_lines(self.output)

    def entries(self) -> list[dict[str, Any]]:
        """The journal's lines, as they are on disk now; a line under way is left out."""
        return [json.loads(line) for line in self.journal.read_text("utf-8").split("\n")[:-1]]

    def payloads(self) -> list[dict[str, Any]]:
        """What the adapter logged; set `script["log"]` first."""
        return read_lines(Path(self.script["log"]))

    def left_behind(self) -> list[int]:
        """Living processes that an adapter started or is."""
        wanted = f"{MARK}={self.mark}".encode()
        return [p for p in _processes() if p not in self._started and wanted in _variables(p)]

    def nothing_left_within(self, seconds: float = 5.0) -> bool:
        """Wait until no such process lives."""
        deadline = time.monotonic() + seconds
        while self.left_behind():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True


def finish(process: subprocess.Popen[str], stdin: str | None = None) -> Done:
    """Wait for a command's end."""
    try:
        out, err = process.communicate(stdin, timeout=PATIENCE_S)
    except BaseException:
        process.kill()
        raise
    return Done(process.returncode, out, err)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """A JSON Lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def essence(record: dict[str, Any]) -> dict[str, Any]:
    """A record but for its ids and times."""
    return {name: value for name, value in record.items() if name not in _RUN_FIELDS}


def assert_refused(done: Done, message: str, code: int = 2) -> None:
    """One clear line on stderr that matches, nothing on stdout, no traceback."""
    assert done.code == code, done
    assert done.out == ""
    assert done.err.count("\n") == 1, done.err
    assert done.err.startswith("discovercall: ")
    assert re.search(message, done.err), done.err


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _variables(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
