"""Commands that an answer advises can be run as they are."""

import json
import re
import shlex

import pytest
from typer.testing import CliRunner

from discovercall.cli.gateway import app
from discovercall.gateway.assembly import assemble, assemble_world
from discovercall.gateway.catalog import default_world_path, load_world
from discovercall.gateway.results import Answer
from tests.gateway.hostile import configure_hostile


def commands(answer):
    return [shlex.split(text) for text in re.findall(r"`([^`]*)`", json.dumps(answer.to_json()))]


@pytest.mark.parametrize("file", [None, default_world_path()], ids=["bundled", "file"])
def test_world(file):
    world = load_world(default_world_path())
    broker = assemble_world(world, semantic="off", vectors=None, path=file).plain
    server = world.servers[0].server_id
    for answer in (broker.find(""), broker.describe("a.b"), broker.call(f"{server}.no_such_tool", {})):
        [command] = commands(answer)
        assert command[:3] == ["discovercall", "gateway", "list"]
        assert CliRunner().invoke(app, command[2:]).exit_code == 0


def test_servers(tmp_path):
    folder = tmp_path / "with space"
    folder.mkdir()
    config = configure_hostile(folder)
    broker = assemble(config, semantic="off").plain
    wanted = ["discovercall", "gateway", "index", "--config", str(config.path)]
    answers: list[Answer] = [broker.find("send a note"), broker.describe("x.y"), broker.describe("s.ok")]
    config.index_path.write_text("{")
    answers += [broker.find("send a note"), broker.describe("s.ok"), broker.call("s.ok", {})]
    for answer in answers:
        assert wanted in commands(answer)
        assert ["discovercall", "gateway", "index"] not in commands(answer)
    assert CliRunner().invoke(app, ["index", *wanted[3:], "--semantic", "off"]).exit_code == 0
