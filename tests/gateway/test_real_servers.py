"""MCP servers of other people: indexed, searched, called, measured, and their schemas made strict."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema.validators import validator_for

from discovercall.adapter.schema import UnsupportedParameterSchema, parameter_response_schema
from discovercall.gateway.arguments import check_arguments
from discovercall.gateway.assembly import assemble, load_encoder
from discovercall.gateway.baseline import BaselineRanker
from discovercall.gateway.discovery import DiscoveryRanker
from discovercall.gateway.listing import run_index
from discovercall.gateway.nulls import without_nulls
from discovercall.gateway.parameters import derive_params
from discovercall.gateway.strict import NotStrictError, strict_schema
from tests.gateway.test_strict import obeys
from tests.support.mcp.installed import CORE, SERVERS, installed
from tests.support.mcp.scripted import configure
from tests.support.schema_values import value_for

pytestmark = pytest.mark.slow

PROGRAM = [sys.executable, "-c", "from discovercall.cli.main import main; main()"]
TASKS = [
    {
        "id": "oslo-time",
        "prompt": "What time is it in Oslo? Use the IANA name Europe/Oslo.",
        "discover_query": "current time in a time zone",
        "constraints": [{"id": "zone", "aliases": ["timezone"], "value": "Europe/Oslo"}],
        "reference": {
            "candidates": [{"tool_id": "time.get_current_time", "parameters": {"timezone": "Europe/Oslo"}}]
        },
    },
    {
        "id": "sum",
        "prompt": "Add 2 and 40.",
        "discover_query": "sum of two numbers",
        "constraints": [
            {"id": "a", "aliases": ["a"], "value": 2},
            {"id": "b", "aliases": ["b"], "value": 40},
        ],
        "reference": {"candidates": [{"tool_id": "everything.get-sum", "parameters": {"a": 2, "b": 40}}]},
    },
]


def toml_of(names, folder):
    text = ""
    for name in names:
        program = installed(name)
        if isinstance(program, str):
            pytest.skip(program)
        arguments = [word.format(folder=folder) for word in SERVERS[name].arguments]
        text += f"[servers.{name}]\ncommand = {json.dumps(str(program))}\nargs = {json.dumps(arguments)}\n"
        text += f'env = {{ MEMORY_FILE_PATH = "{folder}/memory.json" }}\n' if name == "memory" else ""
    return text


def indexed(names, folder):
    config = configure(folder, toml_of(names, folder))
    run = run_index(config, semantic="off")
    assert run.complete, run.to_json()
    assert {report.server_id: report.tools for report in run.servers} == {
        name: SERVERS[name].tools for name in names
    }
    return config, run


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    folder = tmp_path_factory.mktemp("core")
    (folder / "hello.txt").write_text("hello from a file\n")
    config, _ = indexed(CORE, folder)
    assembly = assemble(config, semantic="off")
    yield folder, config, assembly.plain
    assembly.broker.close()


@pytest.mark.part("MCP servers from the registries")
def test_find_describe_and_call(core):
    folder, _, broker = core
    found = broker.find("what is the current time in a time zone").to_json()
    assert found["selectedToolRef"] == "time.get_current_time"
    described = broker.describe("everything.get-sum").to_json()
    assert described["inputSchema"]["required"] == ["a", "b"]
    assert "3" in broker.call("everything.get-sum", {"a": 1, "b": 2}).to_json()["result"]
    read = broker.call("filesystem.read_text_file", {"path": str(folder / "hello.txt")}).to_json()
    assert read["result"] == {"content": "hello from a file\n"}
    now = broker.call("time.get_current_time", {"timezone": "Europe/Oslo"}).to_json()
    assert now["result"]["timezone"] == "Europe/Oslo"
    picture = broker.call("everything.get-tiny-image", {}).to_json()
    assert picture["notices"] == ["Content without text was left out: image."]


@pytest.mark.part("MCP servers from the registries")
def test_errors_of_real_servers(core):
    _, _, broker = core
    outside = broker.call("filesystem.read_text_file", {"path": "/etc/hostname"}).to_json()["error"]
    assert (outside["type"], outside["retryable"]) == ("DOWNSTREAM_CALL_FAILED", False)
    wrong = broker.call("time.get_current_time", {"timezone": 7}).to_json()["error"]
    assert wrong["type"] == "ARGUMENT_VALIDATION_FAILED"
    nowhere = broker.call("time.get_current_time", {"timezone": "Nowhere/None"}).to_json()["error"]
    assert nowhere["type"] == "DOWNSTREAM_CALL_FAILED"


@pytest.mark.part("MCP servers from the registries")
def test_the_contract_benchmark_runs_over_them(core, tmp_path):
    _, config, _ = core
    tasks, output = tmp_path / "tasks.jsonl", tmp_path / "run.jsonl"
    tasks.write_text("".join(json.dumps(task) + "\n" for task in TASKS))
    words = ["run", "--gateway", str(config.path), "--tasks", str(tasks), "--trials", "1", "--execute"]
    words += ["--adapter", "reference", "--output", str(output), "--allow-tracked-output"]
    done = subprocess.run([*PROGRAM, *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    scored = subprocess.run(
        [*PROGRAM, "score", "--tasks", str(tasks), "--runs", str(output), "--format", "json"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert scored.returncode == 0, scored.stderr
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert [line["status"] for line in lines] == ["completed", "completed"]
    assert all(line["call"]["success"] for line in lines)
    assert all(line["metadata"]["api_base_url"] == "http://127.0.0.1/gateway" for line in lines)


@pytest.fixture(scope="module")
def everything_there_is(tmp_path_factory):
    """All tools of all servers, as they were indexed."""
    folder = tmp_path_factory.mktemp("all")
    config, run = indexed(tuple(SERVERS), folder)
    assembly = assemble(config, semantic="off")
    yield assembly.plain.source.current().tools(), run
    assembly.broker.close()


def refusal(tool):
    """Why a tool has no strict schema; the rules hold for one that has."""
    try:
        obeys(strict_schema(tool.input_schema, tool_ref=tool.tool_ref).schema)
    except NotStrictError as error:
        return str(error)
    return None


def params_refusal(tool):
    """The same by way of the capability API's parameter list."""
    try:
        obeys(parameter_response_schema({"params": derive_params(tool.input_schema)}))
    except UnsupportedParameterSchema as error:
        return str(error)
    return None


