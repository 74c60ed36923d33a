"""Whole lanes with the OpenAI-compatible adapter: on a fake server, and on llama.cpp's own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from discovercall.adapter.protocol import parameterize_request
from discovercall.adapter.schema import parameter_response_schema
from tests.adapters.deciding import KEY, decide
from tests.adapters.letters import API_KEY, LETTERS, LetterCatalog, tool_definitions
from tests.support.models.fake_openai import USAGE, FakeOpenAI

pytestmark = [pytest.mark.slow, pytest.mark.part("whole lanes on model servers")]

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(sysconfig.get_path("scripts")) / "discovercall"
SERVERS = ROOT / "tests" / "support" / "models"
START_S = 30

Lane = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def lane(tmp_path: Path) -> Lane:
    """Runs a lane from the command line; returns its records."""

    def run(model_url: str, *arguments: str, model: str = "gpt-fake") -> list[dict[str, Any]]:
        output = tmp_path / "runs.jsonl"
        done = subprocess.run(
            [
                str(COMMAND),
                *("run", "--adapter", "openai-compatible", f"--adapter-arg=--base-url={model_url}"),
                *("--model", model, "--lane", "configured-model", "--execute", "--concurrency", "2"),
                *("--output", str(output), *arguments),
            ],
            env={"PATH": os.environ["PATH"], "OPENAI_API_KEY": KEY, "QVERIS_API_KEY": API_KEY},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        text = output.read_text()
        assert KEY not in text + done.stdout + done.stderr
        return [json.loads(line) for line in text.splitlines()]

    return run


def first_choice(body: dict[str, Any]) -> dict[str, Any]:
    """What a model answers that takes the first result and the simplest values."""
    question = json.loads(body["messages"][-1]["content"])
    if "discovery" in question:
        return {"tool_id": question["discovery"]["results"][0]["tool_id"]}
    schema = body["response_format"]["json_schema"]["schema"]
    return {"parameters": simplest(schema["properties"]["parameters"])}


def simplest(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema["type"][-1] if isinstance(schema["type"], list) else schema["type"]
    if kind == "object":
        return {name: simplest(child) for name, child in schema["properties"].items()}
    return {"string": "x", "integer": 1, "number": 1.5, "boolean": True, "array": [], "null": None}[kind]


def test_a_whole_lane_on_the_fake_server(lane: Lane) -> None:
    with FakeOpenAI(key=KEY, answer=first_choice) as server:
        records = lane(server.url(), "--sandbox", "--trials", "1")
        asked = len(server.requests)
    assert len(records) == 18
    assert not [record for record in records if (record.get("error") or {}).get("stage") == "adapter"]
    called = [record for record in records if record["call"]["attempted"]]
    assert called
    assert all(record["usage"] == {"select": USAGE, "parameterize": USAGE} for record in called)
    assert asked == len(records) + sum(1 for record in records if record["inspection"]["returned_tool_ids"])


@pytest.mark.parametrize(
    ("scenario", "code"),
    [
        ("bad_json", "invalid_output"),
        ("refusal", "refused"),
        ("http429_quota", "rate_limited"),
    ],
)
def test_a_lane_of_faults_is_recorded_whole(lane: Lane, tmp_path: Path, scenario: str, code: str) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text("".join((ROOT / "tasks" / "v4.jsonl").read_text().splitlines(keepends=True)[:3]))
    with FakeOpenAI(scenario) as server:
        records = lane(server.url(), "--sandbox", "--trials", "1", "--tasks", str(tasks))
        assert len(server.requests) == len(records) > 0
    assert {(record["error"]["stage"], record["error"]["reason_code"]) for record in records} == {
        ("adapter", code)
    }


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Base URL of llama.cpp's server with a tiny random model."""
    missing = [name for name in ("xllamacpp", "gguf") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed")
    model = tmp_path_factory.mktemp("model") / "tiny.gguf"
    subprocess.run([sys.executable, str(SERVERS / "tiny_model.py"), str(model)], check=True, timeout=START_S)
    server = subprocess.Popen(
        [sys.executable, str(SERVERS / "llama_server.py"), str(model), KEY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        yield f"{server.stdout.readline().strip()}/v1"
    finally:
        server.stdin.close()
        server.wait(START_S)


@pytest.mark.slow
@pytest.mark.part("llama.cpp server")
def test_every_answer_of_a_lane_fits_its_schema(llama: str, lane: Lane) -> None:
    with LetterCatalog() as catalog:
        records = lane(
            llama,
            *("--api-base-url", catalog.base_url, "--tasks", str(ROOT / "tasks" / "v4.jsonl")),
            *("--limit", str(len(LETTERS)), "--trials", "3"),
            model="tiny-random",
        )
    assert len(records) == 54
    # The adapter ends with a code where an answer does not fit. A random choice is of course mostly unknown.
    failed = {
        (record["error"]["stage"], record["error"]["reason_code"]) for record in records if "error" in record
    }
    assert failed <= {
        ("select", "ungrounded_tool_id"),
        ("select", "missing_tool_id"),
        ("parameterize", "invalid_parameter_values"),
    }
    assert all(record["usage"]["select"]["completion_tokens"] > 0 for record in records)
    assert any("parameterize" in record["usage"] for record in records)


@pytest.mark.slow
@pytest.mark.part("llama.cpp server")
def test_parameters_of_every_tool_of_the_catalog_fit_their_schema(llama: str) -> None:
    def wrong(tool: dict[str, Any]) -> str | None:
        schema = parameter_response_schema(tool)
        request = parameterize_request("tiny-random", 1, "0" * 64, "t", "Fill it in.", tool, schema)
        answer = decide(llama, request=request)
        problem = jsonschema.exceptions.best_match(
            jsonschema.Draft202012Validator(schema).iter_errors({"parameters": answer["parameters"]})
        )
        assert answer["note"] == {"response_format": "json_schema", "model": "tiny-random"}
        return f"{tool['tool_id']}: {problem.message}" if problem else None

    tools = tool_definitions()
    with ThreadPoolExecutor(2) as pool:
        problems = [problem for problem in pool.map(wrong, tools) if problem]
    assert tools
    assert not problems
