"""docs/gateway.md does what it says: its commands run, its settings exist and have the defaults it names."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from discovercall.foundation.redaction import MASK, Redactor
from discovercall.gateway.broker import Broker
from discovercall.gateway.capability_api import CapabilityApi
from discovercall.gateway.catalog import default_world_path, load_world
from discovercall.gateway.config import load_config
from discovercall.gateway.results import ERROR_TYPES
from discovercall.gateway.settings import BrokerSettings

TEXT = (Path(__file__).parents[2] / "docs" / "gateway.md").read_text(encoding="utf-8")
SETTINGS = re.findall(
    r"^\| `((?:servers|budgets|timeouts|cache|search|mcp)\.[^|]*|index)` \| ([^|]*) \|", TEXT, re.M
)
COMMANDS = re.findall(r"^    (discovercall gateway (?:find|describe|call|list)(?!.*--config).*)$", TEXT, re.M)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command):
    words = shlex.split(command)[1:]
    if words[1] == "find":
        words += ["--semantic", "off"]
    program = [sys.executable, "-c", "from discovercall.cli.main import main; main()", *words]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_how_long_values_must_be_to_be_masked():
    [said] = re.findall(r"of (\d+) characters or more, are masked in every message", " ".join(TEXT.split()))
    least = "x" * int(said)
    assert Redactor([least])(least) == MASK
    assert Redactor([least[1:]])(least) == least


def test_example_configuration(tmp_path):
    example = re.findall(r"```toml\n(.*?)```", TEXT, re.S)[0]
    (tmp_path / "gateway.toml").write_text(example)
    config = load_config(tmp_path / "gateway.toml", {"TRACKER_TOKEN": "t-1"})
    assert [server.server_id for server in config.servers] == ["files", "tracker"]


def test_settings_and_their_defaults(tmp_path):
    assert len(SETTINGS) >= 12
    for name, default in SETTINGS:
        path = name.split("`")[0].split(".")
        if path[0] in ("servers", "index") or not default.strip():
            continue
        values = [value.strip().strip("`") for value in default.split(",")]
        keys = [key.strip(" `") for key in name.replace(f"{path[0]}.", "").split(",")]
        for key, value in zip(keys, values, strict=True):
            literal = value if value in ("true", "false") or value.isdecimal() else f'"{value}"'
            text = f"[{path[0]}]\n{key} = {literal}\n"
            assert tomllib.loads(text)
            (tmp_path / "gateway.toml").write_text(text)
            written = load_config(tmp_path / "gateway.toml", {})
            (tmp_path / "gateway.toml").write_text("")
            assert written == load_config(tmp_path / "gateway.toml", {}), (name, value)


def test_every_error_is_explained():
    for kind in ERROR_TYPES:
        assert f"| `{kind}` |" in TEXT


def test_the_one_face_that_does_not_say_the_same_is_named():
    """The capability API over the simulated world ranks with the frozen ranker."""
    assert "they say the same, with one exception: over the simulated world the capability API" in " ".join(
        TEXT.split()
    )
    world, query = load_world(default_world_path()), "how warm will it be tomorrow"
    body = {"query": query, "limit": 3, "session_id": "s", "view": "routing"}
    listed = [card["tool_id"] for card in CapabilityApi(world).search(body).payload["results"]]
    frozen, live = (
        [entry.tool.tool_ref for entry in Broker(world, settings=settings).rank(query, limit=3).entries]
        for settings in (BrokerSettings(fusion="bm25"), BrokerSettings())
    )
    assert listed == frozen
    assert listed != live