@pytest.mark.part("schemas of all MCP servers")
def test_nearly_all_tools_have_a_strict_schema(everything_there_is):
    tools, run = everything_there_is
    assert len(tools) == sum(real.tools for real in SERVERS.values())
    compiled = [tool for tool in tools if refusal(tool) is None]
    named = {error.tool_ref: error.path for error in run.not_strict}
    assert set(named) == {tool.tool_ref for tool in tools} - {tool.tool_ref for tool in compiled}
    assert all(named.values())
    by_params = [tool for tool in tools if params_refusal(tool) is None]
    assert all("params." in (params_refusal(tool) or "params.") for tool in tools)
    assert len(compiled) >= 0.95 * len(tools), f"{len(compiled)} of {len(tools)}"
    assert len(by_params) >= 0.95 * len(tools), f"{len(by_params)} of {len(tools)}"


@pytest.mark.part("schemas of all MCP servers")
def test_what_strict_schemas_let_through_the_tools_accept(everything_there_is):
    """Limits that structured outputs have no word for (the length of a text) are left to the call."""
    source = random.Random(7)
    for tool in everything_there_is[0]:
        try:
            compiled = strict_schema(tool.input_schema, tool_ref=tool.tool_ref).schema
        except NotStrictError:
            continue
        judge = validator_for(dict(tool.input_schema))(dict(tool.input_schema))
        for _ in range(20):
            arguments = without_nulls(value_for(compiled, source), tool.input_schema)
            assert not [e for e in judge.iter_errors(arguments) if e.validator != "minLength"], tool.tool_ref
            assert check_arguments(tool.input_schema, arguments) == []


@pytest.mark.part("semantic search over MCP servers")
def test_search_over_foreign_tools(everything_there_is):
    """Floors just below what was measured (.48, .74, .16, .97): what was once found stays found."""
    encoder, why = load_encoder("auto", None)
    if encoder is None:
        pytest.skip(why)
    tools = [t for t in everything_there_is[0] if t.server_id not in ("everything", "chrome", "mongodb")]
    cases = json.loads(Path(__file__).with_name("data").joinpath("real-requests.json").read_text())
    model, words = DiscoveryRanker(tools, encoder=encoder), BaselineRanker(tools)
    ranks = [model.rank(c["request"]).rank_of(set(c["acceptable"])) for c in cases["matchable"]]
    plain = [words.rank(c["request"]).rank_of(set(c["acceptable"])) for c in cases["matchable"]]
    refused = [model.rank(c["request"]).decision == "no_good_match" for c in cases["matchable"]]
    absent = [model.rank(request).decision == "no_good_match" for request in cases["absent"]]
    assert sum(rank == 1 for rank in ranks) >= 22
    assert sum(1 <= rank <= 3 for rank in ranks) >= 36
    assert sum(refused) <= 9
    assert sum(absent) >= 28
    assert sum(rank == 1 for rank in ranks) >= 2 * sum(rank == 1 for rank in plain)


@pytest.mark.part("strict schemas on a llama.cpp server")
def test_a_model_server_honours_them(everything_there_is, tmp_path):
    import importlib.util

    import httpx

    missing = [name for name in ("xllamacpp", "gguf") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed")
    programs, model, key = Path(__file__).parents[1] / "support/models", tmp_path / "tiny.gguf", "k"
    subprocess.run([sys.executable, programs / "tiny_model.py", model], check=True, timeout=60)
    command = [sys.executable, str(programs / "llama_server.py"), str(model), key]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            url = f"{process.stdout.readline().strip()}/v1/chat/completions"
            asked = valid = 0
            for tool in everything_there_is[0]:
                try:
                    schema = strict_schema(tool.input_schema, tool_ref=tool.tool_ref).schema
                except NotStrictError:
                    continue
                body = {
                    "model": "tiny-random", "seed": 1, "max_tokens": 3000,
                    "messages": [{"role": "user", "content": "go"}],
                    "response_format": {
                        "type": "json_schema",
                        "json_schema": {"name": "arguments", "strict": True, "schema": schema},
                    },
                }  # fmt: skip
                reply = httpx.post(url, json=body, headers={"Authorization": f"Bearer {key}"}, timeout=120)
                assert reply.status_code == 200, (tool.tool_ref, reply.text[:300])
                choice = reply.json()["choices"][0]
                asked += 1
                if choice["finish_reason"] == "stop":
                    answer = json.loads(choice["message"]["content"])
                    errors = validator_for(schema)(schema).iter_errors(answer)
                    valid += not list(errors)
        finally:
            process.stdin.close()
            process.wait(30)
    assert asked >= 180
    assert valid >= 0.95 * asked, f"{valid} of {asked}"
