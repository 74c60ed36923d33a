"""How decisions by Codex and Claude Code are asked and judged, without the adapter's own process.

The slow tests send the same tables through whole adapters.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from discovercall.adapter.answers import fits_schema
from discovercall.adapter.authoring import Refusal
from discovercall.adapter.clis.claude import ClaudeTurn
from discovercall.adapter.clis.codex import CodexTurn
from discovercall.adapter.clis.decision import Question, Reply, Turn, decide
from discovercall.adapter.clis.facts import MODEL_CLIS
from discovercall.adapter.clis.options import CliOptions
from discovercall.adapter.clis.process import Interruption, run_cli
from discovercall.adapter.clis.scratch import Scratch
from tests.adapters.cli_stage import ANSWER, GOOD, KEYS, MODELS, VERSIONS, Stage, request_for
from tests.adapters.test_model_clis import CLAUDE_CASES, CODEX_CASES, login

TURNS: dict[str, Any] = {"codex": CodexTurn, "claude": ClaudeTurn}
FLOODS = ("flood", "flood without a line's end")  # what the pipes do, not the judge
CASES = [
    pytest.param(cli, *case, id=f"{cli}: {name}")
    for cli, cases in (("codex", CODEX_CASES), ("claude", CLAUDE_CASES))
    for name, case in cases.items()
    if name not in FLOODS
]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision's files lie in its working folder."""
    folder = tmp_path / "decision"
    folder.mkdir()
    monkeypatch.chdir(folder)


@pytest.fixture(params=TURNS)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    return Stage(tmp_path, request.param)


def question(cli: str, **changes: Any) -> Question:
    request = request_for(cli)
    system, user = (message["content"] for message in request["messages"])
    fields: dict[str, Any] = {
        "model": MODELS[cli],
        "system": system,
        "user": user,
        "schema": request["response_schema"],
        "options": CliOptions(),
        "version": VERSIONS[cli].split()[-1] if cli == "codex" else VERSIONS[cli].split()[0],
        "by_key": True,
    }
    return Question(**fields | changes)


def judged(turn: Turn, script: dict[str, Any]) -> Reply:
    for stream, take in (("stdout", turn.on_stdout), ("stderr", turn.on_stderr)):
        for line in script.get(stream, ()):
            take((line if isinstance(line, str) else json.dumps(line)).encode())
    return turn.reply(script.get("status", 0))


@pytest.mark.parametrize(("cli", "script", "code"), CASES)
def test_what_a_command_line_writes_is_judged(cli: str, script: dict[str, Any], code: str | None) -> None:
    asked = question(cli)
    found: str | None = None
    with Scratch() as scratch:
        try:
            reply = judged(TURNS[cli](asked, scratch), script)
        except Refusal as refusal:
            found = refusal.code
        else:
            found = None if fits_schema(reply.answer, asked.schema) else "invalid_output"
    assert found == code


@pytest.mark.parametrize("field", ["system", "user"])
def test_text_that_cannot_be_encoded_asks_nothing(stage: Stage, field: str) -> None:
    def ask() -> object:
        with Scratch() as scratch:
            return TURNS[stage.cli](question(stage.cli, **{field: "a \ud800"}), scratch).payload()

    if (stage.cli, field) == ("claude", "user"):
        assert b"\\ud800" in str(ask()).encode()  # JSON can say it
        return
    with pytest.raises(Refusal) as refused:
        ask()
    assert (refused.value.code, refused.value.detail) == (
        "start_failed",
        "the request has a lone surrogate",
    )


def run(stage: Stage, *arguments: str, request: Any = None) -> Any:
    cli = MODEL_CLIS[stage.cli]
    asked = request_for(stage.cli) if request is None else request
    return decide(cli, TURNS[stage.cli], asked, arguments, stage.variables)


def refusal(stage: Stage, *arguments: str, request: Any = None) -> tuple[str, str]:
    with pytest.raises(Refusal) as refused:
        run(stage, *arguments, request=request)
    assert os.listdir() == []
    return refused.value.code, refused.value.detail


