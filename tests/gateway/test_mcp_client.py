"""Real MCP servers behind the broker, over standard streams and over HTTP, in every mood."""

import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from discovercall.gateway.assembly import assemble
from discovercall.gateway.listing import run_index
from discovercall.gateway.mcp_client import McpDownstream
from tests.support.mcp.scripted import NOTHING, TEXT, Scripted, configure, tool

pytestmark = [pytest.mark.slow, pytest.mark.part("MCP client over real servers")]

SAY = {"text": "hi"}
TEXT_TO = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "to": {"type": "string"}},
    "required": ["text", "to"],
}
ANNOUNCE = tool("change", NOTHING, mode="announce")


def desk_in(folder):
    return Scripted(folder).offer(
        tool("say", title="Say it"),
        tool("look", NOTHING, readOnly=True, result={"rows": [1, 2]}),
        tool("fails", NOTHING, mode="error"),
        tool("refuses", NOTHING, mode="protocol-error"),
        tool("stuck", NOTHING, mode="slow"),
        tool("dies", NOTHING, mode="crash"),
        tool("flood", NOTHING, mode="huge"),
        tool("blabs", NOTHING, mode="secret"),
        tool("paints", NOTHING, mode="image"),
        tool("nap", NOTHING, mode="slow", seconds=1.5),
    )


@pytest.fixture
def desk(tmp_path):
    return desk_in(tmp_path)


@pytest.fixture
def config(tmp_path, desk):
    return configure(tmp_path, desk.toml())


