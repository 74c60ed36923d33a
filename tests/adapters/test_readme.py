"""The example that authors start from works as printed."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest

from discovercall.adapter.failures import REPORTED_CODES, AdapterFailure
from discovercall.adapter.process import run_adapter
from discovercall.adapter.protocol import parameterize_request, parse_answer, request_bytes, select_request
from discovercall.adapter.schema import parameter_response_schema
from discovercall.adapter.startable import check_startable

README = (Path(__file__).parents[2] / "adapters" / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def example(tmp_path) -> list[str]:
    source = re.search(r"```python\n(#!.*?)```", README, re.S)
    assert source
    path = tmp_path / "my_adapter.py"
    path.write_text(source.group(1))
    path.chmod(0o755)
    return check_startable([str(path)])


def answer(command: list[str], request: dict):
    env = {"PATH": os.environ["PATH"]}
    return parse_answer(
        asyncio.run(run_adapter(command, request_bytes(request), env=env, timeout_s=30)).stdout
    )


def test_example_selects(example):
    results = [
        {"tool_id": "a", "capability": "share prices"},
        {"tool_id": "b", "capability": "weather by city"},
        {},
    ]
    request = select_request("m", 1, "0" * 64, "t", "The weather in Kyoto", results)
    assert answer(example, request) == {"tool_id": "b"}
    assert answer(example, select_request("m", 1, "0" * 64, "t", "p", [])) == {"tool_id": None}


def test_example_parameterizes(example):
    tool = {"tool_id": "b", "params": [{"name": "q", "type": "string", "required": True}]}
    schema = parameter_response_schema(tool)
    assert answer(example, parameterize_request("m", 1, "0" * 64, "t", "Kyoto", tool, schema)) == {
        "parameters": {"q": "Kyoto"}
    }
    bare = {"tool_id": "b"}
    assert answer(example, parameterize_request("m", 1, "0" * 64, "t", "Kyoto", bare, {})) == {
        "parameters": {}
    }


def test_example_reports_an_unknown_stage(example):
    request = select_request("m", 1, "0" * 64, "t", "p", [])
    with pytest.raises(AdapterFailure) as caught:
        answer(example, request | {"stage": "review"})
    assert caught.value.code == "unsupported_stage"


def test_all_codes_are_listed():
    section = README.split("## When you can't decide")[1].split("\n## ")[0]
    assert set(re.findall(r"`([a-z]+(?:_[a-z]+)*)`", section)) == REPORTED_CODES | {"process_exit"}
