"""Puts refused arguments right by rule alone, from what the broker says: the error, and describeTool."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from discovercall.gateway.catalog import properties_of
from discovercall.gateway.references import dereferenced

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})
_MAX_DEPTH = 8


def repaired_arguments(
    arguments: Mapping[str, Any], error: Mapping[str, Any], described: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Arguments with every named problem put right, without knowing what they mean.

    Missing fields are filled by their type, values are converted, wrapped or clamped, unknown fields go.

    Args:
        arguments: what was refused.
        error: the `error` member of the refusal.
        described: the document of describeTool.

    Returns:
        None where the error or the description is of no use.
    """
    problems, schema = error.get("problems"), described.get("inputSchema")
    if not isinstance(problems, list) or not problems or not isinstance(schema, Mapping):
        return None
    schema = dereferenced(schema)
    result: dict[str, Any] = _copied(arguments)
    for problem in problems:
        if not isinstance(problem, Mapping) or not _put_right(result, problem, schema):
            return None
    return result


def _put_right(result: dict[str, Any], problem: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    field, rule, expected = str(problem.get("field")), problem.get("rule"), problem.get("expected")
    if rule == "one_of_required":
        if not isinstance(expected, list) or not expected:
            return False
        field = str(expected[0])
    place = _place(result, field, schema)
    if place is None:
        return False
    holder, key, definition = place
    if rule in ("enum", "type", "items") and isinstance(holder, dict) and key not in holder:
        return False
    match rule:
        case "required" | "one_of_required":
            holder[key] = filled(definition)
        case "additionalProperties":
            holder.pop(key, None)
        case "minimum" | "maximum":
            holder[key] = expected
        case "enum":
            holder[key] = _chosen(holder[key], expected)
        case "type" | "items":
            holder[key] = converted(holder[key], definition)
        case _:
            return False
    return True


def _place(
    result: dict[str, Any], field: str, schema: Mapping[str, Any]
) -> tuple[Any, Any, Mapping[str, Any]] | None:
    """The container that a dotted field is in, its key there, and the field's definition."""
    if field in properties_of(schema) or field in result:
        return result, field, properties_of(schema).get(field, {})
    holder: Any = None
    value: Any = result
    key: Any = None
    definition: Mapping[str, Any] = schema
    for name, index in _STEP.findall(field):
        if key is not None:
            value = holder[key]
        holder, key = value, int(index) if index else name
        if isinstance(holder, list) and isinstance(key, int) and key < len(holder):
            items = definition.get("items")
            definition = items if isinstance(items, Mapping) else {}
        elif isinstance(holder, dict) and isinstance(key, str):
            definition = properties_of(definition).get(key, {})
        else:
            return None
    return None if holder is None else (holder, key, definition)


def filled(definition: Mapping[str, Any], depth: int = 0) -> Any:
    """A value that a definition accepts, as far as it tells: its first choice or example, else by type."""
    for keyword in ("enum", "examples"):
        choices = definition.get(keyword)
        if isinstance(choices, list) and choices:
            return choices[0]
    kind = _kind(definition)
    if kind == "object" and depth < _MAX_DEPTH:
        required = definition.get("required")
        properties = properties_of(definition)
        names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
        return {name: filled(properties.get(name, {}), depth + 1) for name in names}
    if kind in ("integer", "number"):
        limits = (definition.get(keyword) for keyword in ("minimum", "maximum"))
        return next((limit for limit in limits if isinstance(limit, (int, float))), 1)
    by_type: dict[str, Any] = {"object": {}, "array": [], "boolean": True, "null": None}
    return by_type.get(kind, "text")


def converted(value: Any, definition: Mapping[str, Any]) -> Any:
    """A value as its type wants it: a lone item in a list, a number out of its text; else a filled one."""
    kind = _kind(definition)
    if kind == "array":
        items = definition.get("items")
        item_definition = items if isinstance(items, Mapping) else {}
        fits = "type" not in item_definition or _fits(value, _kind(item_definition))
        return [value if fits else converted(value, item_definition)]
    if kind == "string" and not isinstance(value, (dict, list)) and value is not None:
        return str(value).lower() if isinstance(value, bool) else str(value)
    if kind == "boolean" and str(value).lower() in _TRUE | _FALSE:
        return str(value).lower() in _TRUE
    if kind in ("integer", "number") and not isinstance(value, bool):
        try:
            number = float(value)
            return int(number) if kind == "integer" else number
        except (TypeError, ValueError, OverflowError):
            pass
    return filled(definition)


def _kind(definition: Mapping[str, Any]) -> str:
    declared = definition.get("type")
    if isinstance(declared, list):
        declared = next((name for name in declared if name != "null"), "null")
    if isinstance(declared, str):
        return declared
    return "object" if "properties" in definition else "string"


def _fits(value: Any, kind: str) -> bool:
    types: dict[str, Any] = {"string": str, "object": dict, "array": list, "boolean": bool}
    if kind in ("integer", "number"):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return kind not in types or isinstance(value, types[kind])


def _chosen(value: Any, allowed: Any) -> Any:
    """The allowed value that differs in its case only, else the first."""
    choices = allowed if isinstance(allowed, list) and allowed else [value]
    wanted = str(value).casefold()
    return next((choice for choice in choices if str(choice).casefold() == wanted), choices[0])


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value
