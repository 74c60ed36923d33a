"""A tool's JSON Schema put into the words that parameter lists have: one type, items, properties, values.

What the lowered schema accepts the original accepts too; of several alternatives one is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discovercall.gateway.references import UnresolvedReferenceError, merged, resolved

_MAX_DEPTH = 16
_COMPOSED = ("$ref", "$defs", "definitions", "anyOf", "oneOf", "allOf", "const")
_OPAQUE: dict[str, Any] = {"type": "object"}
"""An object of which nothing is known: no strict schema can be made of it."""


def lowered(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The lowered form of a whole input schema.

    Args:
        schema: JSON Schema of the tool's arguments; one that can't be followed gives an object without
            properties.
    """
    return _lowered(schema, schema, frozenset(), _MAX_DEPTH)


def _lowered(schema: Any, root: Mapping[str, Any], above: frozenset[str], depth: int) -> dict[str, Any]:
    try:
        followed, references = resolved(schema, root)
        if above.intersection(references) or not isinstance(followed, Mapping) or not depth:
            return dict(_OPAQUE)
        whole = merged(followed, root)
    except UnresolvedReferenceError:
        return dict(_OPAQUE)
    above = above.union(references)
    plain = {name: value for name, value in whole.items() if name not in _COMPOSED}
    if "const" in whole:
        plain["enum"] = [whole["const"]]
    if not isinstance(plain.get("enum"), list):
        for keyword in ("anyOf", "oneOf"):
            branches = whole.get(keyword)
            if isinstance(branches, list) and "properties" not in plain:
                plain |= _chosen(branches, plain, root, above, depth)
    _lower_values(plain)
    if isinstance(plain.get("properties"), Mapping):
        plain["properties"] = {
            name: _lowered(value, root, above, depth - 1) for name, value in plain["properties"].items()
        }
    if isinstance(plain.get("items"), Mapping):
        plain["items"] = _lowered(plain["items"], root, above, depth - 1)
    return plain


def _chosen(
    branches: list[Any], beside: Mapping[str, Any], root: Mapping[str, Any], above: frozenset[str], depth: int
) -> dict[str, Any]:
    """The first alternative that can be made strict, else the first that is not null."""
    first: dict[str, Any] | None = None
    for branch in branches:
        candidate = _lowered(branch, root, above, depth - 1)
        if candidate.get("type") == "null" or set(candidate) <= {"required", "description", "title"}:
            continue
        if _can_be_strict(candidate):
            return _without_text_of(beside, candidate)
        first = first or candidate
    return _without_text_of(beside, first or {})


def _without_text_of(beside: Mapping[str, Any], branch: dict[str, Any]) -> dict[str, Any]:
    """The alternative's members, but the description of the whole where it has one."""
    return {name: value for name, value in branch.items() if name != "description" or name not in beside}


def _lower_values(plain: dict[str, Any]) -> None:
    values = plain.get("enum")
    if isinstance(values, list):
        primitive = [value for value in values if not isinstance(value, (dict, list))]
        plain["enum"] = primitive or values
        declared = plain.get("type")
        if isinstance(declared, str) and declared in ("object", "array") and primitive:
            del plain["type"]


def _can_be_strict(plain: Mapping[str, Any], depth: int = _MAX_DEPTH) -> bool:
    if isinstance(plain.get("enum"), list):
        return not any(isinstance(value, (dict, list)) for value in plain["enum"])
    declared = plain.get("type")
    kinds = [kind for kind in declared if kind != "null"] if isinstance(declared, list) else [declared]
    kind = kinds[0] if kinds else None
    if kind == "array" or (kind is None and "items" in plain):
        items = plain.get("items")
        return isinstance(items, Mapping) and depth > 0 and _can_be_strict(items, depth - 1)
    if kind == "object" or (kind is None and "properties" in plain):
        properties = plain.get("properties")
        if not isinstance(properties, Mapping) or not properties or depth <= 0:
            return False
        required = plain.get("required") or ()
        return all(name in properties and _can_be_strict(properties[name], depth - 1) for name in required)
    return True
