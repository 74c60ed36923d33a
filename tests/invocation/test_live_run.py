"""`invoke run` against a server that streams: the whole benchmark over HTTP, and every fault in it."""

from __future__ import annotations

import asyncio
import dataclasses
import sqlite3
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from discovercall.invocation.benchmark import Surroundings, run_benchmark
from discovercall.invocation.config import Endpoint, Plan
from discovercall.invocation.report_model import Report, Toolkit
from discovercall.invocation.runtime.chat import Finish, StreamItem, TextDelta, ToolCallDelta
from discovercall.invocation.runtime.modes import ModeName
from discovercall.invocation.runtime.store import SessionStore
from tests.invocation.running import MODES, bundles, invoke, live, read
from tests.invocation.streams import KEY, SECRETS, StreamServer, Where
from tests.support.planted import files, found

SURROUNDINGS = Surroundings(
    clock=time.time,
    monotonic=time.monotonic,
    new_id=lambda: str(uuid.uuid4()),
    toolkit=Toolkit(version="0", commit=None, dirty=False),
    observer=lambda run: None,
)


def benchmark(url: str, out: Path, cases: tuple[str, ...], **changes: Any) -> Report:
    plan = Plan(
        endpoint=Endpoint(url, "fake", KEY),
        modes=tuple(ModeName),
        cases=cases,
        runs_per_case=1,
        timeout_s=30.0,
    )
    report, _ = asyncio.run(run_benchmark(dataclasses.replace(plan, **changes), out, SURROUNDINGS))
    return report


def test_the_whole_benchmark_passes_over_http(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"AGENT_LAB_OPENAI_API_KEY={KEY}\n")
    with StreamServer(scenario="bytewise") as server:
        done = invoke(tmp_path, "run", "--base-url", server.url(), "--model", "m")
        requests = list(server.requests)
    assert done.returncode == 0, done.stdout + done.stderr
    report = read(bundles(tmp_path)[0])
    assert report["passed"] is True
    assert report["settings"]["client"] == "live"
    fallbacks = {(run["case"], run["mode"]) for run in report["runs"] if run["event_agent_fallbacks"]}
    assert fallbacks == {("web_search_two_answers", "dual_agent"), ("session_terminate", "dual_agent")}
    calls = sum(len(run["model_calls"]) for run in report["runs"])
    assert len(requests) == calls == 16
    search = next(run for run in report["runs"] if run["case"] == "web_search_two_answers")
    assert search["tokens"] == {"prompt": 919, "completion": 40, "total": 959, "cached": 256}
    for run in report["runs"]:
        assert 0 < run["first_token_ms"] <= run["first_visible_ms"] + 1 <= run["turn_wall_time_ms"] + 1


def test_both_modes_send_the_same_input_and_parameters(tmp_path: Path) -> None:
    with StreamServer() as server:
        benchmark(server.url(), tmp_path, ("ordinary_chat",))
        dual, tools = (request.body for request in server.requests)
    assert dual["messages"][1:] == tools["messages"][1:]
    assert set(tools) - set(dual) == {"tools"}
    named = [tool["function"]["name"] for tool in tools["tools"]]
    assert named == [
        "device_volume_adjust",
        "calendar_schedule_create",
        "knowledge_web_search",
        "session_terminate",
    ]
    assert all(name.replace("_", ".") in dual["messages"][0]["content"] for name in named[:1])


@pytest.mark.parametrize(
    ("scenario", "code"),
    [
        ("http401", "unauthorized"),
        ("http429", "rate_limited"),
        ("http500", "provider_error"),
        ("long_error", "provider_error"),
        ("text_error", "provider_error"),
        ("error_in_stream", "rate_limited"),
        ("no_end", "incomplete_stream"),
        ("reset", "connection_lost"),
        ("closed", "connection_lost"),
        ("bad_json", "invalid_stream"),
        ("html", "invalid_stream"),
        ("hang", "timeout"),
        ("headers_hang", "timeout"),
        ("blackhole", "timeout"),
        ("refusal", "refused"),
    ],
)
def test_a_fault_fails_its_run_and_the_rest_goes_on(tmp_path: Path, scenario: str, code: str) -> None:
    where = ("device_volume_silent", "chat_agent_tools")
    with StreamServer(faults={where: scenario}) as server:
        report = benchmark(server.url(), tmp_path, ("device_volume_silent", "ordinary_chat"), timeout_s=1.5)
    assert [(run.case, run.mode) for run in report.runs if not run.passed] == [where]
    failed = report.runs[1]
    assert failed.error is not None
    assert failed.error.code == code
    assert [failure.saw for failure in failed.failures] == [code]
    assert report.runs_passed == 3
    assert not found(SECRETS, files(tmp_path))


