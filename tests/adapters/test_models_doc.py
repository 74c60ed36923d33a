"""The commands of docs/models.md do what they say."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from discovercall.adapter.chat.settings import read_settings
from tests.support.models.fake_openai import FakeOpenAI

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(sysconfig.get_path("scripts"))
BLOCKS = re.findall(r"```bash\n(.*?)```", (ROOT / "docs" / "models.md").read_text("utf-8"), re.DOTALL)
KEYS = {"OPENAI_API_KEY": "k", "OPENROUTER_API_KEY": "k"}
COMMANDS = [
    line
    for block in BLOCKS
    for line in block.replace("\\\n", " ").splitlines()
    if line.startswith("discovercall run")
]


def adapter_arguments(words: list[str]) -> list[str]:
    return [word.removeprefix("--adapter-arg=") for word in words if word.startswith("--adapter-arg=")]


def test_there_is_one_command_for_each_server() -> None:
    urls = [read_settings(adapter_arguments(shlex.split(command)), KEYS).url for command in COMMANDS]
    assert len(set(urls)) == len(COMMANDS) == 5


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_can_be_planned(command: str, tmp_path: Path) -> None:
    words = [str(SCRIPTS / "discovercall"), *shlex.split(command)[1:], "--plan-only"]
    done = subprocess.run(
        words, cwd=tmp_path, env={"PATH": os.environ["PATH"], **KEYS}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_decision_by_hand_is_answered() -> None:
    [block] = [block for block in BLOCKS if block.startswith("echo")]
    with FakeOpenAI() as server:
        script = block.replace("http://127.0.0.1:11434/v1", server.url())
        done = subprocess.run(
            ["/bin/bash", "-c", script.replace(".venv/bin/python", sys.executable)],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
        )
    assert json.loads(done.stdout)["tool_id"] == "weather.now", done.stderr
