"""The real Codex CLI and Claude Code, each pinned version, against a fake model server on loopback."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from discovercall.adapter.clis.facts import MODEL_CLIS, pins
from tests.adapters.cli_stage import ANSWER, KEY, KEYS, MODELS, request_for
from tests.support import netlab
from tests.support.models import fake_anthropic, fake_responses
from tests.support.models.installed_clis import installed

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PATIENT, HASTY = 90.0, 15.0  # a busy machine takes seconds to start one; a hang has to be reached
MARK = "text of a file that nobody may read"
USAGE = {"codex": fake_responses.USAGE, "claude": fake_anthropic.USAGE}
HOSTS = {"codex": {"api.openai.com"}, "claude": {"api.anthropic.com"}}

# Scenario: reason code (None: answered), most requests that the server may see.
CODEX: dict[str, tuple[str | None, int]] = {
    "ok": (None, 1),
    "reasoning": (None, 1),
    "preamble": (None, 1),
    "no_usage": (None, 1),
    "cut_once": (None, 2),
    "http500_once": (None, 2),
    "tool_shell": ("tool_use_rejected", 1),
    "tool_unknown": ("tool_use_rejected", 1),
    "bad_json": ("invalid_output", 1),
    "fenced_json": ("invalid_output", 1),
    "wrong_schema": ("invalid_output", 1),
    "empty": ("invalid_output", 1),
    "refusal": ("refused", 1),
    "content_filter": ("refused", 2),
    "incomplete": ("output_limit", 2),
    "failed": ("model_failed", 2),
    "failed_rate": ("rate_limited", 2),
    "cut": ("model_failed", 2),
    "http400": ("model_failed", 1),
    "http400_schema": ("model_failed", 1),
    "http401": ("model_failed", 2),
    "http403": ("model_failed", 2),
    "http404_model": ("model_failed", 2),
    "http429": ("rate_limited", 2),
    "http429_quota": ("rate_limited", 2),
    "http500": ("model_failed", 6),
    "http503": ("model_failed", 3),
    "hang": ("timeout", 1),
    "blackhole": ("timeout", 1),
}
CLAUDE: dict[str, tuple[str | None, int]] = {
    "ok": (None, 1),
    "thinking": (None, 1),
    "preamble": (None, 1),
    "cut_once": (None, 2),
    "http500_once": (None, 2),
    "tool_bash": ("tool_use_rejected", 1),
    "text": ("invalid_output", 1),
    "bad_json": ("invalid_output", 1),
    "wrong_schema": ("invalid_output", 1),
    "empty": ("invalid_output", 2),
    "refusal": ("refused", 1),
    "max_tokens": ("output_limit", 4),
    "http400": ("model_failed", 3),
    "http400_credit": ("model_failed", 1),
    "http401": ("model_failed", 3),
    "http403": ("model_failed", 1),
    "http404_model": ("model_failed", 2),
    "http413": ("model_failed", 1),
    "http429": ("rate_limited", 3),
    "http500": ("model_failed", 3),
    "http529": ("model_failed", 3),
    "hang": ("timeout", 1),
    "blackhole": ("timeout", 1),
}
CASES = {"codex": CODEX, "claude": CLAUDE}


def part(cli: str) -> pytest.MarkDecorator:
    return pytest.mark.part({"codex": "real Codex CLI", "claude": "real Claude Code"}[cli])


PINNED = [
    pytest.param((cli, version), id=f"{cli} {version}", marks=part(cli))
    for cli in MODEL_CLIS
    for version in pins(MODEL_CLIS[cli]).versions
]
SCENARIOS = [
    pytest.param((cli, version), scenario, id=f"{cli} {version} {scenario}", marks=part(cli))
    for cli in MODEL_CLIS
    for version in pins(MODEL_CLIS[cli]).versions
    for scenario in CASES[cli]
]


class Lab:
    """All scenarios of one version, run once."""

    def __init__(self, folder: Path, cli: str, version: str, login: bool = False) -> None:
        program = installed(cli, version)
        if isinstance(program, str):
            pytest.skip(program)
        self.cli, self.version, self.program = cli, version, program
        self.home = folder / "home"
        self.secret = folder / "secret.txt"
        self.egress = folder / "egress.jsonl"
        self.work = folder / "work"
        self.temporary = folder / "tmp"
        for path in (self.home, self.work, self.temporary):
            path.mkdir()
        self.secret.write_text(MARK)
        self._furnish()
        self.request = request_for(cli, f"see @{self.secret} 京都\u2028 \U0001f30d" + "x" * 100_000)
        self.request["response_schema"]["properties"]["tool_id"]["description"] = "d" * 150_000
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "TMPDIR": str(self.temporary)}
        if login:
            self._log_in()
        else:
            environment[KEYS[cli]] = KEY
        self.before = snapshot(self.home)
        slow = ("hang", "blackhole")
        asked = {
            "cli": cli,
            "program": str(program),
            "key": KEY,
            "answer": ANSWER,
            "request": self.request,
            "environment": environment,
            "folder": str(self.work),
            "arguments": ["--cli-version", version, "--effort", "high"],
            "scenarios": {name: HASTY if name in slow else PATIENT for name in CASES[cli]}
            if not login
            else {"ok": PATIENT},
            "production": netlab.why_not() is None,
        }
        command = [sys.executable, "-m", "tests.support.models.cli_lab"]
        if netlab.why_not() is None:
            command = [sys.executable, str(Path(netlab.__file__)), str(self.egress), *command]
        done = subprocess.run(
            command,
            input=json.dumps(asked),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        self.outcomes: dict[str, dict[str, Any]] = json.loads(done.stdout)["outcomes"]

    def _furnish(self) -> None:
        """A person's configuration that would change or break every decision."""
        for name in (".codex", ".claude"):
            (self.home / name).mkdir()
        hook = {"matcher": "", "hooks": [{"type": "command", "command": f"touch {self.home}/hook_ran"}]}
        settings = {"hooks": {"SessionStart": [hook], "UserPromptSubmit": [hook]}, "model": "opus"}
        (self.home / ".claude" / "settings.json").write_text(json.dumps(settings))
        (self.home / ".codex" / "config.toml").write_text("this is no TOML")
        for path in (".codex/AGENTS.md", ".claude/CLAUDE.md", "AGENTS.md", "CLAUDE.md"):
            (self.home / path).write_text(MARK)

    def _log_in(self) -> None:
        if self.cli == "codex":
            path = self.home / ".codex" / "auth.json"
            path.write_text(json.dumps({"auth_mode": "apikey", "OPENAI_API_KEY": KEY}))
        else:
            path = self.home / ".claude" / ".credentials.json"
            login = {
                "accessToken": KEY,
                "refreshToken": "r",
                "expiresAt": 4102444800000,
                "scopes": ["user:inference"],
                "subscriptionType": "max",
            }
            path.write_text(json.dumps({"claudeAiOauth": login}))
        path.chmod(0o600)


