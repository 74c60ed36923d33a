"""Workflows, action, docs and command line say the same, and the linters are content."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from discovercall.cadence.config import CadenceConfig
from discovercall.cli.cadence import app
from tests.cadence.checkout import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CADENCE = ROOT / ".github" / "workflows" / "discover-call-cadence.yml"
DOCS = (ROOT / "docs" / "cadence.md").read_text()
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
SCRIPT = (ROOT / ".github" / "action" / "cadence.sh").read_text()


def workflow(path: Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(path.read_text())
    return found


def rows(heading: str) -> list[list[str]]:
    """Cells of the first table after a heading of the docs."""
    lines = DOCS.split(f"\n{heading}\n", 1)[1].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| "))
    table = []
    for line in lines[start + 2 :]:
        if not line.startswith("| "):
            break
        table.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return table


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_zizmor_finds_nothing() -> None:
    program = Path(sys.executable).parent / "zizmor"
    done = subprocess.run(
        [program, "--offline", "--strict-collection", "--persona", "pedantic", "action.yml",
         ".github/workflows"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "action.yml"], ids=lambda path: path.name)
def test_actions_are_pinned_and_scripts_expand_nothing(path: Path) -> None:
    text = path.read_text()
    for used in re.findall(r"^\s*(?:- )?uses: (.+)$", text, re.MULTILINE):
        assert re.match(r"(?:\./ #|[\w./-]+@[0-9a-f]{40} # v\d)", used), used
    content = yaml.safe_load(text)
    steps = content["runs"]["steps"] if "runs" in content else [
        step for job in content["jobs"].values() for step in job.get("steps", [])
    ]  # fmt: skip
    assert not [step["run"] for step in steps if "${{" in step.get("run", "")]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_jobs_have_limits_and_least_permissions(path: Path) -> None:
    content = workflow(path)
    assert content["permissions"] == {}
    for job in content["jobs"].values():
        assert job["timeout-minutes"] <= 180
        assert job["permissions"]
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_each_job_holds_what_the_docs_say() -> None:
    jobs = workflow(CADENCE)["jobs"]
    text = CADENCE.read_text()
    blocks = {name: text.split(f"\n  {name}:\n", 1)[1].split("\n\n  ", 1)[0] for name in jobs}
    secrets = {name: set(re.findall(r"secrets\.(\w+)", block)) for name, block in blocks.items()}
    assert secrets == {
        "plan": set(),
        "measure": {"QVERIS_API_KEY", "CODEX_API_KEY", "ANTHROPIC_API_KEY"},
        "propose": {"BENCHMARK_PR_TOKEN"},
    }
    writing = {name for name, job in jobs.items() if "write" in job["permissions"].values()}
    assert writing == {"propose"}
    assert "environment" not in jobs["plan"]
    assert (jobs["measure"]["environment"], jobs["propose"]["environment"]) == (
        "benchmark-production", "benchmark-publish",
    )  # fmt: skip
    assert jobs["measure"]["if"] == "needs.plan.outputs.skip == 'false'"
    assert jobs["measure"]["concurrency"] == {
        "group": "benchmark-${{ inputs.release_sha }}", "cancel-in-progress": False,
    }  # fmt: skip
    assert blocks["measure"].count("upload-artifact") == 1
    assert "upload-artifact" not in blocks["plan"] + blocks["propose"]
    for job in ("plan", "measure", "propose"):
        assert f"`{job}`" in DOCS
    for secret in set().union(*secrets.values()):
        assert f"`{secret}`" in DOCS


def test_both_triggers_take_the_same_inputs_and_the_run_is_named_by_its_release() -> None:
    content = workflow(CADENCE)
    triggers = content[True]  # YAML reads `on` as true
    assert triggers["workflow_dispatch"]["inputs"] == triggers["workflow_call"]["inputs"]
    assert content["run-name"] == (
        "${{ inputs.rehearsal && 'Rehearsal' || 'Benchmark' }} of ${{ inputs.release_sha }}"
    )


def test_the_action_agrees_with_its_script_and_the_docs() -> None:
    documented = [name for row in rows("### The action") for name in names(row[0])]
    assert sorted(documented) == sorted(ACTION["inputs"])
    env = ACTION["runs"]["steps"][0]["env"]
    passed = {re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", value).group(1) for value in env.values()}  # type: ignore[union-attr]
    assert passed == set(ACTION["inputs"])
    assert {name for name in env if name.startswith("IN_")} == set(
        re.findall(r"\bIN_[A-Z0-9_]+\b", SCRIPT)
    ) - {"IN_"}
    listed = DOCS.split("\nOutputs: ", 1)[1].split("\n\n", 1)[0]
    assert sorted(names(listed)) == sorted(ACTION["outputs"])
    for name, output in ACTION["outputs"].items():
        assert output["value"] == f"${{{{ steps.cadence.outputs.{name} }}}}"
    sources = sorted((ROOT / "discovercall" / "cli").glob("cadence*.py"))
    written = {
        keyword.arg
        for source in sources
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "set_outputs"
        for keyword in node.keywords
    }
    assert written == set(ACTION["outputs"])


def test_the_commands_are_those_of_the_docs_and_the_action() -> None:
    commands = {command.callback.__name__ for command in app.registered_commands if command.callback}
    assert {names(row[0])[0].removeprefix("cadence ") for row in rows("## Commands")} == commands
    described = ACTION["inputs"]["command"]["description"]
    assert set(re.findall(r"[a-z]+", described.split(": ", 1)[1])) - {"or"} == commands - {"document"}


def test_the_docs_name_every_field_and_every_message() -> None:
    fields = {name for row in rows("## cadence.json") for name in names(row[0])}
    assert fields == set(CadenceConfig.model_fields)
    assert [row[0] for row in rows("## When something goes wrong")] == [f"M{n}" for n in range(1, 8)]


def test_the_image_is_built_from_what_the_lock_pins() -> None:
    def pins(name: str) -> set[str]:
        return set(re.findall(r"^[a-z0-9-]+==\S+", (ROOT / "requirements" / name).read_text(), re.MULTILINE))

    assert pins("runtime.txt") <= pins("image.txt") <= pins("dev.txt")
    assert any(pin.startswith("pygithub==") for pin in pins("image.txt"))


# The script, with a docker that only writes down how it was called


@pytest.fixture
def step(tmp_path: Path) -> Any:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "docker").write_text(
        '#!/bin/sh\nprintf "%s\\0" "$@" >>"$LOG"; printf "\\n\\0" >>"$LOG"\n'
        "case $1 in build) echo sha256:built;; image) exit 0;; esac\n"
        'if [ "$1" = run ]; then env >"$LOG.env"; exit "${CODE:-0}"; fi\n'
    )
    (programs / "docker").chmod(0o755)
    root = tmp_path / "root"
    root.mkdir()

    def run(command: str, **more: str) -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
        log = tmp_path / "log"
        log.write_bytes(b"")
        for name in ("output", "summary"):
            (tmp_path / name).write_text("")
        defaults = {
            f"IN_{name.upper()}": str(item.get("default", "")) for name, item in ACTION["inputs"].items()
        }
        env = {
            **defaults, "PATH": f"{programs}:{os.environ['PATH']}", "LOG": str(log),
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_OUTPUT": str(tmp_path / "output"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            "GITHUB_ACTION_PATH": str(ROOT), "IN_COMMAND": command, "IN_ROOT": str(root), **more,
        }  # fmt: skip
        done = subprocess.run(
            [ROOT / ".github" / "action" / "cadence.sh"], env=env, cwd=root, capture_output=True, text=True
        )
        calls = [call.split("\0")[:-1] for call in log.read_text().split("\n\0")[:-1]]
        return done, calls

    return run


RUN = {
    "IN_RELEASE_SHA": "a" * 40, "IN_PLAN": '{"plan": 1}', "IN_PLAN_DIGEST": "d" * 64,
    "QVERIS_API_KEY": "catalog-secret", "CODEX_API_KEY": "model-secret", "GITHUB_TOKEN": "token-secret",
}  # fmt: skip


def test_the_container_is_hardened_and_no_key_is_on_a_command_line(step: Any, tmp_path: Path) -> None:
    done, calls = step("run", IN_BUNDLE=str(tmp_path / "bundle"), **RUN)
    assert done.returncode == 0, done.stderr
    build, run = calls
    assert build[build.index("--target") + 1] == "harness-cli"
    text = " ".join(run)
    for flag in ("--read-only", "--cap-drop ALL", "--security-opt no-new-privileges", "--pids-limit", "--rm"):
        assert flag in text
    assert not re.search(r"--user 0\b", text)
    assert "/checkout:ro" in text
    assert "secret" not in text
    assert {"QVERIS_API_KEY", "CODEX_API_KEY", "GITHUB_TOKEN"} <= set(run)
    assert "QVERIS_BASE_URL" not in run
    assert "ANTHROPIC_API_KEY" not in run


@pytest.mark.parametrize("command", ["plan", "guard", "propose", "recover", "dispatch", "headline"])
def test_keys_go_to_run_alone(step: Any, tmp_path: Path, command: str) -> None:
    given = {
        **RUN,
        "IN_BUNDLE": str(tmp_path / "b"),
        "IN_BUNDLE_SHA256": "e" * 64,
        "IN_BRANCH": "benchmark/x",
        "QVERIS_BASE_URL": "https://catalog.example/v1",
    }
    done, calls = step(command, **given)
    assert done.returncode == 0, done.stderr
    assert not {"QVERIS_API_KEY", "CODEX_API_KEY", "ANTHROPIC_API_KEY"} & set(calls[-1])
    assert ("QVERIS_BASE_URL" in calls[-1]) is (command == "plan")
    assert "-secret" not in " ".join(calls[-1])
    environment = (tmp_path / "log.env").read_text()
    assert "catalog-secret" not in environment
    assert "model-secret" not in environment


def test_headline_only_checks_for_the_checkout_is_read_only(step: Any) -> None:
    done, calls = step("headline")
    assert done.returncode == 0, done.stderr
    assert calls[-1][-4:] == ["headline", "--check", "--root", "/checkout"]


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("plan", "release_sha"),
        ("run", "plan"),
        ("run", "bundle"),
        ("propose", "bundle_sha256"),
        ("recover", "branch"),
    ],
)
def test_required_inputs_are_checked(step: Any, tmp_path: Path, command: str, missing: str) -> None:
    given = {
        **RUN,
        "IN_BUNDLE": str(tmp_path / "b"),
        "IN_BUNDLE_SHA256": "e" * 64,
        "IN_BRANCH": "benchmark/x",
    }
    given[f"IN_{missing.upper()}"] = ""
    done, calls = step(command, **given)
    assert done.returncode == 2
    assert f"the input {missing} is required" in done.stderr
    assert not calls


@pytest.mark.parametrize(
    "more",
    [
        {"IN_COMMAND": "headline; id"},
        {"IN_REHEARSAL": "yes"},
        {"IN_RUNTIME": "host"},
        {"IN_ROOT": "/nowhere"},
    ],
)
def test_other_values_are_refused(step: Any, more: dict[str, str]) -> None:
    done, calls = step("plan", **{**RUN, **more})
    assert done.returncode == 2
    assert not calls


def test_metacharacters_stay_text(step: Any, tmp_path: Path) -> None:
    evil = '$(touch pwned) `touch pwned` "; touch pwned; #'
    done, calls = step("plan", IN_RELEASE_SHA=evil, IN_IMAGE="")
    assert evil in calls[-1]
    assert not list(tmp_path.rglob("pwned"))
    assert done.returncode == 0


def test_a_failure_inside_is_a_failure_of_the_step(step: Any) -> None:
    done, _ = step("plan", CODE="3", **RUN)
    assert done.returncode == 3


@pytest.mark.slow
@pytest.mark.part("GitHub's language service")
def test_githubs_own_language_service_finds_nothing(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    support = ROOT / "tests" / "support" / "actions"
    for script in support.glob("*.mjs"):
        shutil.copy2(script, tmp_path / script.name)
    packages = ["@actions/languageservice@0.3.61", "vscode-languageserver-textdocument@1.0.12"]
    subprocess.run(
        ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *packages],
        cwd=tmp_path,
        check=True,
    )
    files = [str(path) for path in (ROOT / "action.yml", *WORKFLOWS)]
    done = subprocess.run(
        ["node", "--import", "./json-hook.mjs", "ls.mjs", *files],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(files), done.stdout
