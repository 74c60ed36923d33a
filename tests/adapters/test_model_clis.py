"""The Codex and Claude adapters against scripted command lines: every reason code, and what they hand on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovercall.adapter.authoring import Refusal
from discovercall.adapter.clis import claude, codex
from discovercall.adapter.clis.decision import Question
from discovercall.adapter.clis.facts import CLAUDE, CODEX, check_model
from discovercall.adapter.clis.options import CliOptions
from discovercall.adapter.clis.scratch import Scratch
from discovercall.adapter.protocol import request_bytes
from tests.adapters.cli_stage import (
    ANSWER,
    KEY,
    KEYS,
    MODELS,
    Stage,
    claude_result,
    claude_script,
    codex_script,
    logged,
    request_for,
)

pytestmark = [pytest.mark.slow, pytest.mark.part("model command lines, with stand-ins")]

START_CPU_S = 0.060
CLIS = ("codex", "claude")


@pytest.fixture(params=CLIS)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    return Stage(tmp_path, request.param)


@pytest.fixture
def codex_stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path, "codex")


@pytest.fixture
def claude_stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path, "claude")


def failed(message: str, *lines: str) -> dict[str, Any]:
    """A turn of Codex that failed."""
    event = {"type": "turn.failed", "error": {"message": message}}
    return codex_script(stdout=[{"type": "turn.started"}, event], stderr=list(lines), status=1)


def items(*kinds: str) -> dict[str, Any]:
    """A good turn of Codex with further items before its answer."""
    good = codex_script()
    extra = [{"type": "item.started", "item": {"id": "x", "type": kind}} for kind in kinds]
    return good | {"stdout": extra + good["stdout"]}


def with_log(*lines: str) -> dict[str, Any]:
    """A good turn of Codex with further lines in its log."""
    good = codex_script()
    return good | {"stderr": [*good["stderr"], *lines]}


CALL = {"type": "function_call", "name": "exec_command", "arguments": "{}"}
CODEX_CASES: dict[str, tuple[dict[str, Any], str | None]] = {
    "reasoning and notices": (items("reasoning", "error"), None),
    "command": (items("command_execution"), "tool_use_rejected"),
    "file change": (items("file_change"), "tool_use_rejected"),
    "item of a later version": (items("hologram"), "tool_use_rejected"),
    "tool call in the log alone": (
        with_log(logged("response.output_item.added", item=CALL)),
        "tool_use_rejected",
    ),
    "two responses": (with_log(logged("response.completed", response={})), "tool_use_rejected"),
    "no log": (codex_script(stderr=[]), "invalid_events"),
    "log that is no JSON": (with_log(logged("x").removesuffix("}")), "invalid_events"),
    "refusal": (with_log(logged("response.refusal.done", refusal="no")), "refused"),
    "refusal of a cut try": (
        codex_script(stderr=[logged("response.refusal.done"), *codex_script()["stderr"]]),
        None,
    ),
    "no text": (codex_script(stdout=[{"type": "turn.completed", "usage": {}}]), "invalid_output"),
    "no JSON": (codex_script("Sure!"), "invalid_output"),
    "fenced": (codex_script(f"```json\n{json.dumps(ANSWER)}\n```"), "invalid_output"),
    "wrong shape": (codex_script({"unexpected": 1}), "invalid_output"),
    "more than the schema has": (codex_script(ANSWER | {"usage": {}}), "invalid_output"),
    "wrong type": (codex_script({"tool_id": 7}), "invalid_output"),
    "429": (
        failed("exceeded retry limit, last status: 429 Too Many Requests, request id: r"),
        "rate_limited",
    ),
    "429 in the log": (
        failed("x", logged("response.failed", response={"error": {"code": "rate_limit_exceeded"}})),
        "rate_limited",
    ),
    "quota": (failed("Quota exceeded. Check your plan and billing details."), "rate_limited"),
    "429 in a model's name": (failed("unexpected status 404 Not Found: no model gpt-429"), "model_failed"),
    "401": (failed("unexpected status 401 Unauthorized: Incorrect API key provided: sk-x"), "model_failed"),
    "overloaded": (failed("Selected model is at capacity."), "model_failed"),
    "cut off": (
        failed(
            "x",
            logged("response.incomplete", response={"incomplete_details": {"reason": "max_output_tokens"}}),
        ),
        "output_limit",
    ),
    "filtered": (
        failed(
            "x", logged("response.incomplete", response={"incomplete_details": {"reason": "content_filter"}})
        ),
        "refused",
    ),
    "malformed failure": (codex_script(stdout=[{"type": "turn.failed"}], status=1), "model_failed"),
    "start-up error": (
        codex_script(stdout=[], stderr=["unknown configuration field"], status=1),
        "cli_failed",
    ),
    "usage error": (codex_script(stdout=[], status=2), "cli_failed"),
    "silence": (codex_script(stdout=[]), "cli_failed"),
    "killed in the turn": (codex_script(stdout=[{"type": "turn.started"}], status=143), "cli_failed"),
    "ended with 0 in the turn": (codex_script(stdout=[{"type": "turn.started"}]), "invalid_events"),
    "no JSON lines": (codex_script(stdout=["hello"]), "invalid_events"),
    "a list": (codex_script(stdout=["[1]"]), "invalid_events"),
    "flood": (codex_script(flood_mib=20, stdout=[]), "invalid_events"),
    "flood without a line's end": (codex_script(stdout=['{"x": "' + "y" * 17 * 2**20]), "output_limit"),
}


@pytest.mark.parametrize("case", CODEX_CASES)
def test_codex_reason_codes(codex_stage: Stage, case: str) -> None:
    script, code = CODEX_CASES[case]
    codex_stage.plays(script)
    assert codex_stage.code() == code
    assert codex_stage.left() == []


def claude_failed(**changes: Any) -> dict[str, Any]:
    """A run of Claude Code that failed, with the error of its last assistant event."""
    error = changes.pop("error", None)
    last = {"type": "assistant", "error": error, "message": {"content": [{"type": "text", "text": "x"}]}}
    return claude_script(stdout=[last, claude_result(is_error=True, **changes)], status=1)


def claude_says(*blocks: dict[str, Any], role: str = "assistant", **result: Any) -> dict[str, Any]:
    """A good run of Claude Code with a further message in it."""
    good = claude_script()["stdout"]
    message = {"type": role, "message": {"role": role, "content": list(blocks)}}
    return claude_script(stdout=[*good[:-1], message, claude_result(structured_output=ANSWER, **result)])


CLAUDE_CASES: dict[str, tuple[dict[str, Any], str | None]] = {
    "preamble and thinking": (claude_says({"type": "text"}, {"type": "thinking"}), None),
    "Bash": (claude_says({"type": "tool_use", "name": "Bash"}), "tool_use_rejected"),
    "tool of the server": (
        claude_says({"type": "server_tool_use", "name": "web_search"}),
        "tool_use_rejected",
    ),
    "tool of an MCP server": (
        claude_says({"type": "mcp_tool_use", "name": "StructuredOutput"}),
        "tool_use_rejected",
    ),
    "asked again": (claude_says({"type": "text", "text": "continue"}, role="user"), "tool_use_rejected"),
    "more turns": (claude_says(num_turns=3), "tool_use_rejected"),
    "no count of turns": (claude_says(num_turns=None), "tool_use_rejected"),
    "refusal": (claude_failed(stop_reason="refusal"), "refused"),
    "429": (claude_failed(api_error_status=429), "rate_limited"),
    "limit of a plan": (claude_failed(error="rate_limit"), "rate_limited"),
    "529": (claude_failed(api_error_status=529), "model_failed"),
    "401": (claude_failed(api_error_status=401, error="authentication_failed"), "model_failed"),
    "no connection": (claude_failed(), "model_failed"),
    "too long": (claude_failed(error="max_output_tokens"), "output_limit"),
    "no fitting answer": (claude_failed(subtype="error_max_turns"), "invalid_output"),
    "no answer but success": (claude_script(stdout=[claude_result()]), "invalid_output"),
    "wrong shape": (claude_script({"unexpected": 1}), "invalid_output"),
    "interrupted, yet 0": (claude_failed(subtype="error_during_execution") | {"status": 0}, "model_failed"),
    "no is_error": (
        claude_script(stdout=[claude_result(is_error=None, structured_output=ANSWER)]),
        "model_failed",
    ),
    "schema refused": (
        claude_script(stdout=[{"type": "control_response", "response": {"subtype": "error"}}]),
        "cli_failed",
    ),
    "start-up error": (claude_script(stdout=[], stderr=["error: unknown option"], status=1), "cli_failed"),
    "silence": (claude_script(stdout=[]), "cli_failed"),
    "no result": (claude_script(stdout=claude_script()["stdout"][:-1]), "invalid_events"),
    "no JSON lines": (claude_script(stdout=["hello"]), "invalid_events"),
    "flood without a line's end": (claude_script(stdout=["y" * 17 * 2**20]), "output_limit"),
}


@pytest.mark.parametrize("case", CLAUDE_CASES)
def test_claude_reason_codes(claude_stage: Stage, case: str) -> None:
    script, code = CLAUDE_CASES[case]
    claude_stage.plays(script)
    assert claude_stage.code() == code
    assert claude_stage.left() == []


def test_answer_and_usage(stage: Stage) -> None:
    prompt_tokens = {"codex": 1234, "claude": 210 + 1024 + 300}[stage.cli]
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": 57, "cached_tokens": 1024}
    assert stage.decide() == {**ANSWER, "usage": usage}
    assert stage.left() == []


def test_usage_that_was_not_reported_is_left_out(stage: Stage) -> None:
    zeros = {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0}
    codex_lines = [*codex_script()["stdout"][:-1], {"type": "turn.completed", "usage": zeros}]
    claude_lines = [claude_result(structured_output=ANSWER, modelUsage={})]
    stage.plays(
        codex_script(stdout=codex_lines) if stage.cli == "codex" else claude_script(stdout=claude_lines)
    )
    assert stage.decide() == ANSWER


def handed_on(stage: Stage) -> tuple[str, str, Any]:
    """System instruction, user message and schema as the command line got them."""
    seen = stage.seen
    if stage.cli == "codex":
        config = tomllib.loads(seen["config"]["config.toml"])
        return config["developer_instructions"], seen["stdin"], json.loads(seen["files"]["schema.json"])
    control, user = map(json.loads, seen["stdin"].splitlines())  # by every kind of line end
    return seen["files"]["system.txt"], user["message"]["content"], control["request"]["jsonSchema"]


def test_messages_and_schema_go_on_unchanged(stage: Stage) -> None:
    """More than one read of a pipe and one argument hold, of characters that chunks cut."""
    request = request_for(stage.cli, "京都" * 60_000 + " @/etc/passwd \U0001f30d\u2028\x7f'\"\\")
    request["messages"][0]["content"] = 'true # \x7f \'x\' """ \\ \n\t\U0001f30d'
    request["response_schema"]["properties"]["tool_id"]["description"] = "東" * 100_000
    stage.decide(request=request)
    system, user = (message["content"] for message in request["messages"])
    assert handed_on(stage) == (system, user, request["response_schema"])
    assert max(map(len, stage.seen["arguments"])) < 4096


