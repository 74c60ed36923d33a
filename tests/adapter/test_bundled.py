from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from discovercall.adapter import bundled
from discovercall.adapter.bundled import bundled_adapter, bundled_adapters
from discovercall.adapter.environment import is_blocked
from discovercall.adapter.process import run_adapter
from discovercall.foundation.errors import InputError

LANES = {"reference", "configured-model", "pinned-model", "current-model"}


def test_every_file_is_listed_with_lane_and_description():
    adapters = bundled_adapters()
    assert {"reference", "oracle", "first-result"} <= set(adapters)
    for adapter in adapters.values():
        assert adapter.path.is_file()
        assert adapter.lane in LANES
        assert adapter.description
        assert not any(map(is_blocked, adapter.environment))


def test_only_the_reference_route_gets_the_task_file():
    reading = {name for name, adapter in bundled_adapters().items() if adapter.reads_task_file}
    assert reading == {"reference", "oracle"}


def test_old_names():
    oracle = bundled_adapter("oracle")
    assert oracle is not None
    assert (oracle.old_name_of, oracle.lane) == ("reference", "reference")
    assert bundled_adapter("first_result") == bundled_adapter("first-result") is not None
    assert bundled_adapter("no-such") is None
    assert list(bundled_adapters())[-1] == "oracle"


def test_constants_are_read_without_running_the_file(tmp_path, monkeypatch):
    folder = tmp_path / "adapters"
    folder.mkdir()
    (folder / "my_model.py").write_text(
        '"""A model.\n\nMore."""\nimport no_such_module\n'
        'LANE = "configured-model"\nENVIRONMENT = ("A_KEY", "B")\n'
    )
    monkeypatch.setattr(bundled, "resource_path", lambda *parts: tmp_path.joinpath(*parts))
    (adapter,) = bundled_adapters().values()
    assert (adapter.name, adapter.description, adapter.environment) == (
        "my-model",
        "A model.",
        ("A_KEY", "B"),
    )
    (folder / "my_model.py").write_text("LANE = compute()\n")
    with pytest.raises(InputError, match="not a readable adapter"):
        bundled_adapters()


def test_hostile_folder_and_variables_inject_nothing(tmp_path):
    for name in ("discovercall", "json", "sitecustomize", "usercustomize", "hashlib", "typing"):
        (tmp_path / f"{name}.py").write_text("import os; os._exit(66)\n")
    adapter = bundled_adapter("first-result")
    assert adapter is not None
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path), "PYTHONHOME": str(tmp_path)}
    request = {"stage": "select", "input": {"discovery": {"results": [{"tool_id": "a"}]}}}
    command = adapter.command(tmp_path / "tasks.jsonl")
    result = asyncio.run(
        run_adapter(command, json.dumps(request).encode(), env=env, timeout_s=30, cwd=str(tmp_path))
    )
    assert json.loads(result.stdout) == {"tool_id": "a"}


def test_command_line(tmp_path):
    reference = bundled_adapter("reference")
    first = bundled_adapter("first-result")
    assert reference is not None
    assert first is not None
    tasks = tmp_path / "tasks.jsonl"
    assert reference.command(tasks, ("--x",)) == [
        sys.executable,
        "-E",
        "-P",
        str(reference.path),
        str(tasks),
        "--x",
    ]
    assert str(tasks) not in first.command(tasks)


@pytest.mark.parametrize("name", sorted(bundled_adapters()))
def test_adapters_import_little(name):
    """The modules that make a start slow stay out of what an adapter imports at once."""
    adapter = bundled_adapters()[name]
    code = (
        "import runpy, sys; runpy.run_path(sys.argv[1]);"
        "slow = {'pydantic', 'asyncio', 'httpx', 'numpy', 'rich', 'typer', 'ctypes'};"
        "print(sorted(slow.intersection(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(adapter.path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_authoring_helpers_import_nothing_heavy():
    code = (
        "import sys, discovercall.adapter.authoring, discovercall.adapter.environment;"
        "print('asyncio' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout == "False\n"
