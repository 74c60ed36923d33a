"""The strict JSON Schema that an adapter's parameters must fit, made from the inspected tool."""

from __future__ import annotations

from typing import Any

from discovercall.adapter.definitions import (
    Definition,
    UnsupportedParameterSchema,
    parameter_names,
    tool_definitions,
)
from discovercall.foundation.ecmascript import is_integer

__all__ = [
    "UnsupportedParameterSchema",
    "one_of_groups",
    "parameter_response_schema",
    "required_parameters",
    "strict_parameters_schema",
]

_NULL_HINT = "Optional: give null when the request does not call for it."


def parameter_response_schema(tool: Any) -> dict[str, Any]:
    """The schema of the answer `{"parameters": {...}}` for an inspected tool.

    Every known parameter is declared and required; an optional one may be null, and one that can't be made
    strict can only be null.

    Args:
        tool: the inspected tool as the API wrote it. Its `one_of_required` is judged by `one_of_groups`.

    Raises:
        UnsupportedParameterSchema: the tool's parameters can't be made strict; names the path.
    """
    return _object_schema({"parameters": strict_parameters_schema(tool)})


def strict_parameters_schema(tool: Any) -> dict[str, Any]:
    """The schema of the `parameters` object alone.

    Raises:
        UnsupportedParameterSchema: as `parameter_response_schema`.
    """
    return _object_schema({name: _schema(definition) for name, definition in tool_definitions(tool)})


def required_parameters(tool: Any) -> list[str]:
    """Names of the parameters whose `required` is true, in the tool's order; never raises, for it is recorded
    before the schema is judged."""
    return [name for name, required in parameter_names(tool) if required]


def one_of_groups(tool: Any) -> list[list[str]]:
    """Groups of parameter names of which at least one must be supplied.

    Args:
        tool: the inspected tool; `one_of_required` absent, null or [] is no group, a flat list of names is
            one group, else a list of groups. A name counts once in its group.

    Raises:
        UnsupportedParameterSchema: another shape, an empty group, or a name that is no parameter.
    """
    given = tool.get("one_of_required") if isinstance(tool, dict) else None
    if given is None or given == []:
        return []
    if not isinstance(given, list):
        raise UnsupportedParameterSchema("one_of_required is not a list")
    groups = [given] if all(isinstance(name, str) for name in given) else given
    known = {name for name, _ in parameter_names(tool)}
    for index, group in enumerate(groups):
        if not isinstance(group, list) or not group:
            raise UnsupportedParameterSchema(f"one_of_required[{index}] is not a list of names")
        if not all(isinstance(name, str) and name in known for name in group):
            raise UnsupportedParameterSchema(f"one_of_required[{index}] has an unknown name")
    return [list(dict.fromkeys(group)) for group in groups]


def _object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


def _schema(definition: Definition) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    if definition.description is not None:
        hint = f" {_NULL_HINT}" if definition.nullable else ""
        schema["description"] = definition.description + hint
    if definition.kind == "enum":
        return schema | _enum_schema(definition)
    if definition.kind == "null":
        return schema | {"type": "null"}
    schema["type"] = _type_of([definition.kind], nullable=definition.nullable)
    if definition.items is not None:
        schema["items"] = _schema(definition.items)
    if definition.kind == "object":
        nested = _object_schema({name: _schema(child) for name, child in definition.properties})
        schema |= {key: value for key, value in nested.items() if key != "type"}
    return schema


def _enum_schema(definition: Definition) -> dict[str, Any]:
    values = list(definition.values)
    kinds = list(dict.fromkeys(_primitive_kind(value) for value in values))
    if "number" in kinds:
        kinds = [kind for kind in kinds if kind != "integer"]
    if definition.nullable and None not in values:
        values.append(None)
    return {"type": _type_of(kinds, nullable=definition.nullable), "enum": values}


def _type_of(kinds: list[str], *, nullable: bool) -> str | list[str]:
    if nullable:
        kinds = [kind for kind in kinds if kind != "null"] + ["null"]
    return kinds[0] if len(kinds) == 1 else kinds


def _primitive_kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    return "integer" if is_integer(value) else "number"
