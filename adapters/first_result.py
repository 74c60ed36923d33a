"""Baseline without a model: takes the first discovery result and builds no parameters."""

from __future__ import annotations

from typing import Any

from discovercall.adapter.authoring import serve

LANE = "configured-model"
ENVIRONMENT = ()


def select(request: dict[str, Any]) -> dict[str, Any]:
    """The first result's tool, or none."""
    results = request["input"]["discovery"]["results"]
    return {"tool_id": results[0].get("tool_id") if results else None}


def parameterize(request: dict[str, Any]) -> dict[str, Any]:
    """No parameters, whatever the tool."""
    return {"parameters": {}}


if __name__ == "__main__":
    serve({"select": select, "parameterize": parameterize})
