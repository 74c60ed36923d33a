"""What is run: configuration, command line, environment, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from discovercall.foundation.errors import InputError
from discovercall.invocation.cases import CASE_NAMES, load_cases, load_mock_answers
from discovercall.invocation.config import KEY_VARIABLE, InvokeOptions, Plan, make_plan

KEY = "planted-key-0123456789"
LIVE = {"base_url": "https://example.org/v1", "model": "m"}


@pytest.fixture
def plan(tmp_path: Path) -> Any:
    """Makes a plan from a configuration file, options and the environment."""

    def make(
        config: Any = None,
        environment: dict[str, str] | None = None,
        env_file: str | None = None,
        **options: Any,
    ) -> Plan:
        if config is not None:
            path = tmp_path / "bench.json"
            path.write_text(config if isinstance(config, str) else json.dumps(config))
            options["config"] = path
        if env_file is not None:
            (tmp_path / ".env").write_text(env_file)
        given = {KEY_VARIABLE: KEY} if environment is None else environment
        return make_plan(InvokeOptions(**options), given, tmp_path)

    return make


def test_defaults(plan: Any) -> None:
    found = plan(**LIVE)
    assert [mode.value for mode in found.modes] == ["dual_agent", "chat_agent_tools"]
    assert found.cases == CASE_NAMES
    assert (found.runs_per_case, found.timeout_s, found.runs) == (1, 120.0, 12)
    assert KEY not in repr(found)


def test_the_command_line_comes_before_the_file_and_replaces_its_lists(plan: Any) -> None:
    config = {
        "schema_version": 1,
        "base_url": "https://file.example/v1/",
        "model": "file",
        "runs_per_case": 7,
        "modes": ["dual_agent"],
        "cases": ["ordinary_chat", "session_terminate"],
    }
    found = plan(config)
    assert (found.endpoint.base_url, found.endpoint.model) == ("https://file.example/v1", "file")
    assert (found.runs_per_case, found.cases) == (7, ("ordinary_chat", "session_terminate"))
    assert found.runs == 14
    found = plan(config, model="cli", modes=("chat_agent_tools",), cases=("ordinary_chat",), runs_per_case=2)
    assert (found.endpoint.model, found.runs) == ("cli", 2)
    assert [mode.value for mode in found.modes] == ["chat_agent_tools"]


@pytest.mark.parametrize(
    ("env_file", "environment", "key"),
    [
        (f"{KEY_VARIABLE}={KEY}\n", {}, KEY),
        (f'# comment\nexport {KEY_VARIABLE}="{KEY}" # x\n', {}, KEY),
        (f"{KEY_VARIABLE}='{KEY}$HOME'\n", {}, f"{KEY}$HOME"),
        (f"{KEY_VARIABLE}=${{HOME}}-{KEY}\n", {}, f"${{HOME}}-{KEY}"),
        (f"{KEY_VARIABLE}=from-the-file\n", {KEY_VARIABLE: KEY}, KEY),
        (f"{KEY_VARIABLE}={KEY}\n", {KEY_VARIABLE: ""}, KEY),
    ],
)
def test_the_key_comes_from_the_environment_or_its_file(
    plan: Any, env_file: str, environment: dict[str, str], key: str
) -> None:
    assert plan(env_file=env_file, environment=environment, **LIVE).endpoint.key == key


def test_the_mock_needs_no_key_and_reads_none(plan: Any) -> None:
    found = plan(environment={}, mock=True, base_url="https://example.org/v1")
    assert found.endpoint is None


@pytest.mark.parametrize(
    ("config", "where", "says"),
    [
        ("{", "bench.json", "not valid JSON"),
        ("[]", "bench.json", "must be a JSON object"),
        ({}, "schema_version", "required"),
        ({"schema_version": 2}, "schema_version", "should be 1"),
        ({"schema_version": 1, "api_key": "x"}, "bench.json", "api_key: unknown field"),
        ({"schema_version": 1, "token": "x"}, "bench.json", "token: unknown field"),
        ({"schema_version": 1, "timeout": 3}, "bench.json", "timeout: unknown field"),
        ({"schema_version": 1, "model": "sk-Planted0123456789"}, "bench.json", "shaped like a key"),
        ({"schema_version": 1, "sk-Planted0123456789": 1}, "bench.json", "[redacted]: unknown field"),
        (
            {"schema_version": 1, "base_url": "https://h/v1?api_key=planted"},
            "bench.json",
            "shaped like a key",
        ),
        ({"schema_version": 1, "runs_per_case": 0}, "runs_per_case", "greater than or equal to 1"),
        ({"schema_version": 1, "runs_per_case": "3"}, "runs_per_case", "valid integer"),
        ({"schema_version": 1, "runs_per_case": True}, "runs_per_case", "valid integer"),
        ({"schema_version": 1, "modes": ["x"]}, "modes[0]", "dual_agent"),
        ({"schema_version": 1, "modes": []}, "modes", "at least 1"),
        ({"schema_version": 1, "cases": ["ordinary_chat", "ordinary_chat"]}, "cases", "twice"),
        ({"schema_version": 1, "cases": ["x"]}, "cases", "is not known"),
    ],
)
def test_a_bad_file_is_refused_by_name(plan: Any, config: Any, where: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        plan(config, **LIVE)
    assert where in str(caught.value)
    assert says in str(caught.value)
    assert "planted" not in str(caught.value).lower()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"model": "m"}, "--base-url"),
        ({"base_url": "https://example.org/v1"}, "--model"),
        ({**LIVE, "model": "a\nb"}, "--model"),
        ({**LIVE, "base_url": "https://user:planted@example.org/v1"}, "credentials"),
        ({**LIVE, "base_url": "https://example.org/v1?planted=1"}, "query"),
        ({**LIVE, "base_url": "https://example.org/v1#planted"}, "fragment"),
        ({**LIVE, "base_url": "http://example.org/v1"}, "http is for localhost"),
        ({**LIVE, "base_url": "ftp://example.org"}, "https"),
        ({**LIVE, "cases": ("nope",)}, "known are ordinary_chat"),
        ({**LIVE, "modes": ("dual_agent", "dual_agent")}, "twice"),
        ({**LIVE, "environment": {}}, KEY_VARIABLE),
        ({**LIVE, "environment": {KEY_VARIABLE: "planted key"}}, "no usable API key"),
        ({**LIVE, "environment": {KEY_VARIABLE: "short"}}, "no usable API key"),
    ],
)
def test_bad_options_are_refused_without_repeating_a_secret(
    plan: Any, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError) as caught:
        plan(**options)
    assert says in str(caught.value)
    assert "planted" not in str(caught.value)


def test_the_cases_are_the_six_with_everything_enabled() -> None:
    cases = load_cases()
    assert tuple(case.id for case in cases.cases) == CASE_NAMES
    assert all(len(case.events) == 4 and case.max_events == 4 for case in cases.cases)
    answers = load_mock_answers()
    assert {(case.id, mode) for case in cases.cases for mode in ("dual_agent", "chat_agent_tools")} == {
        (case, mode.value) for case, mode in answers
    }


def test_malformed_case_files_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"schema_version": 1, "cases": [{"id": "a"}]}')
    with pytest.raises(InputError, match=r"cases\[0\]\.input"):
        load_cases(path)
    stream = {"fallbacks": 0, "streams": {"chat_agent": [{"txt": "a"}]}}
    path.write_text(json.dumps({"schema_version": 1, "cases": {"a": {"dual_agent": stream}}}))
    with pytest.raises(InputError, match=r"cases\.a\.dual_agent: an item is none of"):
        load_mock_answers(path)


def test_a_name_twice_in_the_file_is_refused_without_repeating_a_key(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    for name in ("base_url", "sk-Planted0123456789abcdef"):
        path.write_text(f'{{"schema_version": 1, "{name}": "https://a/v1", "{name}": "https://b/v1"}}')
        with pytest.raises(InputError, match="twice in one object") as caught:
            make_plan(InvokeOptions(config=path), {}, tmp_path)
        assert "Planted" not in str(caught.value)
