"""The command line, the capability API and the contract benchmark over one's own MCP server."""

import json
import subprocess
import sys

import httpx
import pytest

from discovercall.gateway.assembly import assemble
from discovercall.gateway.capability_api import CapabilityApi
from discovercall.gateway.listing import run_index
from discovercall.gateway.server import EmbeddedGateway
from tests.support.mcp.scripted import NOTHING, Scripted, configure, tool
from tests.support.output_schemas import checked

pytestmark = [pytest.mark.slow, pytest.mark.part("gateway over an MCP server")]

PROGRAM = [sys.executable, "-c", "from discovercall.cli.main import main; main()"]
OPEN = {"type": "object", "properties": {"filter": {"type": "object"}}}
SUM = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"anyOf": [{"type": "number"}, {"type": "null"}]}},
    "required": ["a", "b"],
    "$defs": {"n": {"type": "integer"}},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    desk = Scripted(folder).offer(
        tool("send_note", description="Send a note to a colleague."),
        tool("list_notes", NOTHING, readOnly=True, result={"notes": ["a"]}, description="List all notes."),
        tool("add_numbers", SUM, description="Add two numbers."),
        tool("query", {**OPEN, "required": ["filter"]}, description="Query the records."),
        tool("search_rows", OPEN, description="Search the rows of a table."),
        tool("fails", NOTHING, mode="error", description="Always fails."),
    )
    config = configure(folder, desk.toml() + '[search]\nsemantic = "off"\n')
    return desk, config, run_index(config)


def run(*words, cwd=None):
    return subprocess.run([*PROGRAM, *words], capture_output=True, text=True, timeout=120, cwd=cwd)


def test_index_tells_what_cannot_be_offered_strictly(made):
    document = made[2].to_json()
    assert document["ok"]
    assert document["servers"] == [{"serverId": "desk", "status": "online", "tools": 6}]
    assert document["notStrict"] == [
        {"toolRef": "desk.query", "path": "filter", "why": "an object without properties"}
    ]
    assert document["forcedNull"] == [{"toolRef": "desk.search_rows", "paths": ["filter"]}]


def test_commands_over_servers(made):
    config = str(made[1].path)
    index = run("gateway", "index", "--config", config, "--format", "concise")
    assert (index.returncode, index.stdout.count("\n")) == (0, 1)
    assert index.stdout.startswith("6 tools of 1 servers, 1 read now; search: lexical")
    human = run("gateway", "index", "--config", config)
    assert "desk.query: no strict schema; filter: an object without properties" in human.stdout
    listed = json.loads(run("gateway", "list", "--config", config, "--format", "json").stdout)
    assert listed["catalogStats"]["indexedTools"] == 6
    assert listed["catalogStats"]["catalogAgeSeconds"] >= 0
    found = json.loads(run("gateway", "find", "list my notes", "--config", config, "--format", "json").stdout)
    assert found["selectedToolRef"] == "desk.list_notes"
    called = run("gateway", "call", "desk.list_notes", "--config", config)
    assert (called.returncode, '"notes"' in called.stdout) == (0, True)
    failed = run("gateway", "call", "desk.fails", "--config", config, "--format", "concise")
    assert failed.returncode == 1
    assert failed.stdout == "DOWNSTREAM_CALL_FAILED: desk.fails reported an error: disk full\n"
    text = run("gateway", "call", "desk.fails", "--config", config)
    assert "retry: never" in text.stdout


def test_an_unreadable_server_is_exit_1_and_the_rest_is_indexed(made, tmp_path):
    desk = made[0]
    config = configure(tmp_path, desk.toml() + '[servers.gone]\ncommand = "/no/such/program"\n')
    done = run("gateway", "index", "--config", str(config.path), "--format", "json", "--semantic", "off")
    assert done.returncode == 1
    document = checked("gateway-index", done.stdout)
    assert [(s["serverId"], s["status"], s["tools"]) for s in document["servers"]] == [
        ("desk", "online", 6),
        ("gone", "offline", 0),
    ]
    assert not document["ok"]


