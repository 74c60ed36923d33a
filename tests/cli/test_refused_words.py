"""Words that don't go together are refused in one whole line, whatever the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discovercall.cli import actions
from discovercall.foundation.errors import InputError
from tests.support.bench import Done
from tests.support.records import failed, lines, metadata, record, run, task

Command = Callable[..., Done]
TASKS = [task("t1"), task("t2")]
OWN = ("--sandbox", "--adapter", "reference", "--model", "m", "--lane", "configured-model")


def refused(done: Done, line: str, code: int = 2) -> None:
    assert (done.code, done.out, done.err) == (code, "", f"discovercall: {line}\n")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            (*OWN, "--output", "o.jsonl", "--api-base-url", "http://127.0.0.1:1"),
            "--api-base-url: --sandbox brings its own API; give one of them",
        ),
        (
            (*OWN, "--output", "o.jsonl", "--gateway", "g.toml"),
            "--gateway: goes without --sandbox; give one of them",
        ),
        (
            (*OWN, "--output", "o.jsonl", "--adapter-user", "nobody-of-this-name"),
            "--adapter-user: there is no user 'nobody-of-this-name' here",
        ),
        (
            (*OWN, "--output", "o.jsonl", "--adapter-user", "root"),
            "--adapter-user: root can read everything; name an unprivileged user",
        ),
        ((*OWN, "--output", "/"), "--output: must name a file"),
        ((*OWN, "--output", "."), "--output: must name a file"),
        ((*OWN, "--output", "none/o.jsonl"), "--output: the folder none does not exist; create it"),
    ],
)
def test_run(command: Command, tmp_path: Path, words: tuple[str, ...], line: str) -> None:
    (tmp_path / "g.toml").write_text('[servers.s]\ncommand = "/bin/true"\n')
    refused(command("run", *words), line)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A task set, a run of it that is whole and one that lost a task, and one of another task set."""
    (tmp_path / "tasks.jsonl").write_text(lines(*TASKS))
    from discovercall.contract.tasks import load_task_set

    own = metadata(task_set_sha256=load_task_set(tmp_path / "tasks.jsonl").sha256)
    whole = run(TASKS, 2, metadata=own)
    (tmp_path / "a.jsonl").write_text(lines(*whole))
    lost = [row if row["task_id"] == "t1" else failed("t2", row["trial"], metadata=own) for row in whole]
    (tmp_path / "b.jsonl").write_text(lines(*lost))
    (tmp_path / "c.jsonl").write_text(lines(record()))
    (tmp_path / "d.jsonl").write_text(lines({**record(), "metadata": None}))
    return tmp_path


def test_compare(command: Command, files: Path) -> None:
    done = command("compare", "a.jsonl", "b.jsonl", "--tasks", "tasks.jsonl")
    assert (done.code, done.err) == (0, "")
    assert "A − B: +50.0 points" in done.out
    assert "A better on 1: t2" in done.out
    done = command("compare", "b.jsonl", "a.jsonl", "--tasks", "tasks.jsonl", "--format", "json")
    assert json.loads(done.out)["gap"]["worse"] == ["t2"]
    for other, digest in (("c.jsonl", "d" * 64), ("d.jsonl", "None")):
        done = command("compare", "a.jsonl", other, "--tasks", "tasks.jsonl")
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("discovercall: the task sets differ: a.jsonl was made with ")
        assert done.err.endswith(f", {other} with {digest}\n")


def test_score_refuses_to_write_where_it_cannot(command: Command, files: Path) -> None:
    words = ("score", "--tasks", "tasks.jsonl", "--runs", "a.jsonl")
    refused(
        command(*words, "--output", "a.jsonl"),
        "--output: a.jsonl is also an input; name another file",
    )
    done = command(*words, "--output", "/proc/summary.json")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("discovercall: --output: /proc/summary.json cannot be written (")


def test_publish(command: Command, files: Path) -> None:
    def publish(*stems: str, runs: int | None = None) -> Done:
        given: list[str] = []
        for stem in stems:
            given += ["--output-runs", f"{stem}.runs.jsonl", "--output-summary", f"{stem}.summary.json"]
        for _ in range(len(stems) if runs is None else runs):
            given += ["--runs", "a.jsonl"]
        return command("publish", "--tasks", "tasks.jsonl", *given)

    refused(
        publish("a-v1", runs=2),
        "--runs, --output-runs and --output-summary: must be given equally often",
    )
    refused(publish("a-v1", "a-v1"), "--output-runs: a-v1.runs.jsonl is named twice")


