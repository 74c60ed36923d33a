"""Whether an adapter's parameters keep to the inspected tool's definitions."""

from __future__ import annotations

from typing import Any

from discovercall.adapter.definitions import Definition, tool_definitions
from discovercall.adapter.schema import one_of_groups
from discovercall.foundation.ecmascript import is_finite_number, is_integer, strictly_equal

_SHOWN = 60


def strip_top_level_nulls(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters without those that are null; what lies deeper is left as it is."""
    return {name: value for name, value in parameters.items() if value is not None}


def check_parameters(parameters: dict[str, Any], tool: Any) -> str | None:
    """Find the first parameter that breaks the inspected tool's rules.

    Args:
        parameters: an adapter's `parameters`; top-level nulls count as left out.
        tool: the inspected tool as the API wrote it.

    Returns:
        One line that names the path and the rule, never the value; None when everything fits.

    Raises:
        UnsupportedParameterSchema: the tool's own definitions can't be made strict.
    """
    supplied = strip_top_level_nulls(parameters)
    problem = _object_problem(supplied, tool_definitions(tool), "parameters")
    if problem:
        return problem
    for group in one_of_groups(tool):
        if not any(supplied.get(name, "") != "" for name in group):
            return f"parameters: one of {', '.join(_show(name) for name in group)} must be supplied"
    return None


def _object_problem(
    value: dict[str, Any], definitions: tuple[tuple[str, Definition], ...], path: str
) -> str | None:
    known = {name for name, _ in definitions}
    for name in value:
        if name not in known:
            return f"{path}.{_show(name)}: no such parameter"
    for name, definition in definitions:
        problem = _problem(value.get(name), definition, f"{path}.{_show(name)}")
        if problem:
            return problem
    return None


def _problem(value: Any, definition: Definition, path: str) -> str | None:
    """A missing value is judged as null: both are wrong for a required one and fine for an optional one."""
    if definition.required and (value is None or value == ""):
        return f"{path}: required, but missing, null or empty"
    if value is None and definition.nullable:
        return None
    if definition.kind == "enum":
        listed = any(strictly_equal(value, allowed) for allowed in definition.values)
        return None if listed else f"{path}: not one of the listed values"
    if not _has_kind(value, definition.kind):
        return f"{path}: not {_NAMES[definition.kind]}"
    if definition.items is not None:
        for index, item in enumerate(value):
            problem = _problem(item, definition.items, f"{path}[{index}]")
            if problem:
                return problem
    if definition.kind == "object":
        return _object_problem(value, definition.properties, path)
    return None


_NAMES = {
    "null": "left out (its schema can't be made strict)",
    "string": "a string",
    "integer": "a whole number",
    "number": "a finite number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
_CLASSES: dict[str, type] = {"string": str, "boolean": bool, "array": list, "object": dict}


def _has_kind(value: Any, kind: str) -> bool:
    if kind == "integer":
        return is_integer(value)
    if kind == "number":
        return is_finite_number(value)
    expected = _CLASSES.get(kind)
    return expected is not None and isinstance(value, expected)


def _show(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