def test_command_line_gets_an_empty_home_and_a_short_environment(stage: Stage) -> None:
    hostile = {
        "ANTHROPIC_BASE_URL": "https://example.org",
        "ANTHROPIC_AUTH_TOKEN": "t",
        "ANTHROPIC_MODEL": "x",
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "OPENAI_BASE_URL": "https://example.org",
        "OPENAI_API_KEY": "t",
        "QVERIS_API_KEY": "secret",
        "GITHUB_TOKEN": "secret",
        "NODE_OPTIONS": "--require /tmp/x.js",
        "LD_PRELOAD": "/tmp/x.so",
        "LANG": "C.UTF-8",
    }
    done = subprocess.run(
        stage.command(),
        input=request_bytes(request_for(stage.cli)),
        env={**stage.variables, **{k: v for k, v in hostile.items() if k != "LD_PRELOAD"}},
        cwd=stage.folder,
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout)["tool_id"] == ANSWER["tool_id"]
    assert done.stdout.count(b"\n") == 1
    seen = stage.seen
    assert seen["environment"][KEYS[stage.cli]] == KEY
    assert seen["environment"]["LANG"] == "C.UTF-8"
    assert not (hostile.keys() - {"LANG"}) & seen["environment"].keys()
    assert (seen["work"], seen["home"]) == ([], [])
    assert seen["links"] == {}
    assert set(seen["config"]) <= {"config.toml"}
    for name in ("HOME", "TMPDIR", {"codex": "CODEX_HOME", "claude": "CLAUDE_CONFIG_DIR"}[stage.cli]):
        assert not Path(seen["environment"][name]).exists()
        assert Path(seen["environment"][name]).is_relative_to(stage.temporary)
    assert KEY not in json.dumps([seen["arguments"], seen["config"], seen["files"]])


