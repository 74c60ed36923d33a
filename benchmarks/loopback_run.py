"""Whole runs of 54 trials against an API on loopback, served by a process of its own."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.timing import Cost, cost_of
from tests.support.catalog_api import KEY, CatalogApi
from tests.support.records import lines, task

TASKS, TRIALS, DECISIONS = 18, 3, 2
API_S, DECISION_S = 0.02, 0.06
SEQUENTIAL_S = TASKS * TRIALS * (3 * API_S + DECISIONS * DECISION_S)
_ADAPTER = """#!/bin/sh
read -r request
{pause}
case $request in
  *'"stage":"select"'*) printf '{{"tool_id":"a.tool"}}' ;;
  *) printf '{{"parameters":{{"city":"London"}}}}' ;;
esac
"""
# What a run can't do without: its adapter's processes.
_BARE_STARTS = """
import subprocess, sys
for _ in range(int(sys.argv[2])):
    subprocess.run([sys.argv[1]], input=b'{"stage":"select"}\\n', stdout=subprocess.DEVNULL, check=True)
"""


class Runs:
    """Runs in a folder; each call measures one more.

    Args:
        folder: a new folder for tasks, adapters and records.
        program: the `discovercall` to run.
        urls: base URLs of the instant and of the slow API.
    """

    def __init__(self, folder: Path, program: str, urls: tuple[str, str]) -> None:
        self._folder, self._program = folder, program
        self._urls = urls
        self._numbers = itertools.count()
        (folder / "tasks.jsonl").write_text(lines(*(task(f"t{i}") for i in range(TASKS))), encoding="utf-8")
        for name, pause in (("instant", ""), ("slow", f"sleep {DECISION_S}")):
            adapter = folder / f"{name}-adapter"
            adapter.write_text(_ADAPTER.format(pause=pause), encoding="utf-8")
            adapter.chmod(0o755)

    def run(self, *more: str, slow: bool = False) -> Cost:
        """One run of 54 trials; `more` are further words of the command."""
        words = [self._program, "run", "--execute", "--trials", str(TRIALS), "--model", "m", *more]
        words += ["--lane", "configured-model", "--tasks", "tasks.jsonl", "--adapter-revision", "a-1"]
        words += [
            "--adapter",
            f"./{'slow' if slow else 'instant'}-adapter",
            "--api-base-url",
            self._urls[slow],
        ]
        words += ["--output", f"{next(self._numbers)}.jsonl"]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self._folder), "QVERIS_API_KEY": KEY}
        return cost_of(words, cwd=self._folder, environment=environment)

    def bare_starts(self) -> Cost:
        """As many starts of the instant adapter, one after the other, by a bare interpreter."""
        adapter, count = self._folder / "instant-adapter", TASKS * TRIALS * DECISIONS
        return cost_of([sys.executable, "-c", _BARE_STARTS, str(adapter), str(count)])

    def costs(self) -> dict[str, Callable[[], Cost]]:
        """Everything that is measured by turns."""
        return {
            "instant": self.run,
            "instant_one_by_one": lambda: self.run("--concurrency", "1"),
            "plan_only": lambda: self.run("--plan-only"),
            "bare_starts": self.bare_starts,
            "slow_one_by_one": lambda: self.run("--concurrency", "1", slow=True),
            "slow_eight_at_once": lambda: self.run("--concurrency", "8", slow=True),
        }


@contextlib.contextmanager
def serving(seconds: float) -> Iterator[str]:
    """The base URL of an API that takes so long for each answer."""
    words = [sys.executable, "-m", "benchmarks.loopback_run", str(seconds)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate()


def _serve(seconds: float) -> None:
    with CatalogApi() as api:
        api.seconds = seconds
        print(api.base_url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _serve(float(sys.argv[1]))
