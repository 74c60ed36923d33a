"""The demo needs no network beyond loopback: shown where there is no other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_LOOPBACK_UP = """
import fcntl, os, socket, struct, sys
up_and_loopback = struct.pack("16sh14x", b"lo", 0x1 | 0x8)
fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8914, up_and_loopback)
names = [name for _, name in socket.if_nameindex()]
assert names == ["lo"], names
os.execv(sys.executable, [sys.executable, "-m", "discovercall", "demo", "--out", sys.argv[1]])
"""


@pytest.mark.slow
@pytest.mark.part("demo without a network")
def test_the_demo_runs_where_only_loopback_is(tmp_path: Path) -> None:
    alone = ["unshare", "--map-root-user", "--net"]
    possible = subprocess.run([*alone, "true"], capture_output=True, text=True, check=False)
    if possible.returncode != 0:
        pytest.skip(f"no network namespace can be made here: {possible.stderr.strip()}")
    command = [*alone, sys.executable, "-c", _LOOPBACK_UP, str(tmp_path / "demo")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "demo" / "summary.json").read_text())
    reference, first_result = summary["models"]
    assert reference["workflow_success_rate"] >= 51 / 54 - 1e-4
    assert first_result["workflow_success_rate"] < 0.2
