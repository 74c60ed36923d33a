"""The bundled adapters as a run starts them: real processes."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from discovercall.adapter.bundled import bundled_adapter
from discovercall.adapter.failures import AdapterFailure
from discovercall.adapter.process import run_adapter
from discovercall.adapter.protocol import parameterize_request, parse_answer, request_bytes, select_request

CANDIDATES = [
    {"tool_id": " tool.one ", "parameters": {"city": "京都", "2": 1, "big": 2**60 + 1}},
    {"tool_id": "tool.two", "parameters": {}},
]
TASKS = [
    {"id": "plain", "prompt": "p", "reference": {"candidates": CANDIDATES}},
    {"id": "old", "prompt": "p", "oracle": {"candidates": CANDIDATES[1:]}},
    {"id": "none", "prompt": "p"},
    {"id": "null", "prompt": "p", "reference": None},
    {"id": "empty", "prompt": "p", "reference": {"candidates": [], "unavailable_reason": "none known"}},
]


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.jsonl"
    lines = [json.dumps(task, ensure_ascii=False) for task in TASKS]
    path.write_bytes(("\ufeff# a comment\n\n" + "\r\n".join(lines) + "\n").encode())
    return path


class Route:
    """One bundled adapter on one task file."""

    def __init__(self, name: str, tasks: Path) -> None:
        adapter = bundled_adapter(name)
        assert adapter is not None
        self.command = adapter.command(tasks)
        self.digest = hashlib.sha256(tasks.read_bytes()).hexdigest()

    def ask(self, request: dict[str, Any]) -> Any:
        return parse_answer(
            asyncio.run(run_adapter(self.command, request_bytes(request), env={}, timeout_s=30)).stdout
        )

    def select(self, task_id: str, *tool_ids: Any) -> Any:
        results = [{"tool_id": tool_id} for tool_id in tool_ids]
        return self.ask(select_request("m", 1, self.digest, task_id, "p", results))

    def parameterize(self, task_id: str, tool_id: str) -> Any:
        tool = {"tool_id": tool_id, "params": []}
        return self.ask(parameterize_request("m", 1, self.digest, task_id, "p", tool, {}))


def code_of(action, *arguments) -> str:
    with pytest.raises(AdapterFailure) as caught:
        action(*arguments)
    return caught.value.code


@pytest.fixture(params=["reference", "oracle"])
def reference(request, tasks) -> Route:
    return Route(request.param, tasks)


def test_reference_takes_the_first_observed_candidate_in_file_order(reference):
    assert reference.select("plain", "other", "tool.two", "tool.one\n") == {"tool_id": " tool.one "}
    assert reference.select("plain", "tool.two") == {"tool_id": "tool.two"}
    assert reference.select("old", "tool.two") == {"tool_id": "tool.two"}


def test_reference_selects_nothing_unobserved(reference):
    assert reference.select("plain", "tool", None, 7) == {"tool_id": None}
    assert reference.select("plain") == {"tool_id": None}
    assert reference.select("empty", "tool.one") == {"tool_id": None}


def test_reference_supplies_fixed_parameters(reference):
    assert reference.parameterize("plain", "tool.one") == {"parameters": CANDIDATES[0]["parameters"]}
    assert reference.parameterize("old", " tool.two") == {"parameters": {}}


def test_reference_says_why_it_has_none(reference):
    for task_id in ("none", "null", "unknown"):
        assert code_of(reference.select, task_id, "tool.one") == "missing_reference"
    for task_id, tool_id in (("plain", "tool.three"), ("empty", "tool.one"), ("old", "tool.one")):
        assert code_of(reference.parameterize, task_id, tool_id) == "missing_reference_candidate"


def test_reference_refuses_another_task_file(reference, tasks):
    with tasks.open("ab") as stream:
        stream.write(b"\n")
    assert code_of(reference.select, "plain", "tool.one") == "task_set_mismatch"


def test_unknown_stage(reference):
    request = select_request("m", 1, reference.digest, "plain", "p", [])
    assert code_of(reference.ask, request | {"stage": "review"}) == "unsupported_stage"


@pytest.mark.parametrize("payload", [b"", b"[]", b"\xff", b"{"])
def test_malformed_request_is_a_plain_failure(reference, payload):
    with pytest.raises(AdapterFailure) as caught:
        asyncio.run(run_adapter(reference.command, payload, env={}, timeout_s=30))
    assert caught.value.code == "process_exit"


def test_first_result(tasks):
    route = Route("first_result", tasks)
    assert route.select("plain", "b", "a") == {"tool_id": "b"}
    assert route.select("plain") == {"tool_id": None}
    assert route.parameterize("plain", "b") == {"parameters": {}}
    assert str(tasks) not in route.command


def test_reference_knows_every_published_reference():
    published = Path(__file__).parents[2] / "tasks" / "v4.jsonl"
    route = Route("reference", published)
    task = json.loads(published.read_text(encoding="utf-8").splitlines()[0])
    candidate = task["reference"]["candidates"][0]
    assert route.select(task["id"], candidate["tool_id"]) == {"tool_id": candidate["tool_id"]}
    assert route.parameterize(task["id"], candidate["tool_id"]) == {"parameters": candidate["parameters"]}
