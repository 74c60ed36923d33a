"""What a family left out of what it measures, and why; read from its member of the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WITHOUT_MODEL = "without a model"
_NO_TOOL = {
    "reading call": "no tool of the catalog is marked read-only",
    "writing call": "every tool of the catalog is marked read-only",
}


def omissions(family: str, found: Mapping[str, Any]) -> dict[str, str]:
    """Each part that a family did not measure with its reason.

    Args:
        family: its name.
        found: its member of the result.
    """
    if family == "tokens":
        parts = {}
        if found.get("fixedTaskSkipReason"):
            parts["fixed task"] = str(found["fixedTaskSkipReason"])
        if "tasks" in found and found["tasks"] is None:
            parts["tasks"] = "no open intent has a right tool"
        return parts
    if family == "performance":
        return {str(part): str(reason) for part, reason in (found.get("skipped") or {}).items()}
    if family == "cache":
        return {part: _NO_TOOL.get(part, "no tool for it") for part in found.get("leftOut") or ()}
    return {}


def omission_lines(family: str, found: Mapping[str, Any]) -> list[str]:
    """The same as lines of a page, after an empty one; none where nothing was left out."""
    lines = [f"- {part}: not measured, {reason}" for part, reason in omissions(family, found).items()]
    return ["", *lines] if lines else []
