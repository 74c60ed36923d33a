"""`discovercall invoke` as a person meets it: exit codes, messages, reports again, interruption."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from discovercall.cli.main import main
from discovercall.foundation.resources import resource_path
from discovercall.invocation.benchmark import read_report
from discovercall.invocation.markdown import to_markdown
from tests.invocation.running import PROGRAM, bundles, environment, invoke, live, read
from tests.invocation.streams import KEY, StreamServer, Where


def test_a_report_with_failures_fits_its_schema_and_reads_well(tmp_path: Path) -> None:
    faults: dict[Where, str] = {
        ("device_volume_silent", "dual_agent"): "http500",
        ("ordinary_chat", None): "length",
    }
    with StreamServer(faults=faults) as server:
        done = live(
            tmp_path,
            server.url(),
            "--runs-per-case",
            "2",
            "--case",
            "ordinary_chat",
            "--case",
            "device_volume_silent",
        )
    assert done.returncode == 1
    assert "2 of 8 runs passed." in done.stdout
    assert "device_volume_silent, dual_agent, run 1: provider_error: HTTP 500" in done.stdout
    (bundle,) = bundles(tmp_path)
    report = read(bundle)
    schema = json.loads(resource_path("schemas", "invocation-report.schema.json").read_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(report)
    page = (bundle / "report.md").read_text()
    assert "| `ordinary_chat` | FAIL 0/2 | FAIL 0/2 |" in page
    assert "| `device_volume_silent` | FAIL 0/2 | pass 2/2 |" in page
    assert "finish reason: expected chat_agent: stop or tool_calls; saw length" in page
    assert "No winner is declared." in page
    assert "p ≤ .05 needs at least 6" in page
    assert "No passed run." in page
    assert "winner" not in page.replace("No winner is declared.", "")
    again = invoke(tmp_path, "report", str(bundle))
    assert (again.returncode, again.stdout) == (0, page)
    as_json = invoke(tmp_path, "report", str(bundle / "report.json"), "--format", "json")
    assert json.loads(as_json.stdout) == report
    assert to_markdown(read_report(bundle)) == page


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run",), "--base-url"),
        (("run", "--mock", "--case", "nope"), "known are ordinary_chat"),
        (("run", "--mock", "--timeout", "0"), "--timeout"),
        (("run", "--mock", "--runs-per-case", "0"), "runs-per-case"),
        (("run", "--mock", "--config", "missing.json"), "missing.json"),
        (("run", "--mock", "--out", "file/x"), "cannot be written"),
        (("report", "missing"), "missing"),
        (("report", "file"), "not valid JSON"),
        (("report", "empty.json"), "schema_version"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    says: str,
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["discovercall", "invoke", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    out, err = capsys.readouterr()
    assert caught.value.code == 2
    assert says in err
    assert len(err.splitlines()) == 1
    assert out == ""
    assert not (tmp_path / "outputs").exists()


def test_a_place_that_cannot_be_written_to_is_found_before_a_model_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENT_LAB_OPENAI_API_KEY", KEY)
    with StreamServer() as server:
        words = ["run", "--base-url", server.url(), "--model", "m", "--out", "file/x"]
        monkeypatch.setattr(sys, "argv", ["discovercall", "invoke", *words])
        with pytest.raises(SystemExit) as caught:
            main()
        assert (caught.value.code, len(server.requests)) == (2, 0)
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_an_interrupted_run_leaves_no_report_and_no_database(tmp_path: Path, number: signal.Signals) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env = environment(AGENT_LAB_OPENAI_API_KEY=KEY, TMPDIR=str(scratch))
    with StreamServer(scenario="hang") as server:
        command = [*PROGRAM, "run", "--base-url", server.url(), "--model", "m"]
        with subprocess.Popen(
            command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            while not server.requests and process.poll() is None:
                time.sleep(0.02)
            process.send_signal(number)
            out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert (out, err) == ("", "Interrupted: no report was written.\n")
    assert list((tmp_path / "outputs" / "benchmarks").iterdir()) == []
    assert list(scratch.iterdir()) == []


def test_progress_is_shown_on_a_terminal_and_nowhere_else(tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, "run", "--mock", "--case", "ordinary_chat", "--mode", "dual_agent", "--out", "here"],
        cwd=tmp_path,
        env=environment(TERM="xterm"),
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(controller, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(controller)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert b"1/1" in shown
    assert "1 of 1 runs passed." in out
    (bundle,) = [path for path in (tmp_path / "here").iterdir() if path.is_symlink()]
    # With one mode alone there is nothing to compare.
    assert read(bundle)["comparison"] is None
    assert "side by side" not in (bundle / "report.md").read_text()