def test_effort_and_base_url(stage: Stage) -> None:
    stage.variables |= {"HTTPS_PROXY": "http://proxy.example:1", "HTTP_PROXY": "http://proxy.example:1"}
    stage.decide("--effort", "high", "--base-url", "http://127.0.0.1:9/v1")
    seen = stage.seen
    if stage.cli == "codex":
        config = tomllib.loads(seen["config"]["config.toml"])
        assert config["model_reasoning_effort"] == "high"
        assert config["model_providers"]["discovercall"]["base_url"] == "http://127.0.0.1:9/v1"
    else:
        assert seen["arguments"][seen["arguments"].index("--effort") + 1] == "high"
        assert seen["environment"]["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:9/v1"
    assert "HTTPS_PROXY" not in seen["environment"]
    stage.decide()
    assert "HTTPS_PROXY" in stage.seen["environment"]
    assert "ANTHROPIC_BASE_URL" not in stage.seen["environment"]
    if stage.cli == "codex":
        config = tomllib.loads(stage.seen["config"]["config.toml"])
        assert config["model_reasoning_effort"] == "medium"
        assert config["model_providers"]["discovercall"]["base_url"] == "https://api.openai.com/v1"


@pytest.mark.parametrize("version", ["0.144.1", "0.160.0", "0.171.0", "1.0.0"])
def test_codex_is_told_only_what_its_version_knows(codex_stage: Stage, version: str) -> None:
    codex_stage.plays(codex_script(version=f"codex-cli {version}"))
    codex_stage.decide()
    config = tomllib.loads(codex_stage.seen["config"]["config.toml"])
    recent = version in ("0.171.0", "1.0.0")
    assert ("agents" in config) == recent
    assert ("multi_agent" in config["features"]) != recent
    assert not any(config["features"].values())


def login(stage: Stage) -> Path:
    """A person's own configuration, with a login; the key is not set."""
    del stage.variables[KEYS[stage.cli]]
    folder = stage.home / {"codex": ".codex", "claude": ".claude"}[stage.cli]
    folder.mkdir()
    for name in ("config.toml", "AGENTS.md", "settings.json", "CLAUDE.md"):
        (folder / name).write_text("mine")
    path = folder / {"codex": "auth.json", "claude": ".credentials.json"}[stage.cli]
    path.write_text("tokens")
    path.chmod(0o600)
    return path


def test_login_is_linked_in_alone(stage: Stage) -> None:
    path = login(stage)
    stage.decide()
    seen = stage.seen
    assert seen["links"] == {path.name: str(path)}
    assert set(seen["config"]) <= {path.name, "config.toml"}
    assert "mine" not in seen["config"].values()
    assert KEYS[stage.cli] not in seen["environment"]
    if stage.cli == "codex":
        provider = tomllib.loads(seen["config"]["config.toml"])["model_providers"]["discovercall"]
        assert provider["requires_openai_auth"] is True
        assert not {"base_url", "env_key"} & provider.keys()
    assert path.read_text() == "tokens"


def test_login_elsewhere(stage: Stage) -> None:
    path = login(stage)
    stage.variables[{"codex": "CODEX_HOME", "claude": "CLAUDE_CONFIG_DIR"}[stage.cli]] = str(path.parent)
    stage.variables["HOME"] = "/nonexistent"
    stage.decide()
    assert stage.seen["links"] == {path.name: str(path)}


def test_renewed_login_is_kept(stage: Stage) -> None:
    path = login(stage)
    before = sorted(os.listdir(path.parent))
    script = {"codex": codex_script, "claude": claude_script}[stage.cli]
    stage.plays(script(replace={path.name: "renewed"}))
    stage.decide()
    assert path.read_text() == "renewed"
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(path.parent)) == before


