"""Programs of MCP servers that don't end by themselves are ended, and fill no disk meanwhile."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from discovercall.gateway.config import load_config
from discovercall.gateway.downstream import DownstreamError
from discovercall.gateway.error_log import ErrorLog
from discovercall.gateway.mcp_client import McpDownstream

pytestmark = [pytest.mark.slow, pytest.mark.part("programs of MCP servers end")]

MUTE = """
import os, time
open("pid", "w").write(str(os.getpid()))
time.sleep(60)
"""
DEAF = """
import json, os, sys, time
open("pid", "w").write(str(os.getpid()))
for line in sys.stdin:
    message = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": message.get("id")}
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        answer["result"] = {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "x", "version": "1"},
        }
    elif message["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}
    else:
        answer["error"] = {"code": -32601, "message": "no"}
    if "id" in message:
        print(json.dumps(answer), flush=True)
time.sleep(60)
"""


def configured(folder: Path, source: str) -> Path:
    (folder / "server.py").write_text(source)
    path = folder / "gateway.toml"
    path.write_text(
        f"[servers.s]\ncommand = {sys.executable!r}\nargs = ['server.py']\n[search]\nsemantic = 'off'\n"
    )
    return path


def is_running(folder: Path) -> bool:
    try:
        return Path(f"/proc/{(folder / 'pid').read_text()}/stat").read_text().rpartition(")")[2][1] != "Z"
    except OSError:
        return False


def test_one_that_did_not_answer_in_time_is_ended_with_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []
    monkeypatch.setattr(ErrorLog, "trim", lambda self: looked.append(self))
    downstream = McpDownstream(load_config(configured(tmp_path, MUTE), {}).servers)
    with pytest.raises(DownstreamError, match="time limit"):
        downstream.connect("s", 3)
    assert is_running(tmp_path)
    assert looked  # what it writes is held within bounds also before it is connected
    downstream.close()
    assert not is_running(tmp_path)


def test_a_gateway_that_is_told_to_end_ends_them(tmp_path: Path) -> None:
    config = configured(tmp_path, DEAF)
    command = [sys.executable, "-m", "discovercall", "gateway"]
    subprocess.run([*command, "index", "--config", config], check=True, capture_output=True, timeout=30)
    (tmp_path / "pid").unlink()
    serving = subprocess.Popen(
        [*command, "serve", "--config", config, "--port", "0", "--api-key-file", tmp_path / "key"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert serving.stdout is not None
        told = re.search(r"http://\S+/v1", serving.stdout.readline())
        assert told is not None
        _call(told[0], (tmp_path / "key").read_text().strip())
        assert is_running(tmp_path)
        serving.send_signal(signal.SIGTERM)
        serving.communicate(timeout=20)
        assert serving.returncode == -signal.SIGTERM
        assert not is_running(tmp_path)
    finally:
        serving.kill()
        serving.communicate()
        if is_running(tmp_path):
            os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def _call(url: str, key: str) -> None:
    import httpx

    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=url, headers=headers, trust_env=False) as client:
        found = client.post("/search", json={"query": "look"}).json()
        client.post(
            "/tools/execute?tool_id=s.look", json={"parameters": {}, "search_id": found["search_id"]}
        ).raise_for_status()
