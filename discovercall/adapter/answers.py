"""Whether a model's answer keeps to a request's response schema."""

from __future__ import annotations

from typing import Any

from discovercall.foundation.ecmascript import is_finite_number, is_integer, strictly_equal

_CLASSES: dict[str, type] = {
    "null": type(None),
    "boolean": bool,
    "string": str,
    "array": list,
    "object": dict,
}


def fits_schema(value: Any, schema: dict[str, Any]) -> bool:
    """True when a JSON value fits a response schema.

    Args:
        value: the value, of any depth; no deeper than the schema is looked into.
        schema: a schema as `schema.parameter_response_schema` or `protocol.select_response_schema` writes it:
            `type`, `enum` of primitives, `properties`, `required`, `additionalProperties` false and `items`
            count; other keywords say nothing.
    """
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_has_kind(value, kind) for kind in kinds):
        return False
    if "enum" in schema and not any(strictly_equal(value, allowed) for allowed in schema["enum"]):
        return False
    if isinstance(value, dict):
        return _object_fits(value, schema)
    if isinstance(value, list) and "items" in schema:
        return all(fits_schema(item, schema["items"]) for item in value)
    return True


def _object_fits(value: dict[str, Any], schema: dict[str, Any]) -> bool:
    properties = schema.get("properties", {})
    if any(name not in value for name in schema.get("required", ())):
        return False
    if schema.get("additionalProperties") is False and any(name not in properties for name in value):
        return False
    return all(fits_schema(value[name], child) for name, child in properties.items() if name in value)


def _has_kind(value: Any, kind: str) -> bool:
    if kind == "integer":
        return is_integer(value)
    if kind == "number":
        return is_finite_number(value)
    return isinstance(value, _CLASSES[kind])