def test_a_fault_in_a_follow_up_and_in_a_fallback_fails_the_run(tmp_path: Path) -> None:
    with StreamServer(script=None) as server:
        answers = server.answers
        key = ("web_search_two_answers", ModeName.DUAL_AGENT)
        script = dict(answers[key].script)
        script.pop(next(role for role in script if role == "follow_up"))
        server.answers = {**answers, key: dataclasses.replace(answers[key], script=script)}
        report = benchmark(server.url(), tmp_path, ("web_search_two_answers",))
    failed, passed = report.runs
    assert passed.passed
    assert failed.error is not None
    assert failed.error.code == "connection_lost"
    # What was done until then is told: an answer, the event, three calls of which the last failed.
    assert failed.answers == ["model"]
    assert [event.status for event in failed.events] == ["succeeded"]
    assert [call.status for call in failed.model_calls] == ["completed", "completed", "failed"]
    assert failed.tokens.total is None
    assert failed.turn_wall_time_ms is not None


def test_a_missing_value_is_null_and_never_0(tmp_path: Path) -> None:
    with StreamServer(
        faults={(None, "dual_agent"): "no_usage", (None, "chat_agent_tools"): "blackhole"}
    ) as s:
        report = benchmark(s.url(), tmp_path, ("ordinary_chat",), timeout_s=1.0)
    quiet, silent = report.runs
    assert quiet.passed
    assert quiet.tokens.model_dump() == dict.fromkeys(("prompt", "completion", "total", "cached"))
    assert (silent.first_token_ms, silent.first_visible_ms) == (None, None)
    assert silent.model_calls[0].status == "running"
    for cell in report.cells:
        assert cell.metrics["total_tokens"].model_dump() == {
            "samples": 0,
            "p50": None,
            "p95": None,
            "p95_low_confidence": True,
        }
        assert cell.tokens.total.total is None


def test_an_answer_that_was_cut_at_its_length_is_not_accepted(tmp_path: Path) -> None:
    with StreamServer(scenario="length") as server:
        report = benchmark(server.url(), tmp_path, ("ordinary_chat",))
    for run in report.runs:
        assert ("finish reason", "length") in [(failure.check, failure.saw) for failure in run.failures]


def test_planted_secrets_appear_nowhere(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    faults: dict[Where, str] = {
        ("ordinary_chat", "dual_agent"): "http401",
        ("ordinary_chat", "chat_agent_tools"): "error_in_stream",
        ("device_volume_silent", "dual_agent"): "bad_json",
        ("device_volume_silent", "chat_agent_tools"): "text_error",
        ("session_terminate", "dual_agent"): "redirect",
        ("session_terminate", "chat_agent_tools"): "long_error",
    }
    with StreamServer(faults=faults) as server:
        done = live(folder, server.url())
    assert done.returncode == 1
    assert "6 of 12 runs passed." in done.stdout
    assert "unauthorized: HTTP 401 (invalid_api_key): Incorrect API key provided: [redacted]" in done.stdout
    places = {"stdout": done.stdout.encode(), "stderr": done.stderr.encode(), **files(folder)}
    assert any(name.endswith("report.json") for name in places)
    assert not found(SECRETS, places)
    again = invoke(folder, "report", str(bundles(folder)[0]))
    assert not found(SECRETS, {"stdout": again.stdout.encode()})


def test_the_database_holds_no_secret_that_a_model_or_server_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dumps: list[str] = []
    original = SessionStore.close

    def close(self: SessionStore) -> None:
        dumps.append("\n".join(self._database.iterdump()))
        original(self)

    monkeypatch.setattr(SessionStore, "close", close)
    says = f"Your key is {KEY}"
    arguments = f'{{"query": "{KEY}"}}'
    script: list[StreamItem] = [
        TextDelta(says[:15]),
        TextDelta(says[15:]),
        ToolCallDelta(0, "a", "knowledge_web_search", arguments),
        ToolCallDelta(1, "b", KEY, "{}"),
        Finish(KEY),
    ]
    with StreamServer(script=script) as server:
        report = benchmark(server.url(), tmp_path, ("ordinary_chat",))
        assert not report.passed
    with StreamServer(scenario="http401") as server:
        benchmark(server.url(), tmp_path, ("ordinary_chat",))
    assert len(dumps) == 4
    assert "[redacted]" in dumps[1]
    everything = {"database": "\n".join(dumps).encode(), **files(tmp_path)}
    assert not found(SECRETS, everything)


def test_a_model_that_says_nothing_useful_fails_by_name(tmp_path: Path) -> None:
    with StreamServer(script=[TextDelta("Hm."), Finish("stop")]) as server:
        report = benchmark(server.url(), tmp_path, ("device_volume_silent",))
    dual, tools = report.runs
    broken = {(failure.check, failure.expected, failure.saw) for failure in dual.failures}
    assert ("events", "device.volume.adjust", "none") in broken
    assert ("event agent", "a usable answer", "malformed") in broken
    assert [failure.check for failure in tools.failures] == ["events"]


def test_reports_hold_no_answer_and_no_header(tmp_path: Path) -> None:
    with StreamServer() as server:
        benchmark(server.url(), tmp_path, ("ordinary_chat",))
    for content in files(tmp_path).values():
        assert b"A litre is larger" not in content
        assert b"text/event-stream" not in content
        assert b"Authorization" not in content


def test_a_session_database_is_in_write_ahead_mode(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "s.sqlite3", str)
    with sqlite3.connect(tmp_path / "s.sqlite3") as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.close()


def test_modes_are_named_as_in_the_contract() -> None:
    assert tuple(mode.value for mode in ModeName) == MODES
