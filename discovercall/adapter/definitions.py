"""The parameters of an inspected tool, read once: what the response schema offers and what answers are
checked against come from the same definitions, so the two cannot disagree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from discovercall.foundation.ecmascript import is_blank, is_finite_number, lower
from discovercall.foundation.json_text import ordered_items

MAX_DEPTH = 64
"""Levels of `items` and `properties` that a schema may have. What lies deeper can't be made strict (no known
model takes a schema of that depth), so that no catalog entry, however deep, exhausts the call stack."""

_KINDS = {
    "string": "string",
    "integer": "integer",
    "int": "integer",
    "number": "number",
    "float": "number",
    "double": "number",
    "boolean": "boolean",
    "bool": "boolean",
    "array": "array",
    "list": "array",
    "object": "object",
    "map": "object",
}
_SHOWN = 60  # characters of a catalog's text that a message repeats


class UnsupportedParameterSchema(ValueError):
    """An inspected tool whose parameters cannot be turned into a strict schema; names the path."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One parameter, nested property or array item.

    Attributes:
        kind: string, integer, number, boolean, array, object, `enum` (a closed list of values), or `null`
            (can't be made strict, so it can only be left out).
        required: must be supplied.
        nullable: may be left out or null. An array item is neither required nor nullable.
        description: the catalog's text, or None.
        values: the values of an enum.
        items: the definition of an array's items.
        properties: those of an object, in compact-JSON key order.
    """

    kind: str
    required: bool = False
    nullable: bool = False
    description: str | None = None
    values: tuple[Any, ...] = ()
    items: Definition | None = None
    properties: tuple[tuple[str, Definition], ...] = ()


def tool_definitions(tool: Any) -> tuple[tuple[str, Definition], ...]:
    """The definitions of a tool's `params`, in compact-JSON key order.

    Args:
        tool: the inspected tool as the API wrote it; no object, or `params` that are no list: no parameters.

    Raises:
        UnsupportedParameterSchema: a required parameter can't be made strict, or a name or `required` is
            malformed.
    """
    raw: dict[str, Any] = {}
    for index, param in enumerate(listed_parameters(tool)):
        path = f"params[{index}]"
        if not isinstance(param, dict):
            raise UnsupportedParameterSchema(f"{path} is not an object")
        name = param.get("name")
        if not isinstance(name, str) or is_blank(name):
            raise UnsupportedParameterSchema(f"{path}.name is not a name")
        if name in raw:
            raise UnsupportedParameterSchema(f"{path}.name {_show(name)} occurs twice")
        if not isinstance(param.get("required"), bool):
            raise UnsupportedParameterSchema(f"{path}.required is not true or false")
        raw[name] = param
    return tuple((name, _property(param, f"params.{_show(name)}", 1)) for name, param in ordered_items(raw))


def listed_parameters(tool: Any) -> list[Any]:
    """The `params` list of a tool as the API wrote it; empty where there is none."""
    params = tool.get("params") if isinstance(tool, dict) else None
    return params if isinstance(params, list) else []


def parameter_names(tool: Any) -> Iterator[tuple[str, bool]]:
    """Each parameter that has a string name, and whether its `required` is true."""
    for param in listed_parameters(tool):
        if isinstance(param, dict) and isinstance(param.get("name"), str):
            yield param["name"], param.get("required") is True


def _property(raw: Any, path: str, depth: int) -> Definition:
    """A parameter or nested property; a nested shorthand (no object) counts as an optional string."""
    described = raw if isinstance(raw, dict) else {"type": "string"}
    required = described.get("required") is True
    try:
        return _strict(described, path, depth, required=required, nullable=not required)
    except UnsupportedParameterSchema:
        if required:
            raise
        return Definition("null", nullable=True, description=_description(described))


def _strict(raw: dict[str, Any], path: str, depth: int, *, required: bool, nullable: bool) -> Definition:
    if depth > MAX_DEPTH:
        raise UnsupportedParameterSchema(f"{path[:_SHOWN]}… is nested deeper than {MAX_DEPTH} levels")
    kind = _kind(raw.get("type"), path)
    description = _description(raw)
    values = _enum_values(raw, path)
    if values:
        return Definition("enum", required, nullable, description, values=values)
    if kind == "array":
        items = raw.get("items")
        if not isinstance(items, dict):
            raise UnsupportedParameterSchema(f"{path}: an array without items")
        item = _strict(items, f"{path}.items", depth + 1, required=False, nullable=False)
        return Definition(kind, required, nullable, description, items=item)
    if kind == "object":
        properties = raw.get("properties")
        if not isinstance(properties, dict) or not properties:
            raise UnsupportedParameterSchema(f"{path}: an object without properties")
        nested = tuple(
            (name, _property(child, f"{path}.{_show(name)}", depth + 1))
            for name, child in ordered_items(properties)
        )
        return Definition(kind, required, nullable, description, properties=nested)
    return Definition(kind, required, nullable, description)


def _kind(type_name: Any, path: str) -> str:
    if not isinstance(type_name, str):
        raise UnsupportedParameterSchema(f"{path}: the type is missing")
    kind = _KINDS.get(lower(type_name))
    if kind is None:
        raise UnsupportedParameterSchema(f"{path}: type {_show(type_name)} is not supported")
    return kind


def _enum_values(raw: dict[str, Any], path: str) -> tuple[Any, ...]:
    if "enum" not in raw:
        return ()
    values = raw["enum"]
    if not isinstance(values, list):
        raise UnsupportedParameterSchema(f"{path}: enum is not a list")
    if not all(map(_is_primitive, values)):
        raise UnsupportedParameterSchema(f"{path}: enum holds a value that is no primitive")
    return tuple(values)


def _is_primitive(value: Any) -> bool:
    return value is None or isinstance(value, (str, bool)) or is_finite_number(value)


def _description(raw: dict[str, Any]) -> str | None:
    text = raw.get("description")
    return text if isinstance(text, str) and not is_blank(text) else None


def _show(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