def test_a_decision_leaves_nothing(stage: Stage) -> None:
    answer = run(stage, "--effort", "high", "--base-url", "http://127.0.0.1:9/v1")
    assert answer.pop("usage")["cached_tokens"] == 1024
    assert answer == ANSWER
    assert (os.listdir(), stage.left()) == ([], [])


def test_a_renewed_login_is_put_back(stage: Stage) -> None:
    path = login(stage)
    stage.plays(GOOD[stage.cli](replace={path.name: "renewed"}))
    run(stage)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("renewed", 0o600)
    assert stage.seen["links"] == {path.name: str(path)}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--cli-path", "bin/cli"), "--cli-path must be a full path"),
        (("--cli-path", "/nonexistent/cli"), "--cli-path is no executable file"),
        (("--cli-version", "9.9.9"), "PROGRAM VERSION is installed, --cli-version asks for 9.9.9"),
        (
            ("--base-url", "https://api.example.org"),
            "--base-url is for rehearsals: http on localhost, 127.0.0.1 or [::1] only",
        ),
        (
            ("--base-url", "http://127.0.0.1:x/"),
            "--base-url is for rehearsals: http on localhost, 127.0.0.1 or [::1] only",
        ),
        (("extra",), "unrecognized arguments: extra"),
    ],
)
def test_wrong_arguments_are_refused_with_their_reason(
    stage: Stage, arguments: Sequence[str], line: str
) -> None:
    version = {"codex": "0.171.0", "claude": "2.1.332"}[stage.cli]
    expected = line.replace("PROGRAM VERSION", f"{stage.cli} {version}")
    assert refusal(stage, *arguments) == ("start_failed", expected)
    assert not stage.started


def test_a_full_path_names_the_program(stage: Stage) -> None:
    path = str(stage.bin / stage.cli)
    stage.variables["PATH"] = "/nonexistent"
    assert refusal(stage) == ("start_failed", f"{stage.cli} is not in PATH")
    assert run(stage, "--cli-path", path)["tool_id"] == ANSWER["tool_id"]


def test_what_keeps_a_decision_from_starting(stage: Stage) -> None:
    broken = request_for(stage.cli) | {"messages": []}
    assert refusal(stage, request=broken) == (
        "start_failed",
        "the request has no system instruction and user message",
    )
    stage.plays({"version": "codex-cli x"})
    assert refusal(stage) == (
        "start_failed",
        f"{stage.cli} --version shows no version: is it wholly installed?",
    )
    (stage.bin / stage.cli).write_text("#!/nonexistent/interpreter\n")
    assert refusal(stage) == ("start_failed", f"{stage.cli} cannot be started")
    key = KEYS[stage.cli]
    for home in (stage.variables["HOME"], ""):
        stage.variables |= {"HOME": home, key: " "}
        assert refusal(stage) == ("start_failed", f"no {key}, and no login of {stage.cli}")


def test_an_answer_of_another_shape_is_refused(stage: Stage) -> None:
    stage.plays(GOOD[stage.cli]({"unexpected": 1}))
    assert refusal(stage) == ("invalid_output", "the answer does not fit the response schema")


def shell(script: str, payload: bytes = b"", timeout_s: float = 0.3) -> tuple[int, list[bytes]]:
    """What a shell script ends with, and the lines that it writes."""
    written: list[bytes] = []
    with Interruption() as interruption:
        status = run_cli(
            ["/bin/sh", "-c", script],
            environment={},
            folder=os.getcwd(),
            payload=payload,
            on_stdout=written.append,
            on_stderr=written.append,
            interruption=interruption,
            timeout_s=timeout_s,
        )
    return status, written


def test_a_program_that_does_not_end_is_ended() -> None:
    with pytest.raises(Refusal) as refused:
        shell("while :; do sleep 1; done")
    assert (refused.value.code, refused.value.detail) == ("cli_failed", "the command line does not end")


def test_what_holds_the_output_open_is_not_waited_for() -> None:
    assert shell("echo before; sleep 30 & exit 3", timeout_s=10) == (3, [b"before"])


def test_a_program_need_not_read_its_input() -> None:
    assert shell("exec <&-; echo done", b"x" * 2**20, timeout_s=10) == (0, [b"done"])