def test_validate_a_task_set_or_half_a_pair(command: Command, files: Path) -> None:
    done = command("validate", "--tasks", "tasks.jsonl")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("valid  tasks.jsonl: task set, tasks 2, sha256 ")
    refused(
        command("validate", "--tasks", "tasks.jsonl", "--summary", "a-v1.summary.json"),
        "--runs: is missing; a pair needs --tasks, --runs, --summary, --policy",
    )


def test_serve(command: Command) -> None:
    for option in ("--faults", "--journal"):
        refused(
            command("gateway", "serve", "--face", "mcp-http", option, "x"),
            f"{option}: goes with --face api",
        )


@pytest.mark.parametrize("format", ["human", "concise", "json"])
def test_lists_and_calls_of_the_world(command: Command, format: str) -> None:
    listed = command("gateway", "list", "--format", format)
    assert (listed.code, listed.err) == (0, "")
    called = command("gateway", "call", "nobody.nothing", "--format", format)
    assert called.code == 1
    assert "Server nobody is not configured." in called.out
    odd = command("gateway", "call", "nobody.nothing", "--json", "[1]", "--format", format)
    assert odd.code == 1
    assert "--json must be a JSON object (it is of type array)" in odd.out
    described = command("gateway", "describe", "nobody.nothing", "--format", format)
    assert described.code == 1


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["x"], "--input: 'x' is not NAME=VALUE"),
        (["=x"], "--input: '=x' is not NAME=VALUE"),
        (["a=1", "a=2"], "--input: names a twice"),
        (
            [" Release_SHA=1"],
            "--input:  Release_SHA is said by --release-sha; use --release-sha alone",
        ),
    ],
)
def test_inputs_of_a_workflow(given: list[str], line: str) -> None:
    from discovercall.cli.cadence_plan import _named_values

    with pytest.raises(InputError) as error:
        _named_values(given)
    assert str(error.value) == line
    assert _named_values(["a=b=c", "d="]) == {"a": "b=c", "d": ""}


def test_what_github_actions_says_of_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = ("GITHUB_RUN_ATTEMPT", "GITHUB_RUN_ID", "GITHUB_WORKFLOW_REF", "GITHUB_OUTPUT")
    for name in (*names, "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    facts: Any = (actions.run_attempt, actions.own_run, actions.own_workflow)
    assert [ask() for ask in facts] == [1, None, None]
    actions.set_outputs(a="b")
    actions.add_summary("text")
    monkeypatch.setenv("GITHUB_RUN_ATTEMPT", "3")
    monkeypatch.setenv("GITHUB_RUN_ID", "77")
    monkeypatch.setenv("GITHUB_WORKFLOW_REF", "acme/x/.github/workflows/cadence.yml@refs/heads/main")
    assert [ask() for ask in facts] == [3, 77, "cadence.yml"]
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "out"))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    actions.set_outputs(a="b")
    actions.add_summary("text\n")
    assert (tmp_path / "out").read_text().splitlines()[1] == "b"
    assert (tmp_path / "summary").read_text() == "text\n"
    monkeypatch.setenv("GITHUB_RUN_ATTEMPT", "²")
    with pytest.raises(InputError, match=r"^GITHUB_RUN_ATTEMPT: is no number$"):
        actions.run_attempt()


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        ({"GITHUB_TOKEN": " "}, "GITHUB_TOKEN: is missing or no token"),
        ({"GITHUB_TOKEN": "a b"}, "GITHUB_TOKEN: is missing or no token"),
        ({"GITHUB_TOKEN": "t", "GITHUB_REPOSITORY": "acme"}, "GITHUB_REPOSITORY: must be owner/name"),
    ],
)
def test_a_github_that_cannot_be_asked(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], line: str
) -> None:
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError) as error:
        actions.github_client(None)
    assert str(error.value) == line
    monkeypatch.setenv("GITHUB_API_URL", "http://elsewhere.example")
    with pytest.raises(InputError, match=r"^GITHUB_API_URL: "):
        actions.github_client(None)