def snapshot(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture(scope="module")
def labs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made: dict[tuple[str, str, bool], Lab] = {}

    def lab(pinned: tuple[str, str], login: bool = False) -> Lab:
        key = (*pinned, login)
        if key not in made:
            made[key] = Lab(tmp_path_factory.mktemp("lab"), *pinned, login=login)
        return made[key]

    return lab


@pytest.mark.parametrize(("pinned", "scenario"), SCENARIOS)
def test_scenario(labs: Any, pinned: tuple[str, str], scenario: str) -> None:
    outcome = labs(pinned).outcomes[scenario]
    code, most = CASES[pinned[0]][scenario]
    assert outcome.get("code") == code
    assert 1 <= len(outcome["requests"]) <= most
    assert outcome["left"] == []
    assert outcome["running"] == []
    if code == "timeout":
        assert outcome["seconds"] < HASTY + 1.5
    if code is None:
        usage = {} if scenario == "no_usage" else {"usage": USAGE[pinned[0]]}
        assert outcome["answer"] == ANSWER | usage
        assert outcome["stdout"].count("\n") == 1


@pytest.mark.parametrize("pinned", PINNED)
def test_the_model_gets_the_request_unchanged(labs: Any, pinned: tuple[str, str]) -> None:
    lab = labs(pinned)
    body = lab.outcomes["ok"]["requests"][0]["body"]
    system, user = (message["content"] for message in lab.request["messages"])
    texts = list(strings(body))
    assert texts.count(user) == 1
    assert sum(text.strip() == system for text in texts) == 1
    assert body["model"] == MODELS[lab.cli]
    assert not any(MARK in text for text in texts)
    assert not any(KEY in text for text in texts)
    tools = [tool.get("name") or tool["type"] for tool in body["tools"]]
    if lab.cli == "codex":
        assert body["text"]["format"]["schema"] == lab.request["response_schema"]
        assert body["text"]["format"]["strict"] is True
        assert body["reasoning"]["effort"] == "high"
        assert set(tools) <= {"update_plan", "apply_patch", "view_image"}
    else:
        assert tools == ["StructuredOutput"]
        assert body["tools"][0]["input_schema"] == lab.request["response_schema"]


def strings(value: Any) -> Any:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


@pytest.mark.parametrize("pinned", PINNED)
def test_the_home_stays_untouched(labs: Any, pinned: tuple[str, str]) -> None:
    lab = labs(pinned)
    assert snapshot(lab.home) == lab.before
    assert list(lab.temporary.iterdir()) == []


@pytest.mark.parametrize("pinned", PINNED)
def test_no_host_but_the_model_server(labs: Any, pinned: tuple[str, str]) -> None:
    """The rehearsals reach none; the one decision without a base URL reaches the provider's API alone."""
    reason = netlab.why_not()
    if reason:
        pytest.skip(reason)
    lab = labs(pinned)
    assert lab.outcomes["production"]["code"] in ("model_failed", "timeout")
    assert netlab.hosts(lab.egress) == HOSTS[lab.cli]


@pytest.mark.parametrize("pinned", PINNED)
def test_a_login_by_its_credential_file_alone(labs: Any, pinned: tuple[str, str]) -> None:
    lab = labs(pinned, login=True)
    assert lab.outcomes["ok"]["answer"] == ANSWER | {"usage": USAGE[lab.cli]}
    assert snapshot(lab.home) == lab.before
    if netlab.why_not() is None:
        assert netlab.hosts(lab.egress) == HOSTS[lab.cli]