def test_key_comes_before_a_login(stage: Stage) -> None:
    login(stage)
    stage.variables[KEYS[stage.cli]] = f" {KEY}\n"
    stage.decide()
    assert stage.seen["links"] == {}
    assert stage.seen["environment"][KEYS[stage.cli]] == KEY


def test_without_key_and_login_nothing_is_asked(stage: Stage) -> None:
    stage.variables[KEYS[stage.cli]] = " "
    assert stage.code() == "start_failed"
    assert not stage.started


@pytest.mark.parametrize(
    "arguments",
    [
        ("--cli-version", "9.9.9"),
        ("--cli-path", "bin/cli"),
        ("--cli-path", "/nonexistent/cli"),
        ("--effort", "enormous"),
        ("--base-url", "https://api.example.org"),
        ("--base-url", "http://127.0.0.1.example.org/"),
        ("--base-url", "http://user@127.0.0.1/"),
        ("--base-url", "http://127.0.0.1:x/"),
        ("--eff", "high"),
        ("extra",),
    ],
)
def test_wrong_arguments_ask_nothing(stage: Stage, arguments: tuple[str, ...]) -> None:
    assert stage.code(*arguments) == "start_failed"
    assert not stage.started
    assert stage.left() == []


@pytest.mark.parametrize("printed", ["", "claude native binary not installed", "codex-cli x"])
def test_half_installed_command_line(stage: Stage, printed: str) -> None:
    stage.plays({"version": printed, "version_status": 1})
    assert stage.code() == "start_failed"
    assert stage.left() == []


