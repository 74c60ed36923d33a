"""Changes to a published pair, at every field path and of five kinds."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from typing import Any

KINDS = ("removed", "null", "another type", "another value", "a field beside it")


def field_paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every path to a field or an item inside a JSON value."""
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, child in children:
        yield (*path, name)
        yield from field_paths(child, (*path, name))


def shape(path: Sequence[str | int]) -> str:
    """A path with `[]` for every index."""
    return re.sub(r"\.?\[\]", "[]", ".".join("[]" if isinstance(part, int) else part for part in path))


def get(value: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        value = value[part]
    return value


def tampered(value: Any, path: Sequence[str | int], kind: str) -> Any:
    """A copy of a JSON value with one change, or the value itself where the change changes nothing."""
    result = copy.deepcopy(value)
    parent, last = get(result, path[:-1]), path[-1]
    if kind == "removed":
        del parent[last]
    elif kind == "null":
        parent[last] = None
    elif kind == "another type":
        parent[last] = _another_type(parent[last])
    elif kind == "another value":
        parent[last] = _another_value(parent[last])
    elif isinstance(parent, dict):
        parent[f"{last}_note"] = parent[last]
    else:
        parent.append(parent[last])
    return result


def _another_type(value: Any) -> Any:
    if isinstance(value, str):
        return [value]
    if isinstance(value, bool):
        return int(value)
    return str(value) if not isinstance(value, (dict, list)) else "text"


def _another_value(value: Any) -> Any:
    """A value that is as likely as the old one, so that only a contradiction can give it away."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value - 1 if value >= 1 else value + 1 if value == 0 else value / 2
    if value is None:
        return False
    if isinstance(value, (dict, list)):
        return type(value)()
    if re.fullmatch(r"[0-9a-f]{40,64}", value):
        return ("0" if value[0] != "0" else "1") + value[1:]
    if re.fullmatch(r"\d{4}-.*Z", value):
        digit = int(value[-2])
        return f"{value[:-2]}{digit - 1 if digit else 1}Z"
    return _OTHER.get(value, value + "x")


_OTHER = {
    "completed": "failed",
    "failed": "completed",
    "v1": "v2",
    "v2": "v1",
    "discover-call-v1": "discover-call-v2",
    "discover-call-v2": "discover-call-v1",
    "reference": "current-model",
    "configured-model": "current-model",
    "select": "inspect",
    "missing_tool_id": "ungrounded_tool_id",
    "network_failure": "http_503",
    "visualcrossing.timeline.retrieve.v1": "twelvedata.quote.retrieve.v1.affbefe3",
}
