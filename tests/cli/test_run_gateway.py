"""A plan over MCP servers names which servers it reaches, and runs over no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from discovercall.cli.sandbox import connected, gateway_definition_sha256
from discovercall.contract.lane_options import LaneOptions
from discovercall.contract.options import RunOptions, prepare_run
from discovercall.foundation.errors import InputError
from discovercall.foundation.revision import UNKNOWN_REVISION
from tests.support.bench import Bench, Done, assert_refused
from tests.support.records import lines, task

SERVER = {"command": "/bin/one", "args": ["a"], "env": {"TOKEN": "${SECRET}"}}


def index(path: Path, at: int = 1, **changes: Any) -> None:
    """Write an index of one tool."""
    entry = {
        "serverId": "desk",
        "name": "list_notes",
        "title": "",
        "description": "List all notes.",
        "inputSchema": {"type": "object", "properties": {}},
        "readOnly": True,
        "freshness": "fresh",
        "lastIndexedAt": at,
    }
    servers = [{"id": "desk", "status": "online"}]
    content = {"version": 1, "indexedAt": at, "servers": servers, "tools": [entry | changes]}
    path.with_name("gateway.index.json").write_text(json.dumps(content))


def configure(folder: Path, server: dict[str, Any] = SERVER, more: str = "") -> Path:
    """Write a configuration of one server, and its index."""
    path = folder / "gateway.toml"
    tables = {name: value for name, value in server.items() if isinstance(value, dict)}
    plain = {name: value for name, value in server.items() if name not in tables}
    text = ["[servers.desk]", *(f"{name} = {json.dumps(value)}" for name, value in plain.items())]
    for table, members in tables.items():
        text += [f"[servers.desk.{table}]", *(f"{n} = {json.dumps(v)}" for n, v in members.items())]
    path.write_text("\n".join([*text, more, ""]))
    index(path)
    return path


def digest(path: Path, **environment: str) -> str:
    return gateway_definition_sha256(path, environment)


@pytest.mark.parametrize(
    "changed",
    [
        SERVER | {"command": "/bin/two"},
        SERVER | {"args": ["b"]},
        SERVER | {"args": []},
        SERVER | {"env": {"OTHER": "${SECRET}"}},
        SERVER | {"cwd": "elsewhere"},
        SERVER | {"enabled": False},
        {"url": "http://127.0.0.1:1/mcp"},
        {"url": "http://127.0.0.1:1/mcp", "headers": {"X-Key": "k"}},
    ],
)
def test_the_digest_tells_other_servers(tmp_path: Path, changed: dict[str, Any]) -> None:
    before = digest(configure(tmp_path))
    assert digest(configure(tmp_path)) == before
    assert digest(configure(tmp_path, changed)) != before


def test_the_digest_tells_another_place_setting_and_index(tmp_path: Path) -> None:
    path = configure(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    before = digest(path)
    found = {before, digest(configure(other))}
    found.add(digest(configure(tmp_path, more="[budgets]\nmax_results = 2\n")))
    configure(tmp_path)
    index(path, description="List none.")
    found.add(digest(path))
    path.with_name("gateway.index.json").write_text("{")
    found.add(digest(path))
    path.with_name("gateway.index.json").unlink()
    found.add(digest(path))
    assert len(found) == 6
    index(path, at=2)
    assert digest(path) == before, "the same tools, read again"


def test_values_of_secrets_are_not_part_of_the_digest(tmp_path: Path) -> None:
    path = configure(tmp_path)
    assert digest(path) == digest(path, SECRET="s-1") == digest(path, SECRET="s-2")
    address = {"url": "http://127.0.0.1:1/mcp", "headers": {"X-Key": "${SECRET}"}}
    path = configure(tmp_path, address)
    assert digest(path, SECRET="s-1") == digest(path, SECRET="s-2")


def test_servers_that_change_after_the_plan_are_not_reached(tmp_path: Path, bench: Bench) -> None:
    path = configure(tmp_path)
    lane = LaneOptions(output=tmp_path / "o.jsonl", model="m", lane="configured-model", adapter="reference")
    options = RunOptions(
        (lane,),
        tasks=bench.tasks,
        gateway=path,
        api_definition_sha256=digest(path),
        allow_tracked_output=True,
    )
    prepared = prepare_run(options, {}, UNKNOWN_REVISION)
    configure(tmp_path, SERVER | {"command": "/bin/two"})
    with (
        pytest.raises(InputError, match="changed since the plan was made"),
        connected(prepared, options, {}),
    ):
        pass


def over(bench: Bench, path: Path, **changes: Any) -> Done:
    """`run --gateway` without one call."""
    bench.tasks.write_text(lines(task()))
    return bench.run(api_base_url=None, gateway=path, max_billed_calls=0, **changes)


def test_neither_an_approved_plan_nor_a_resumed_run_reaches_other_servers(bench: Bench) -> None:
    path = configure(bench.folder)
    shown = over(bench, path, plan_only=True, format="json")
    assert shown.code == 0, shown
    approved = json.loads(shown.out)
    assert approved["plan"]["api_definition_sha256"] == digest(path)
    assert over(bench, path, plan_digest=approved["plan_digest"]).code == 3, "the limit of no call"
    configure(bench.folder, SERVER | {"command": "/bin/two"})
    other = over(bench, path, plan_digest=approved["plan_digest"], resume=True)
    assert_refused(other, "approved was", code=1)
    resumed = over(bench, path, resume=True)
    assert resumed.code == 2, resumed
    assert "this is another run: api_definition_sha256 was " in resumed.err
    configure(bench.folder)
    assert over(bench, path, resume=True).code == 3


def test_a_plan_without_a_gateway_says_nothing_of_one(bench: Bench) -> None:
    shown = bench.run(plan_only=True, format="json")
    assert "api_definition_sha256" not in json.loads(shown.out)["plan"]