def test_damaged_index_is_an_envelope(made, tmp_path):
    config = configure(tmp_path, made[0].toml())
    config.index_path.write_text("{")
    for words in (["find", "x"], ["describe", "a.b"], ["call", "a.b"], ["list"]):
        done = run("gateway", *words, "--config", str(config.path), "--format", "json")
        assert done.returncode == 1
        assert json.loads(done.stdout)["error"]["type"] == "CONFIG_ERROR"
    assert run("gateway", "index", "--config", str(config.path), "--semantic", "off").returncode == 0
    assert run("gateway", "list", "--config", str(config.path)).returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["find"], "query"),
        (["find", "x", "--format", "xml"], "--format"),
        (["find", "x", "--catalog", "a", "--config", "b"], "--config"),
        (["find", "x", "--config", "none.toml"], "none.toml"),
        (["index"], "gateway.toml"),
        (["call"], "tool_ref"),
        (["serve", "--face", "mcp-http", "--faults", "f"], "--faults"),
        (["serve", "--face", "other"], "--face"),
    ],
)
def test_usage_mistakes_are_exit_2(words, told, tmp_path):
    done = run("gateway", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


@pytest.mark.parametrize("text", ["[1]", "x", '"s"', "null", ""])
def test_arguments_that_are_no_object(text):
    done = run("gateway", "call", "mail.x", "--json", text, "--format", "json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["type"] == "ARGUMENT_VALIDATION_FAILED"


def test_capability_api_over_a_server(made):
    desk, config, _ = made
    assembly = assemble(config)
    before = len(desk.calls())
    try:
        with EmbeddedGateway(CapabilityApi(assembly.plain)) as gateway:
            http = httpx.Client(
                headers={"Authorization": f"Bearer {gateway.api_key}"}, trust_env=False, timeout=60
            )

            def post(path, body):
                return http.post(gateway.base_url + path, json=body)

            found = post("/search", {"query": "add two numbers", "limit": 3})
            assert found.headers["x-qveris-catalog-version"].startswith("gateway-")
            search = found.json()
            assert search["results"][0]["tool_id"] == "desk.add_numbers"
            body = {"tool_ids": ["desk.add_numbers"], "search_id": search["search_id"]}
            lean = post("/tools/by-ids", body).json()["results"][0]
            assert [(p["name"], p["type"], p["required"]) for p in lean["params"]] == [
                ("a", "integer", True), ("b", "number", True)
            ]  # fmt: skip
            url = "/tools/execute?tool_id=desk.add_numbers"
            good = post(url, {"search_id": search["search_id"], "parameters": {"a": 1, "b": 2}}).json()
            assert good["success"]
            assert good["cost"] == 0
            assert "add_numbers" in good["result"]["data"]
            bad = post(url, {"search_id": search["search_id"], "parameters": {"a": "x", "b": 2}}).json()
            assert (bad["success"], bad["result"]) == (False, None)
            assert "a must be of type integer" in bad["error_message"]
    finally:
        assembly.broker.close()
    assert [call["arguments"] for call in desk.calls()[before:]] == [{"a": 1, "b": 2}]


def task(**members):
    return {
        "id": "sum",
        "prompt": "Add 2 and 40.",
        "discover_query": "add two numbers",
        "constraints": [{"id": "a", "aliases": ["a"], "value": 2}],
        "reference": {"candidates": [{"tool_id": "desk.add_numbers", "parameters": {"a": 2, "b": 40}}]},
    } | members


def test_the_contract_benchmark_runs_over_a_server(made, tmp_path):
    desk, config, _ = made
    before = len(desk.calls())
    tasks, output = tmp_path / "tasks.jsonl", tmp_path / "out.jsonl"
    query = {"tool_id": "desk.query", "parameters": {"filter": "x"}}
    rows = [
        task(),
        task(
            id="query",
            discover_query="query the records",
            constraints=[{"id": "f", "aliases": ["filter"], "value": "x"}],
            reference={"candidates": [query]},
        ),
    ]
    tasks.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["run", "--gateway", str(config.path), "--tasks", str(tasks), "--trials", "2", "--execute"]
    words += ["--adapter", "reference", "--output", str(output), "--allow-tracked-output"]
    plan = json.loads(run(*words, "--plan-only", "--format", "json").stdout)
    again = json.loads(run(*words, "--plan-only", "--format", "json").stdout)
    assert plan == again
    done = run(*words)
    assert done.returncode == 0, done.stderr
    assert "Never called, for it has no strict schema: desk.query: filter" in done.stderr
    records = [json.loads(line) for line in output.read_text().splitlines()]
    assert all(record["metadata"]["api_base_url"] == "http://127.0.0.1/gateway" for record in records)
    assert {record["metadata"]["api_revision"] for record in records} == {"gateway-1"}
    succeeded = [record for record in records if record["task_id"] == "sum"]
    assert all(record["call"]["success"] for record in succeeded)
    refused = [record for record in records if record["task_id"] == "query"]
    assert all(record["status"] == "failed" for record in refused)
    assert [call["name"] for call in desk.calls()[before:]] == ["add_numbers", "add_numbers"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--sandbox"], "--gateway"),
        (["--api-base-url", "https://example.org"], "--gateway"),
        (["--gateway", "none.toml"], "none.toml"),
    ],
)
def test_run_refuses_contradictions(made, tmp_path, more, told):
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(json.dumps(task()) + "\n")
    words = ["run", "--gateway", str(made[1].path), "--tasks", str(tasks), "--adapter", "reference"]
    done = run(*words, "--output", str(tmp_path / "o.jsonl"), "--allow-tracked-output", *more)
    assert done.returncode == 2
    assert told in done.stderr


def test_run_needs_an_index(made, tmp_path):
    config = configure(tmp_path, made[0].toml())
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(json.dumps(task()) + "\n")
    words = ["run", "--gateway", str(config.path), "--tasks", str(tasks), "--adapter", "reference"]
    done = run(*words, "--output", str(tmp_path / "o.jsonl"), "--allow-tracked-output")
    assert done.returncode == 2
    assert "discovercall gateway index" in done.stderr
    assert not (tmp_path / "o.jsonl").exists()
