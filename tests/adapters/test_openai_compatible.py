"""The OpenAI-compatible adapter, a real process, against every fault of a fake server."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

import pytest

from discovercall.adapter.bundled import bundled_adapter
from tests.adapters.deciding import KEY, SELECT, code_of, command, decide, environment, output_of
from tests.support.models.fake_openai import SCENARIOS, USAGE, FakeOpenAI

START_CPU_S = 0.060
PATIENT = ("--timeout-s", "20", "--max-wait-s", "0.5")
HASTY = ("--timeout-s", "1")

# Scenario, arguments, reason code (None: answered), requests that the server may see.
CASES: dict[str, tuple[tuple[str, ...], str | None, int]] = {
    "ok": (PATIENT, None, 1),
    "slow": (PATIENT, None, 1),
    "hang": (HASTY, "model_failed", 1),
    "headers_hang": (HASTY, "model_failed", 1),
    "drip": (HASTY, "model_failed", 1),
    "tool_call": (PATIENT, "tool_use_rejected", 1),
    "tool_call_legacy": (PATIENT, "tool_use_rejected", 1),
    "bad_json": (PATIENT, "invalid_output", 1),
    "json_list": (PATIENT, "invalid_output", 1),
    "fenced_json": (PATIENT, "invalid_output", 1),
    "wrong_schema": (PATIENT, "invalid_output", 1),
    "empty": (PATIENT, "invalid_output", 1),
    "null_content": (PATIENT, "invalid_output", 1),
    "refusal": (PATIENT, "refused", 1),
    "incomplete": (PATIENT, "output_limit", 1),
    "content_filter": (PATIENT, "refused", 1),
    "cut": (PATIENT, "model_failed", 1),
    "cut_once": (PATIENT, "model_failed", 1),
    "cut_body": (PATIENT, "model_failed", 1),
    "no_usage": (PATIENT, None, 1),
    "odd_usage": (PATIENT, None, 1),
    "huge": (PATIENT, "output_limit", 1),
    "gzip": (PATIENT, "model_failed", 1),
    "html": (PATIENT, "model_failed", 1),
    "no_choices": (PATIENT, "model_failed", 1),
    "error_in_200": (PATIENT, "model_failed", 1),
    "rate_in_200": (PATIENT, "rate_limited", 1),
    "redirect": (PATIENT, "model_failed", 1),
    "bad_redirect": (PATIENT, "model_failed", 1),
    "http400": (PATIENT, "model_failed", 1),
    "http400_schema": (PATIENT, "model_failed", 3),
    "http401": (PATIENT, "model_failed", 1),
    "http403": (PATIENT, "model_failed", 1),
    "http404_model": (PATIENT, "model_failed", 1),
    "http400_model": (PATIENT, "model_failed", 1),
    "http429": (PATIENT, "rate_limited", 3),
    "http429_once": (PATIENT, None, 2),
    "http429_quota": (PATIENT, "rate_limited", 1),
    "http500": (PATIENT, "model_failed", 1),
    "http500_once": (PATIENT, "model_failed", 1),
    "http503": (PATIENT, "model_failed", 1),
    "no_json_schema": (PATIENT, None, 2),
    "no_response_format": (PATIENT, None, 3),
}


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


def test_every_scenario_of_the_fake_has_a_case() -> None:
    assert CASES.keys() == SCENARIOS.keys()


@pytest.mark.parametrize("scenario", CASES)
def test_each_fault_ends_with_its_code_and_leaks_nothing(scenario: str, tmp_path: Path) -> None:
    arguments, code, requests = CASES[scenario]
    log = tmp_path / "stderr"
    with FakeOpenAI(retry_after="0.2", slow_s=0.3) as server:
        assert code_of(server.url(scenario), *arguments, stderr_file=log) == code
        assert len(server.requests) == requests
    said = log.read_text()
    for text in (KEY, "São Paulo", "fake)", "Sure!", "sorry", "unexpected"):
        assert text not in said
    assert len(said.splitlines()) <= 2


def test_messages_and_schema_go_out_unchanged(server: FakeOpenAI) -> None:
    answer = decide(server.url())
    assert answer == {
        "tool_id": "weather.now",
        "usage": USAGE,
        "note": {"response_format": "json_schema", "model": "gpt-fake"},
    }
    [request] = server.requests
    schema = {"name": "answer", "strict": True, "schema": SELECT["response_schema"]}
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.body == {
        "model": "gpt-fake",
        "messages": SELECT["messages"],
        "response_format": {"type": "json_schema", "json_schema": schema},
    }
    assert request.headers["Authorization"] == f"Bearer {KEY}"


def test_options_reach_the_server(server: FakeOpenAI) -> None:
    decide(
        server.url(),
        *("--api-model", "org/model:free", "--temperature", "0", "--effort", "low", "--max-tokens", "900"),
    )
    body = server.requests[0].body
    assert {name: body[name] for name in body.keys() - {"messages", "response_format"}} == {
        "model": "org/model:free",
        "temperature": 0,
        "reasoning_effort": "low",
        "max_tokens": 900,
    }


def test_the_field_of_the_token_limit_can_be_chosen(server: FakeOpenAI) -> None:
    decide(server.url(), "--max-tokens=9", "--max-tokens-field=max_completion_tokens")
    assert server.requests[0].body["max_completion_tokens"] == 9
    assert "max_tokens" not in server.requests[0].body


@pytest.mark.parametrize(
    ("scenario", "mode", "tried"),
    [
        ("ok", "json_schema", ["json_schema"]),
        ("no_json_schema", "json_object", ["json_schema", "json_object"]),
        ("no_response_format", "none", ["json_schema", "json_object", None]),
    ],
)
def test_falls_back_to_what_the_server_takes_and_says_so(
    server: FakeOpenAI, scenario: str, mode: str, tried: list[str | None]
) -> None:
    assert decide(server.url(scenario))["note"]["response_format"] == mode
    sent = [request.body.get("response_format", {"type": None})["type"] for request in server.requests]
    assert sent == tried
    assert {json.dumps(request.body["messages"]) for request in server.requests} == {
        json.dumps(SELECT["messages"])
    }


@pytest.mark.parametrize("mode", ["json_schema", "json_object", "none"])
def test_a_format_that_was_named_is_not_left(server: FakeOpenAI, mode: str) -> None:
    arguments = (f"--response-format={mode}",)
    assert decide(server.url(), *arguments)["note"]["response_format"] == mode
    refused = None if mode == "none" else "model_failed"
    assert code_of(server.url("no_response_format"), *arguments) == refused
    assert len(server.requests) == 2


def test_fences_are_taken_off_only_where_the_server_holds_no_format(server: FakeOpenAI) -> None:
    url = server.url("fenced_json")
    assert decide(url, "--response-format=none")["tool_id"] == "weather.now"
    assert code_of(url, "--response-format=json_object") == "invalid_output"


def test_waits_until_the_moment_that_a_date_names() -> None:
    moment = int(time.time()) + 3
    with FakeOpenAI("http429_once", retry_after=formatdate(moment, usegmt=True)) as server:
        decide(server.url(), "--max-wait-s=5")
        assert time.time() >= moment


def test_a_wait_beyond_the_bound_is_not_begun() -> None:
    with FakeOpenAI("http429", retry_after="3600") as server:
        assert code_of(server.url()) == "rate_limited"
        assert len(server.requests) == 1


def test_a_server_that_never_wants_to_wait_is_not_asked_for_ever() -> None:
    with FakeOpenAI("http429", retry_after="0") as server:
        assert code_of(server.url()) == "rate_limited"
        assert len(server.requests) == 7


def test_without_retry_after_it_waits_by_itself() -> None:
    with FakeOpenAI("http429_once", retry_after=None) as server:
        decide(server.url())
        first, second = (request.moment for request in server.requests)
        assert second - first >= 0.9


def test_a_server_that_is_not_there_fails_the_model() -> None:
    with FakeOpenAI() as server:
        url = server.url()
    assert code_of(url) == "model_failed"


def test_a_loopback_server_needs_no_key(server: FakeOpenAI) -> None:
    decide(server.url(), variables={"PATH": os.environ["PATH"]})
    assert "Authorization" not in server.requests[0].headers


def test_a_key_of_its_own_variable() -> None:
    with FakeOpenAI(key="other") as server:
        variables = {"OPENAI_API_KEY": "wrong", "OTHER_API_KEY": " other\n"}
        named = ("--api-key-env", "OTHER_API_KEY")
        assert code_of(server.url(), *named, variables=variables) == "model_failed"
        assert decide(server.url(), *named, variables=variables, requested=["OTHER_API_KEY"])["tool_id"]


def test_another_key_variable_says_how_to_pass_it() -> None:
    status, _, stderr = output_of(
        "--base-url=https://models.example/v1", "--api-key-env=OTHER_API_KEY", variables={}
    )
    assert status == 1
    assert stderr.splitlines() == [
        "OTHER_API_KEY is not set: put the key there, and pass it on with --adapter-env OTHER_API_KEY",
        "DISCOVERCALL_ADAPTER_ERROR=start_failed",
    ]


def test_a_key_on_the_command_line_is_refused_without_being_repeated() -> None:
    status, stdout, stderr = output_of("--api-key", "sk-secret")
    assert (status, stdout) == (1, "")
    assert stderr.endswith("DISCOVERCALL_ADAPTER_ERROR=start_failed\n")
    assert "secret" not in stderr


def test_a_proxy_is_used_for_other_hosts_and_never_for_this_one(server: FakeOpenAI) -> None:
    with FakeOpenAI() as proxy:
        variables = {"OPENAI_API_KEY": KEY, "HTTPS_PROXY": proxy.origin, "HTTP_PROXY": proxy.origin}
        decide(server.url(), variables=variables)
        assert not proxy.requests
        assert code_of("https://models.invalid/v1", variables=variables) == "model_failed"
        assert [(request.method, request.path) for request in proxy.requests] == [
            ("CONNECT", "models.invalid:443")
        ]
        assert KEY not in json.dumps(proxy.requests[0].headers)


def test_the_harness_ends_a_decision_that_takes_too_long(server: FakeOpenAI) -> None:
    assert code_of(server.url("hang"), timeout_s=1.5) == "timeout"


def test_the_list_of_adapters_shows_it() -> None:
    adapter = bundled_adapter("openai_compatible")
    assert adapter is not None
    assert (adapter.lane, adapter.environment) == ("configured-model", ("OPENAI_API_KEY",))
    assert "vLLM" in adapter.description


def test_its_help_needs_no_request() -> None:
    done = subprocess.run(
        command("--help"),
        stdin=subprocess.PIPE,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--base-url" in done.stdout


def test_starts_within_its_share_of_processor_time() -> None:
    def once() -> float:
        process = subprocess.Popen(
            command(), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 1  # it got as far as reading a request, and there was none
        return usage.ru_utime + usage.ru_stime

    # The least of several: a busy machine only ever adds.
    assert min(once() for _ in range(7)) <= START_CPU_S
