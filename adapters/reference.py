"""Curated route: picks a task's configured candidate when it was observed, and supplies its fixed parameters.

    reference.py TASK_FILE

It alone reads the task file, which must be the one that the run was planned with.
"""

from __future__ import annotations

import sys
from typing import Any

from discovercall.adapter.authoring import Refusal, serve
from discovercall.foundation.digests import sha256_hex
from discovercall.foundation.ecma_json import BYTE_ORDER_MARK, loads
from discovercall.foundation.ecmascript import trim

LANE = "reference"
ENVIRONMENT = ()
READS_TASK_FILE = True


def candidates(request: dict[str, Any], data: bytes) -> list[dict[str, Any]]:
    """The task's candidates in file order; `oracle` is the old name of `reference`."""
    if sha256_hex(data) != request.get("task_set_sha256"):
        raise Refusal("task_set_mismatch")
    task_id = request["input"]["task_id"]
    # The digest says that the harness has read and checked this very file; its full reader starts too slowly.
    for line in data.decode("utf-8").removeprefix(BYTE_ORDER_MARK).split("\n"):
        if not trim(line) or line.lstrip().startswith("#"):
            continue
        task = loads(line)
        if task["id"] == task_id:
            reference = task.get("reference") or task.get("oracle")
            if reference:
                return list(reference["candidates"])
    raise Refusal("missing_reference")


def tool_id_of(value: Any) -> str:
    """A tool id as the harness compares it."""
    tool_id = value.get("tool_id") if isinstance(value, dict) else None
    return trim(tool_id) if isinstance(tool_id, str) else ""


def select(request: dict[str, Any], data: bytes) -> dict[str, Any]:
    """The first candidate that is among the discovery results, or none."""
    observed = {tool_id_of(result) for result in request["input"]["discovery"]["results"]}
    for candidate in candidates(request, data):
        if tool_id_of(candidate) in observed:
            return {"tool_id": candidate["tool_id"]}
    return {"tool_id": None}


def parameterize(request: dict[str, Any], data: bytes) -> dict[str, Any]:
    """The fixed parameters of the selected candidate."""
    selected = tool_id_of(request["input"]["selected_tool"])
    for candidate in candidates(request, data):
        if tool_id_of(candidate) == selected:
            return {"parameters": candidate["parameters"]}
    raise Refusal("missing_reference_candidate")


def main(arguments: list[str]) -> None:
    """Decide with the task file that the one argument names."""
    if len(arguments) != 1:
        sys.exit("usage: reference.py TASK_FILE")
    with open(arguments[0], "rb") as stream:
        data = stream.read()
    serve(
        {
            "select": lambda request: select(request, data),
            "parameterize": lambda request: parameterize(request, data),
        }
    )


if __name__ == "__main__":
    main(sys.argv[1:])
