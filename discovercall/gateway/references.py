"""Local references of a JSON Schema, followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

_MAX_HOPS = 32
_OPEN = object()


class UnresolvedReferenceError(ValueError):
    """A reference that leads outside the document, nowhere or round in a circle, or parts that disagree."""


def resolved(schema: Any, root: Mapping[str, Any]) -> tuple[Any, tuple[str, ...]]:
    """A schema whose own `$ref` is followed, with the references that were followed on the way.

    Members beside `$ref` (descriptions, defaults) win over those of what it points at.

    Args:
        schema: any schema.
        root: the document that references start from.

    Raises:
        UnresolvedReferenceError: the reference can't be followed.
    """
    followed: list[str] = []
    while isinstance(schema, Mapping) and isinstance(schema.get("$ref"), str):
        reference = schema["$ref"]
        if reference in followed or len(followed) >= _MAX_HOPS:
            raise UnresolvedReferenceError(f"{reference} refers to itself")
        followed.append(reference)
        target = _pointed_at(reference, root)
        beside = {name: value for name, value in schema.items() if name != "$ref"}
        schema = {**target, **beside} if isinstance(target, Mapping) else target
    return schema, tuple(followed)


def merged(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 16) -> Mapping[str, Any]:
    """A schema with its `allOf` worked in: properties and required names add up, other members must agree.

    Args:
        schema: a schema whose own `$ref` is followed already.
        root: the document that references start from.
        depth: how deep `allOf` may be nested.

    Raises:
        UnresolvedReferenceError: a part can't be followed, is no object, or contradicts another.
    """
    parts = schema.get("allOf")
    if not isinstance(parts, list):
        return schema
    if not depth:
        raise UnresolvedReferenceError("allOf is nested too deep")
    result = {name: value for name, value in schema.items() if name != "allOf"}
    for part in parts:
        followed, _ = resolved(part, root)
        if not isinstance(followed, Mapping):
            raise UnresolvedReferenceError("a part of allOf is no object")
        for name, value in merged(followed, root, depth - 1).items():
            _add(result, name, value)
    return result


def _add(result: dict[str, Any], name: str, value: Any) -> None:
    known = result.get(name)
    if name == "properties" and isinstance(known, Mapping):
        result[name] = {**known, **value}
    elif name == "required" and isinstance(known, list):
        result[name] = [*dict.fromkeys([*known, *value])]
    elif name not in result:
        result[name] = value
    elif known != value and name not in ("description", "title", "additionalProperties"):
        raise UnresolvedReferenceError(f"allOf says two things of {name}")


def dereferenced(
    schema: Mapping[str, Any], root: Mapping[str, Any] | None = None, depth: int = 3
) -> dict[str, Any]:
    """A schema whose properties and items are free of references, down to some levels.

    What can't be followed accepts everything, for arguments are judged by what is known only.
    """
    root = schema if root is None else root
    try:
        followed, _ = resolved(schema, root)
    except UnresolvedReferenceError:
        return {}
    if not isinstance(followed, Mapping):
        return {}
    result = dict(followed)
    if depth:
        properties = result.get("properties")
        if isinstance(properties, Mapping):
            result["properties"] = {
                name: dereferenced(value, root, depth - 1) if isinstance(value, Mapping) else value
                for name, value in properties.items()
            }
        if isinstance(result.get("items"), Mapping):
            result["items"] = dereferenced(result["items"], root, depth - 1)
    return result


def _pointed_at(reference: str, root: Mapping[str, Any]) -> Any:
    if not reference.startswith("#"):
        raise UnresolvedReferenceError(f"{reference[:80]} lies outside the schema")
    value: Any = root
    for raw in reference.removeprefix("#").split("/")[1:]:
        part = unquote(raw).replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping):
            value = value.get(part, _OPEN)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            value = _OPEN
        if value is _OPEN:
            raise UnresolvedReferenceError(f"{reference[:80]} points at nothing")
    return value
