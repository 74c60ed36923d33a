"""The commands `discovercall gateway …`, as a person starts them."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from discovercall.cli.gateway import app
from discovercall.gateway.catalog import default_world_path, load_world
from discovercall.gateway.index_file import write_index
from discovercall.gateway.store import Catalog
from tests.gateway.worlds import world
from tests.support.mcp.scripted import Scripted, configure, tool

PROGRAM = [sys.executable, "-c", "from discovercall.cli.main import main; main()", "gateway"]
WORLD = load_world(default_world_path())


def run(*arguments):
    return subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=60)


@contextlib.contextmanager
def serving(*arguments, stop=signal.SIGINT):
    """A served gateway: its process, what it printed up to its last line, and the exit code afterwards."""
    command = [*PROGRAM, "serve", "--port", "0", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, "".join(_until_ready(process))
            process.send_signal(stop)
            process.wait(20)
        finally:
            process.kill()


def _until_ready(process):
    for line in process.stdout:
        yield line
        if "Ctrl-C" in line:
            return
    raise AssertionError("the gateway ended")


def address(printed):
    return re.findall(r"http://127\.0\.0\.1:\d+/api/v1", printed)[0]


def key_path(printed):
    return Path(re.findall(r"^Key: (\S+)", printed, re.MULTILINE)[0])


def search(url, key):
    headers = {"Authorization": f"Bearer {key}"}
    for _ in range(100):
        with contextlib.suppress(httpx.ConnectError):
            return httpx.post(f"{url}/search", json={"query": "weather"}, headers=headers, trust_env=False)
    raise AssertionError("the gateway does not answer")


def test_serve_tells_how_to_use_it_and_cleans_up():
    with serving() as (process, printed):
        path = key_path(printed)
        key = path.read_text().strip()
        assert path.stat().st_mode & 0o777 == 0o600
        assert key not in printed
        assert f"discovercall run --api-base-url {address(printed)} --api-key-file {path}" in printed
        assert search(address(printed), key).status_code == 200
        assert search(address(printed), "other").status_code == 401
        command = Path(f"/proc/{process.pid}/cmdline")
        assert not command.exists() or key.encode() not in command.read_bytes()
    assert process.returncode == 130
    assert not path.exists()
    assert not path.parent.exists()


def test_interrupt_counts_where_a_shell_had_it_ignored():
    ignore = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    command = [sys.executable, "-c", ignore, *PROGRAM, "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        search(address("".join(_until_ready(process))), "x")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130


def test_termination_cleans_up_too():
    with serving(stop=signal.SIGTERM) as (process, printed):
        path = key_path(printed)
        search(address(printed), "x")
    assert process.returncode == -signal.SIGTERM
    assert not path.parent.exists()


def test_key_file_is_read_and_kept(tmp_path):
    path = tmp_path / "key"
    path.write_text("my-own-key\n")
    path.chmod(0o600)
    with serving("--api-key-file", path) as (_, printed):
        assert search(address(printed), "my-own-key").status_code == 200
    assert path.read_text() == "my-own-key\n"


def test_absent_key_file_is_created_and_kept(tmp_path):
    path = tmp_path / "key"
    with serving("--api-key-file", path) as (_, printed):
        assert search(address(printed), path.read_text().strip()).status_code == 200
    assert path.stat().st_mode & 0o777 == 0o600


def test_faults_and_journal(tmp_path):
    faults, journal = tmp_path / "faults.json", tmp_path / "requests.jsonl"
    faults.write_text('[{"on": "search", "do": {"status": 503}}]')
    with serving("--faults", faults, "--journal", journal) as (_, printed):
        key = key_path(printed).read_text().strip()
        assert search(address(printed), key).status_code == 503
        assert search(address(printed), key).status_code == 200
    assert [json.loads(line)["fault"] for line in journal.read_text().splitlines()] == ["status", None]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "0.0.0.0"], ["--host", "loopback"]),
        (["--catalog", "none.json"], ["none.json"]),
        (["--faults", "none.json"], ["none.json"]),
        (["--journal", "/no/such/folder/j"], ["/no/such/folder/j"]),
        (["--port", "70000"], ["--port"]),
        (["--semantic", "require"], ["--semantic", "by words alone"]),
        (["--semantic", "auto"], ["--semantic", "by words alone"]),
    ],
)
def test_serve_refuses_in_one_line(arguments, words, tmp_path):
    done = subprocess.run(
        [*PROGRAM, "serve", "--port", "0", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    for word in words:
        assert word in done.stderr
    assert not list(tmp_path.iterdir())


def test_key_file_that_others_can_read_is_refused(tmp_path):
    path = tmp_path / "key"
    path.write_text("my-own-key")
    path.chmod(0o644)
    done = run("serve", "--port", "0", "--api-key-file", str(path))
    assert done.returncode == 2
    assert f"chmod 600 {path}" in done.stderr
    assert "my-own-key" not in done.stderr


def test_list():
    table = run("list")
    assert table.returncode == 0
    assert len(table.stdout.splitlines()) == len(WORLD.tools) + 1
    listed = json.loads(run("list", "--format", "json").stdout)
    assert [tool["toolRef"] for tool in listed["tools"]] == [tool.tool_ref for tool in WORLD.tools]


def test_find():
    query = "track a weather forecast"
    done = run("find", query, "--format", "json", "--limit", "3", "--scores", "--semantic", "off")
    found = json.loads(done.stdout)
    assert found["scores"]["top"][0]["toolRef"] == found["selectedToolRef"]
    assert (done.returncode, found["query"], found["decision"]) == (0, query, "ambiguous")
    assert len(found["alternatives"]) == 2
    assert found["selectedToolRef"] in run("find", query, "--semantic", "off").stdout
    assert "lexical" in done.stderr
    nothing = run("find", "zzzz", "--semantic", "off")
    assert (nothing.returncode, "No tool" in nothing.stdout) == (0, True)


def test_options_of_find_count_over_servers_too(tmp_path):
    names = ("send_note", "list_notes", "delete_note")
    config = configure(
        tmp_path, Scripted(tmp_path).offer(*map(tool, names)).toml() + '[search]\nsemantic = "off"\n'
    )
    assert run("index", "--config", str(config.path)).returncode == 0
    find = ("find", "notes", "--config", str(config.path), "--format", "json")
    plain = json.loads(run(*find).stdout)
    assert (len(plain["alternatives"]), "scores" in plain) == (2, False)
    asked = json.loads(run(*find, "--limit", "2", "--scores").stdout)
    assert (len(asked["alternatives"]), "scores" in asked) == (1, True)


@pytest.mark.parametrize("indexed", [False, True])
def test_a_disabled_server_of_a_configuration_is_never_reached(tmp_path, indexed):
    started = tmp_path / "started"
    program = f'command = "touch"\nargs = [{json.dumps(str(started))}]\n'
    config = configure(tmp_path, f"[servers.mail]\nenabled = false\n{program}[servers.wiki]\n{program}")
    if indexed:
        # An index of the time when it was enabled.
        write_index(config.index_path, Catalog.of_world(world(), indexed_at=1.0))
    for words in (["describe", "mail.search"], ["call", "mail.search", "--json", '{"query": "x"}']):
        done = CliRunner().invoke(app, [*words, "--config", str(config.path), "--format", "json"])
        error = json.loads(done.output)["error"]
        assert (done.exit_code, error["type"], error["retry"]) == (1, "CONFIG_ERROR", {"when": "never"})
        assert error["message"] == "Server mail is disabled."
    assert not started.exists()


def test_unknown_format_is_a_usage_error():
    assert run("list", "--format", "xml").returncode == 2


def test_who_has_no_configuration_is_told_what_one_holds(tmp_path):
    done = run("index", "--config", str(tmp_path / "gateway.toml"))
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "gateway.toml: cannot be read (No such file or directory); write one: [servers.NAME] " in done.stderr
    )
    (tmp_path / "gateway.toml").write_text("[servers")
    assert "write one" not in run("index", "--config", str(tmp_path / "gateway.toml")).stderr
