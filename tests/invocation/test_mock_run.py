"""`invoke run --mock`: all cases pass, without network, quickly, and always alike."""

from __future__ import annotations

import asyncio
import json
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from discovercall.invocation.cases import CASE_NAMES, load_cases
from discovercall.invocation.runner import run_cases
from discovercall.invocation.runtime.modes import ModeName
from discovercall.invocation.runtime.turn import Turn
from tests.invocation.running import MODES, bench, bundles, environment, invoke, read, run_mock

# Ends the process at the first internet socket, whoever makes it and whatever catches exceptions.
NO_INTERNET = """
import os, socket, sys
def hook(event, arguments):
    if event == "socket.__new__" and arguments[1] in (socket.AF_INET, socket.AF_INET6):
        os._exit(77)
    if event in ("socket.getaddrinfo", "socket.connect", "socket.bind"):
        os._exit(78)
sys.addaudithook(hook)
"""


def test_all_cases_pass_in_both_modes_without_network_and_quickly(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    program = NO_INTERNET + "from discovercall.cli.main import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", program, "invoke", "run", "--mock"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    assert "12 of 12 runs passed." in done.stdout
    assert done.stderr == ""
    # CPU time, for a busy machine must not fail the promise; what the mock waits for is 0.3 s in all.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 4.5
    report = read(bundles(tmp_path)[0])
    ran = [(run["case"], run["mode"], run["iteration"]) for run in report["runs"]]
    assert ran == [(case, mode, 1) for case in CASE_NAMES for mode in MODES]
    assert all(run["passed"] and run["failures"] == [] and run["error"] is None for run in report["runs"])
    assert len({run["session_id"] for run in report["runs"]}) == 12


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6"])
def test_the_guard_against_sockets_bites(family: str) -> None:
    program = f"{NO_INTERNET}socket.socket(socket.{family})"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 77


def without_ids_and_times(value: Any) -> Any:
    """A report with everything masked that differs between two runs."""
    if isinstance(value, dict):
        return {
            key: "*"
            if key.endswith("_ms") or key in ("session_id", "generated_at")
            else without_ids_and_times(item)
            for key, item in value.items()
        }
    return [without_ids_and_times(item) for item in value] if isinstance(value, list) else value


def test_two_runs_differ_in_ids_and_times_only(tmp_path: Path) -> None:
    for _ in range(2):
        assert invoke(tmp_path, "run", "--mock").returncode == 0
    first, second = bundles(tmp_path)
    texts = [json.dumps(without_ids_and_times(read(bundle))) for bundle in (first, second)]
    assert texts[0] == texts[1]
    times = re.compile(r"\| [A-Za-z ]*\(ms\).*|Generated: .*")
    pages = [times.sub("*", (bundle / "report.md").read_text()) for bundle in (first, second)]
    assert pages[0] == pages[1]


def test_each_run_has_its_own_database_which_is_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: list[Path] = []

    def new_id() -> str:
        seen.append(next(tmp_path.glob("discovercall-invoke-*/session.sqlite3")))
        return str(len(seen))

    run_mock(cases=("ordinary_chat",), runs=2, new_id=new_id)
    assert len(set(seen)) == 4
    assert list(tmp_path.iterdir()) == []


def test_modes_take_turns_at_being_first() -> None:
    order: list[tuple[int, str]] = []
    runs = asyncio.run(
        run_cases(
            bench(),
            load_cases().named(["ordinary_chat"]),
            list(ModeName),
            2,
            lambda run: order.append((run.iteration, run.mode)),
        )
    )
    assert order == [(1, MODES[0]), (1, MODES[1]), (2, MODES[1]), (2, MODES[0])]
    assert [(run.mode, run.iteration) for run in runs] == [(m, i) for m in MODES for i in (1, 2)]


def test_a_crash_in_one_run_does_not_stop_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Turn.sentences

    def crash(self: Turn) -> list[str]:
        if original(self):
            raise RuntimeError("planted-secret-in-a-crash")
        return []

    monkeypatch.setattr(Turn, "sentences", crash)
    runs = run_mock()
    failed = [run for run in runs if not run.passed]
    assert {run.case for run in failed} == {"calendar_schedule_template", "parallel_volume_schedule"}
    assert {(run.error.code, run.error.message) for run in failed if run.error} == {
        ("internal_error", "RuntimeError")
    }