def test_command_line_that_cannot_be_started(stage: Stage) -> None:
    (stage.bin / stage.cli).write_text("#!/nonexistent/interpreter\n")
    assert stage.code() == "start_failed"
    (stage.bin / stage.cli).unlink()
    assert stage.code() == "start_failed"


def test_the_version_asked_for(stage: Stage) -> None:
    version = {"codex": "0.171.0", "claude": "2.1.332"}[stage.cli]
    assert stage.code("--cli-version", version) is None


@pytest.mark.parametrize(
    ("cli", "model", "full"),
    [
        (CLAUDE, "claude-sonnet-4-5", True),
        (CLAUDE, "claude-3-5-sonnet-20241022", True),
        (CLAUDE, "claude-opus-4-1-20250805", True),
        (CLAUDE, "sonnet", False),
        (CLAUDE, "opusplan", False),
        (CLAUDE, "claude-sonnet", False),
        (CLAUDE, "sonnet[1m]", False),
        (CLAUDE, "claude-3-5-sonnet-latest", False),
        (CLAUDE, "--model", False),
        (CLAUDE, "claude-sonnet-4-5\n", False),
        (CODEX, "gpt-5.5", True),
        (CODEX, "o3", True),
        (CODEX, "gpt-5.6-sol", True),
        (CODEX, "gpt", False),
        (CODEX, "codex", False),
        (CODEX, "gpt-5-latest", False),
        (CODEX, "", False),
        (CODEX, None, False),
    ],
)
def test_full_model_names_only(cli: Any, model: object, full: bool) -> None:
    if full:
        assert check_model(cli, model) == model
        return
    with pytest.raises(Refusal) as caught:
        check_model(cli, model)
    assert caught.value.code == "start_failed"


