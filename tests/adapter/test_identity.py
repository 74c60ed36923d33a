from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from discovercall.adapter import identity
from discovercall.adapter.authoring import Refusal
from discovercall.adapter.bundled import bundled_adapter
from discovercall.adapter.clis.facts import CODEX
from discovercall.adapter.identity import identify, installed_version
from discovercall.foundation.errors import InputError
from tests.adapter.running import MARK, Bench, gone_within, marked

CHILD = "import subprocess; subprocess.Popen(['sleep', '300']);"


@pytest.fixture
def mark():
    bench = Bench()
    yield bench.mark
    for pid in marked(bench.mark):
        os.kill(pid, signal.SIGKILL)


def program(folder: Path, mark: str, source: str) -> str:
    path = folder / "codex"
    marking = f"import os, time; os.environ[{MARK!r}] = {mark!r}\n"
    again = (
        "import sys\nif len(sys.argv) == 2: os.execv(sys.executable, [sys.executable, __file__, '-', '-'])\n"
    )
    path.write_text(f"#!{sys.executable}\n{marking}{again}{source}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("name", ["reference", "oracle", "first-result"])
def test_adapters_without_arguments_refuse_any(name):
    adapter = bundled_adapter(name)
    assert adapter is not None
    assert identify(adapter, (), {}).arguments == ()
    for given in ("--effort", "", "x"):
        with pytest.raises(InputError, match=f"{name} takes no arguments"):
            identify(adapter, (given,), {})


def test_version_is_read_with_and_without_a_running_loop(tmp_path, mark):
    path = program(tmp_path, mark, "print('codex-cli 1.2.3')")

    async def ask() -> str:
        return installed_version(CODEX, path, {})

    assert installed_version(CODEX, path, {}) == asyncio.run(ask()) == "1.2.3"


@pytest.mark.parametrize(
    ("source", "version"),
    [
        (CHILD + "print('codex-cli 1.2.3')", "1.2.3"),  # the child holds the output open
        (CHILD + "time.sleep(300)", None),
        ("while True: print('x' * 1000)", None),
        ("while True: print('x' * 1000, file=sys.stderr)", None),
        (CHILD + "raise SystemExit(3)", None),
    ],
)
def test_nothing_of_a_version_check_is_left(tmp_path, mark, monkeypatch, source, version):
    monkeypatch.setattr(identity, "_VERSION_TIMEOUT_S", 2)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = program(tmp_path, mark, source)
    variables = {"PATH": os.environ["PATH"]}
    start = time.monotonic()
    if version is None:
        with pytest.raises(Refusal) as raised:
            installed_version(CODEX, path, variables)
        assert raised.value.detail == f"{path} --version does not work"
    else:
        assert installed_version(CODEX, path, variables) == version
    assert time.monotonic() - start < 20
    assert gone_within(mark, 1)
    assert [entry.name for entry in tmp_path.iterdir()] == ["codex"]