@pytest.fixture
def broker(config):
    assert run_index(config, semantic="off").complete
    assembly = assemble(config, semantic="off")
    yield assembly.plain
    assembly.broker.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One running server for the tests that change nothing about it: its script and the broker."""
    folder = tmp_path_factory.mktemp("shared")
    desk = desk_in(folder)
    text = desk.toml(env='{ TOKEN = "${DESK_TOKEN}" }')
    config = configure(folder, text, {"DESK_TOKEN": "tok-secret-1"})
    assert run_index(config, semantic="off").complete
    assembly = assemble(config, semantic="off")
    yield desk, assembly.plain
    assembly.broker.close()


def error_of(answer):
    return answer.to_json()["error"]


def test_tools_are_read_as_the_server_has_them(config, desk):
    downstream = McpDownstream(config.servers)
    try:
        tools = {tool.name: tool for tool in downstream.tools("desk", 60)}
    finally:
        downstream.close()
    assert (tools["say"].tool_ref, tools["say"].title) == ("desk.say", "Say it")
    assert tools["say"].input_schema == TEXT
    assert [name for name, entry in tools.items() if entry.read_only] == ["look"]


def test_calls_and_their_results(shared):
    desk, broker = shared
    before = len(desk.calls())
    said = broker.call("desk.say", SAY).to_json()
    assert said["result"] == f"say\n{json.dumps(SAY)}"
    assert broker.call("desk.look", {}).to_json()["result"] == {"rows": [1, 2]}
    assert broker.call("desk.paints", {}).to_json()["notices"] == [
        "Content without text was left out: image."
    ]
    assert [call["name"] for call in desk.calls()[before:]] == ["say", "look", "paints"]


def test_invalid_arguments_start_no_program(config, desk):
    run_index(config, semantic="off")
    assembly = assemble(config, semantic="off")
    assert error_of(assembly.plain.call("desk.say", {}))["type"] == "ARGUMENT_VALIDATION_FAILED"
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if _runs(path, desk)]
    assert desk.calls() == []


@pytest.mark.parametrize("name", ["fails", "refuses"])
def test_errors_of_the_tool(shared, name):
    _, broker = shared
    error = error_of(broker.call(f"desk.{name}", {}))
    assert (error["type"], error["retryable"]) == ("DOWNSTREAM_CALL_FAILED", False)
    assert {"fails": "disk full", "refuses": "not today"}[name] in error["message"]
    assert broker.call("desk.say", SAY).ok


def test_secret_in_a_message_is_masked(shared):
    _, broker = shared
    error = error_of(broker.call("desk.blabs", {}))
    assert "denied for [redacted]" in error["message"]


def test_program_that_dies_in_mid_call_is_started_again_for_the_next(shared):
    desk, broker = shared
    before = len(desk.calls())
    error = error_of(broker.call("desk.dies", {}))
    assert (error["type"], error["retryable"]) == ("DOWNSTREAM_CALL_FAILED", True)
    assert error["retry"]["precondition"] == "backoff"
    assert broker.call("desk.say", SAY).ok
    assert [call["name"] for call in desk.calls()[before:]] == ["dies", "say"]


def test_drift_is_found_by_the_broker(broker, desk, config):
    desk.offer(tool("say", TEXT_TO))
    error = error_of(broker.call("desk.say", SAY))
    assert error["type"] == "TOOL_SCHEMA_CHANGED"
    assert [problem["field"] for problem in error["problems"]] == ["to"]
    assert desk.calls() == []
    run_index(config, semantic="off")
    assert error_of(broker.call("desk.say", SAY))["type"] == "ARGUMENT_VALIDATION_FAILED"
    assert broker.call("desk.say", {"text": "hi", "to": "you"}).ok


@pytest.fixture
def changing(tmp_path):
    """A server with an open connection to it, over which a call has succeeded: its script and the broker.

    Servers of the newer protocol announce nothing that was not subscribed to.
    """
    desk = Scripted(tmp_path, "desk", "handshake").offer(tool("say"), ANNOUNCE)
    config = configure(tmp_path, desk.toml())
    assert run_index(config, semantic="off").complete
    assembly = assemble(config, semantic="off")
    try:
        assert assembly.plain.call("desk.say", SAY).ok
        yield desk, assembly.plain
    finally:
        assembly.broker.close()


def assert_drift(answer):
    error = error_of(answer)
    assert error["type"] == "TOOL_SCHEMA_CHANGED"
    assert [problem["field"] for problem in error["problems"]] == ["to"]


def test_drift_that_the_server_announces_on_an_open_connection(changing):
    desk, broker = changing
    desk.offer(tool("say", TEXT_TO), ANNOUNCE)
    assert broker.call("desk.change", {}).ok
    assert_drift(broker.call("desk.say", SAY))
    assert [call["name"] for call in desk.calls()] == ["say", "change"]


def test_drift_without_a_word_on_an_open_connection(changing, monkeypatch):
    desk, broker = changing
    desk.offer(tool("say", TEXT_TO))
    later = SimpleNamespace(monotonic=lambda: time.monotonic() + 31)
    monkeypatch.setattr("discovercall.gateway.mcp_connection.time", later)
    assert_drift(broker.call("desk.say", SAY))
    assert [call["name"] for call in desk.calls()] == ["say"]


def test_huge_result_is_cut_to_whole_items(shared):
    _, broker = shared
    answer = broker.call("desk.flood", {}).to_json()
    assert len(json.dumps(answer["result"], separators=(",", ":"))) <= 65_536
    assert answer["result"][0] == {"row": 0, "text": "x" * 50}
    assert f"{len(answer['result'])} of 5000 items" in answer["notices"][0]


def test_own_time_limit(tmp_path, desk):
    config = configure(tmp_path, desk.toml() + "\n[timeouts]\ncall_ms = 8000\ndiscovery_ms = 60000\n")
    run_index(config, semantic="off")
    assembly = assemble(config, semantic="off")
    started = time.monotonic()
    error = error_of(assembly.plain.call("desk.stuck", {}))
    assert time.monotonic() - started < 30
    assembly.broker.close()
    assert (error["type"], error["retryable"]) == ("DOWNSTREAM_CALL_FAILED", False)
    assert "timeouts.call_ms (8000 ms)" in error["message"]


def test_slow_call_outlives_the_discovery_limit(tmp_path, desk):
    run_index(configure(tmp_path, desk.toml()), semantic="off")
    config = configure(tmp_path, desk.toml() + "\n[timeouts]\ndiscovery_ms = 1000\ncall_ms = 60000\n")
    assembly = assemble(config, semantic="off")
    assert assembly.plain.call("desk.nap", {}).ok
    assembly.broker.close()


@pytest.mark.parametrize(
    "server",
    [
        '[servers.gone]\ncommand = "/no/such/program"\n',
        f"[servers.gone]\ncommand = {json.dumps(sys.executable)}\nargs = [\"-c\", \"exit(3)\"]\n",
        '[servers.gone]\nurl = "http://127.0.0.1:9/mcp"\n',
    ],
)  # fmt: skip
def test_offline_servers(tmp_path, server):
    config = configure(tmp_path, server)
    run = run_index(config, semantic="off")
    assert not run.complete
    report = run.to_json()["servers"][0]
    assert (report["status"], report["tools"], bool(report["error"])) == ("offline", 0, True)


def test_server_that_goes_away_keeps_its_tools_as_stale(tmp_path, desk):
    run_index(configure(tmp_path, desk.toml()), semantic="off")
    gone = configure(tmp_path, '[servers.desk]\ncommand = "/no/such/program"\n')
    assert not run_index(gone, semantic="off").complete
    assembly = assemble(gone, semantic="off")
    described = assembly.plain.describe("desk.say").to_json()
    assert described["status"] == {
        "callableNow": False, "serverStatus": "offline", "catalogFreshness": "stale"
    }  # fmt: skip
    assert assembly.plain.find("say it").to_json()["catalogStats"]["staleTools"] == 10
    error = error_of(assembly.plain.call("desk.say", SAY))
    assembly.broker.close()
    assert (error["type"], error["retry"]["precondition"]) == ("DOWNSTREAM_SERVER_OFFLINE", "server_online")


def test_over_http(tmp_path, desk):
    with desk.serving(key="http-key-9") as url:
        text = f'[servers.desk]\nurl = "{url}"\nheaders = {{ Authorization = "Bearer ${{KEY}}" }}\n'
        config = configure(tmp_path, text, {"KEY": "http-key-9"})
        assert run_index(config, semantic="off").complete
        assembly = assemble(config, semantic="off")
        assert assembly.plain.call("desk.look", {}).to_json()["result"] == {"rows": [1, 2]}
        assembly.broker.close()
        for environment in ({"KEY": "wrong-key"}, {}):
            refused = assemble(configure(tmp_path, text, environment), semantic="off")
            error = error_of(refused.plain.call("desk.look", {}))
            refused.broker.close()
            assert (error["type"], error["retryable"]) == ("AUTH_UNAVAILABLE", False)
            assert "wrong-key" not in str(error)


def test_close_ends_the_programs(broker, desk):
    assert broker.call("desk.say", SAY).ok
    pids = [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if _runs(path, desk)]
    assert pids
    broker.close()
    assert not [pid for pid in pids if Path(f"/proc/{pid}/cmdline").exists() and _alive(pid)]


def _runs(path, desk):
    try:
        return str(desk.state).encode() in path.read_bytes()
    except OSError:
        return False


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