def test_an_alias_asks_nothing(stage: Stage) -> None:
    request = request_for(stage.cli) | {"model": "sonnet"}
    assert stage.code(request=request) == "start_failed"
    assert not stage.started


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_for(condition: Any, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("stubborn", [False, True], ids=["obedient", "ignores SIGTERM"])
def test_time_limit_leaves_nothing(stage: Stage, stubborn: bool) -> None:
    script = {"codex": codex_script, "claude": claude_script}[stage.cli]
    stage.plays(script(stdout=[], sleep_s=60, ignore_term=stubborn, leave_child=True))
    before = time.monotonic()
    assert stage.code(timeout_s=2) == "timeout"
    assert time.monotonic() - before < 2 + 1.5
    assert gone(stage.seen["pid"])
    assert gone(stage.seen["child"])
    assert stage.left() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_adapter_reaches_the_command_line(stage: Stage, number: signal.Signals) -> None:
    """By itself, without a harness that would end the rest."""
    script = {"codex": codex_script, "claude": claude_script}[stage.cli]
    stage.plays(script(stdout=[], sleep_s=60, ignore_term=True, leave_child=True))
    with subprocess.Popen(
        stage.command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=stage.environment(),
        cwd=stage.folder,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(request_bytes(request_for(stage.cli)))
        process.stdin.close()
        wait_for(lambda: stage.started)
        assert os.listdir(stage.temporary)
        process.send_signal(number)
        assert process.wait(5) == -number
        assert process.stdout is not None
        assert process.stdout.read() == b""
    wait_for(lambda: gone(stage.seen["pid"]) and gone(stage.seen["child"]), 2)
    assert stage.left() == []


def test_program_that_outlives_its_wrapper(stage: Stage) -> None:
    """It holds the wrapper's output open; the answer does not wait for it, and it is ended."""
    script = {"codex": codex_script, "claude": claude_script}[stage.cli]
    stage.plays(script(leave_child=True))
    before = time.monotonic()
    assert stage.decide()["tool_id"] == ANSWER["tool_id"]
    assert time.monotonic() - before < 10
    assert gone(stage.seen["child"])


def test_a_tool_call_ends_the_command_line_at_once(stage: Stage) -> None:
    script = {
        "codex": codex_script(
            stderr=[logged("response.output_item.added", item=CALL)], stdout=[], sleep_s=60
        ),
        "claude": claude_script(
            stdout=claude_says({"type": "tool_use", "name": "Bash"})["stdout"][:-1], sleep_s=60
        ),
    }[stage.cli]
    stage.plays(script)
    assert stage.code() == "tool_use_rejected"
    assert gone(stage.seen["pid"])


def test_command_line_that_does_not_read(stage: Stage) -> None:
    script = {"codex": codex_script, "claude": claude_script}[stage.cli]
    stage.plays(script(no_reading=True))
    request = request_for(stage.cli, "x" * 500_000)
    assert stage.decide(request=request)["tool_id"] == ANSWER["tool_id"]


def test_nothing_a_provider_says_is_shown(codex_stage: Stage) -> None:
    codex_stage.plays(failed(f"unexpected status 401 Unauthorized: Incorrect API key provided: {KEY}"))
    done = subprocess.run(
        codex_stage.command(),
        input=request_bytes(request_for("codex")),
        env=codex_stage.environment(),
        cwd=codex_stage.folder,
        capture_output=True,
        text=False,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr == b"the turn failed: HTTP 401\nDISCOVERCALL_ADAPTER_ERROR=model_failed\n"


@pytest.mark.parametrize("cli", CLIS)
def test_adapter_starts_at_once(cli: str, tmp_path: Path) -> None:
    """CPU time up to a refused stage: the interpreter, the imports, the request."""
    stage = Stage(tmp_path, cli)
    environment = stage.environment() | {"PYTHONDONTWRITEBYTECODE": ""}

    def once() -> float:
        process = subprocess.Popen(
            stage.command(), stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        assert process.stdin is not None
        process.stdin.write(b'{"stage":"none"}')
        process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 1
        return usage.ru_utime + usage.ru_stime

    # The least of several: a busy machine only ever adds.
    assert min(once() for _ in range(7)) <= START_CPU_S


def question(cli: str, system: str = "s") -> Question:
    return Question(MODELS[cli], system, "u", {"type": "object"}, CliOptions(), "0.171.0", by_key=True)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_instruction_survives_toml(text: str) -> None:
    assert tomllib.loads(codex.config(question("codex", text)))["developer_instructions"] == text


@pytest.mark.parametrize("cli", CLIS)
@given(
    lines=st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.recursive(
                st.none()
                | st.booleans()
                | st.integers()
                | st.sampled_from(["result", "user", "item.completed"]),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.dictionaries(
                        st.sampled_from(
                            [
                                "type",
                                "item",
                                "message",
                                "content",
                                "text",
                                "response",
                                "usage",
                                "error",
                                "event",
                            ]
                        ),
                        inner
                        | st.sampled_from(["assistant", "turn.completed", "turn.failed", "control_response"]),
                        max_size=4,
                    )
                ),
                max_leaves=12,
            ).map(lambda value: json.dumps(value).encode()),
        ),
        max_size=6,
    ),
    status=st.sampled_from([0, 1, -15]),
)
def test_no_output_breaks_the_judge(cli: str, lines: list[bytes], status: int) -> None:
    """Whatever is written, there is an answer or a reason."""
    turn_class = codex.CodexTurn if cli == "codex" else claude.ClaudeTurn
    with Scratch() as scratch:
        turn = turn_class(question(cli), scratch)
        with contextlib.suppress(Refusal):
            for line in lines:
                turn.on_stdout(line)
                turn.on_stderr(b"codex_api::sse::responses: SSE event: " + line)
            turn.reply(status)
    assert not scratch.home.exists()


def test_scratch_of_a_killed_adapter_lies_where_the_harness_clears(stage: Stage) -> None:
    stage.plays(
        {"version": "", **{"codex": codex_script, "claude": claude_script}[stage.cli](sleep_s=60, stdout=[])}
    )
    empty = stage.folder / "empty"
    empty.mkdir()
    with subprocess.Popen(
        stage.command(), stdin=subprocess.PIPE, env=stage.environment(), cwd=empty, start_new_session=True
    ) as process:
        assert process.stdin is not None
        process.stdin.write(request_bytes(request_for(stage.cli)))
        process.stdin.close()
        wait_for(lambda: stage.started)
        assert Path(stage.seen["environment"]["HOME"]).is_relative_to(empty)
        os.kill(process.pid, signal.SIGKILL)
    os.kill(stage.seen["pid"], signal.SIGKILL)


def test_help(stage: Stage) -> None:
    done = subprocess.run(stage.command("--help"), capture_output=True, text=True, check=True, env={})
    assert "--cli-version" in done.stdout
