"""Tasks and records as plain objects, right in every respect until a test changes something."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

DIGEST = "d" * 64
COMMIT = "c" * 40


def constraint(id: str = "city", value: Any = "London", **more: Any) -> dict[str, Any]:
    """A constraint on the parameter of the same name."""
    return {"id": id, "aliases": [id], "value": value, **more}


def task(id: Any = "weather", **more: Any) -> dict[str, Any]:
    """A task with one constraint, London."""
    return {
        "id": id,
        "prompt": f"Do {id}.",
        "discover_query": f"{id} query",
        "constraints": [constraint()],
        **more,
    }


def lines(*tasks: Any) -> str:
    """Task file text."""
    return "".join(json.dumps(t) + "\n" for t in tasks)


def metadata(**more: Any) -> dict[str, Any]:
    """A record's metadata."""
    return {
        "lane": "configured-model",
        "model_revision": "unreported",
        "adapter_revision": "adapter-1",
        "toolkit_revision": COMMIT,
        "task_set_sha256": DIGEST,
        "api_base_url": "https://api.example/v1",
        "api_revision": "unreported",
        "catalog_revision": "unreported",
        "catalog_observation_sha256": "e" * 64,
        "runtime": {"python": "3.11.7", "platform": "linux", "arch": "x86_64"},
        "discovery_limit": 10,
        "execute": True,
        **more,
    }


_numbers = itertools.count(1)


def record(task_id: Any = "weather", trial: int = 1, **more: Any) -> dict[str, Any]:
    """A record of a strict success, with a run id of its own."""
    return {
        "schema_version": 1,
        "benchmark_version": "v2",
        "run_id": f"run-{next(_numbers)}",
        "model": "model-1",
        "metadata": metadata(),
        "task_id": task_id,
        "trial": trial,
        "started_at": "2026-01-01T00:00:00.000Z",
        "status": "completed",
        "discovery": {"result_tool_ids": ["a.tool", "b.tool"]},
        "selection": {"tool_id": "a.tool"},
        "inspection": {"returned_tool_ids": ["a.tool"], "required_parameters": ["city"]},
        "parameters": {"city": "London"},
        "call": {"attempted": True, "success": True, "result_nonempty": True},
        "finished_at": "2026-01-01T00:00:01.000Z",
        **more,
    }


def failed(task_id: str = "weather", trial: int = 1, **more: Any) -> dict[str, Any]:
    """A record of a trial that failed at selection."""
    return record(
        task_id,
        trial,
        **{
            "status": "failed",
            "selection": {"tool_id": None},
            "inspection": {"returned_tool_ids": [], "required_parameters": []},
            "parameters": None,
            "call": {"attempted": False, "success": None},
            "error": {"stage": "select", "reason_code": "missing_tool_id", "message": "x"},
            **more,
        },
    )


def run(tasks: Sequence[dict[str, Any]], trials: int = 3, **more: Any) -> list[dict[str, Any]]:
    """Successes for every task and trial."""
    return [record(t["id"], trial, **more) for t in tasks for trial in range(1, trials + 1)]
