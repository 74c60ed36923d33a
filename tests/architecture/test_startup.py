"""What starting costs: a promise of the project, so it is measured."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from discovercall.cli.tree import COMMANDS

HEAVY = ("github", "httpx", "mcp", "numpy", "onnxruntime", "rich", "scipy", "starlette", "uvicorn")
HELP_FACTOR = 1.5
HELP_EXTRA_SECONDS = 0.150
RUNS = 5
ATTEMPTS = 8

COMMAND = Path(sysconfig.get_path("scripts")) / "discovercall"


@pytest.fixture(scope="module")
def cpu_seconds(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[str]], float]:
    """Median CPU seconds of a program with warm caches. CPU, for a busy machine must not fail a promise."""
    # Bytecode is cached apart, so that the figure does not hang on who ran what before.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(tmp_path_factory.mktemp("bytecode"))

    def once(command: list[str]) -> float:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, command
        return usage.ru_utime + usage.ru_stime

    def median(command: list[str]) -> float:
        once(command)
        return statistics.median(once(command) for _ in range(RUNS))

    return median


def loaded_after(code: str) -> set[str]:
    program = f"import json, sys\n{code}\nsys.stderr.write(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return set(json.loads(done.stderr))


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not loaded_after("import discovercall") & {*HEAVY, "pydantic", "typer"}


def test_help_loads_nothing_heavy() -> None:
    code = """
sys.argv = ["discovercall", "--help"]
from discovercall.cli.main import main
try:
    main()
except SystemExit as exit:
    assert not exit.code, exit.code
"""
    loaded = loaded_after(code)
    assert not loaded & {*HEAVY, "asyncio", "pydantic"}
    commands = {f"discovercall.cli.{entry.module}" for entry in COMMANDS.values()}
    assert not loaded & commands


def test_help_comes_at_once(cpu_seconds: Callable[[list[str]], float]) -> None:
    measured = []
    for _ in range(
        ATTEMPTS
    ):  # neighbours on the machine cost CPU time too: a true regression fails every time
        bare = cpu_seconds([sys.executable, "-c", "pass"])
        help_page = cpu_seconds([str(COMMAND), "--help"])
        if help_page <= HELP_FACTOR * bare + HELP_EXTRA_SECONDS:
            return
        measured.append((help_page, bare))
    pytest.fail(f"CPU seconds of --help and of bare Python: {measured}")
