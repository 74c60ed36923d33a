"""Parameter lists of the capability API, derived from a tool's JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from discovercall.gateway.catalog import properties_of
from discovercall.gateway.lowering import lowered

_MAX_GROUPS = 64  # a schema whose alternatives multiply beyond this is not described by groups


def derive_params(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parameters of an object schema, in declared order.

    References are written out, and of alternatives the first that can be made strict stands for all.

    Args:
        schema: JSON Schema of the tool's arguments.

    Returns:
        One object per property: `name`, `type`, `required`, and where declared `description`, `enum`,
        `items` (arrays) and `properties` (objects; each with its own `required`).
    """
    plain = lowered(schema)
    required = _names(plain.get("required"))
    return [
        {"name": name, **_definition(declared, name in required)}
        for name, declared in properties_of(plain).items()
    ]


def one_of_required(schema: Mapping[str, Any]) -> list[list[str]]:
    """Groups of names of which at least one must be supplied, from `anyOf` or `oneOf` of `required` lists.

    Alternatives of several names are turned into groups that hold exactly when one alternative does:
    (a and b) or c becomes [a, c], [b, c]. Names that are required anyway satisfy their groups, and
    alternatives that say more than `required` are left to the argument check.
    """
    always = _names(schema.get("required"))
    groups: list[list[str]] = []
    for part in (schema, *_objects(schema.get("allOf"))):
        for keyword in ("anyOf", "oneOf"):
            alternatives = _objects(part.get(keyword))
            if alternatives and all(_only_required(alternative) for alternative in alternatives):
                groups.extend(_product(alternatives))
    return _minimal([group for group in groups if not always.intersection(group)])


def example_arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """One valid set of arguments: the required ones, and the first of each group that needs one."""
    return _example_object(lowered(schema), schema)


def _example_object(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    properties = properties_of(schema)
    wanted = [name for name in properties if name in _names(schema.get("required"))]
    for group in one_of_required(whole):
        if not set(group).intersection(wanted):
            wanted.append(group[0])
    return {name: _example(properties.get(name, {})) for name in wanted}


def declared_type(definition: Mapping[str, Any]) -> str:
    """The type of a property; a list gives its first that is not null, none is told from what it holds."""
    declared = definition.get("type")
    if isinstance(declared, str):
        return declared
    if isinstance(declared, list):
        return next((name for name in declared if isinstance(name, str) and name != "null"), "string")
    values = definition.get("enum")
    if isinstance(values, list) and values:
        return _type_of(values[0])
    if "properties" in definition:
        return "object"
    return "array" if "items" in definition else "string"


def _definition(declared: Mapping[str, Any], required: bool) -> dict[str, Any]:
    kind = declared_type(declared)
    result: dict[str, Any] = {"type": kind, "required": required}
    description = declared.get("description")
    if isinstance(description, str) and description:
        result["description"] = description
    values = declared.get("enum")
    if isinstance(values, list) and values:
        result["enum"] = list(values)
    items = declared.get("items")
    if kind == "array" and isinstance(items, Mapping):
        result["items"] = {k: v for k, v in _definition(items, False).items() if k != "required"}
    if kind == "object":
        inner_required = _names(declared.get("required"))
        inner = properties_of(declared)
        if inner:
            result["properties"] = {
                name: _definition(value, name in inner_required) for name, value in inner.items()
            }
    return result


def _example(definition: Mapping[str, Any]) -> Any:
    for keyword in ("examples", "enum"):
        values = definition.get(keyword)
        if isinstance(values, list) and values:
            return values[0]
    if "default" in definition:
        return definition["default"]
    kind = declared_type(definition)
    if kind == "object":
        return _example_object(definition, definition)
    if kind == "array":
        items = definition.get("items")
        return [_example(items)] if isinstance(items, Mapping) else []
    if kind in ("integer", "number"):
        return _example_number(definition)
    return {"boolean": True}.get(kind, "text")


def _example_number(definition: Mapping[str, Any]) -> int | float:
    for keyword in ("minimum", "maximum"):
        limit = definition.get(keyword)
        if isinstance(limit, (int, float)) and not isinstance(limit, bool):
            return limit
    return 1


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    return "number" if isinstance(value, float) else "string"


def _names(value: Any) -> set[str]:
    return {name for name in value if isinstance(name, str)} if isinstance(value, list) else set()


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _only_required(alternative: Mapping[str, Any]) -> bool:
    return set(alternative) == {"required"} and bool(_names(alternative["required"]))


def _product(alternatives: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Conjunctive form of a disjunction of conjunctions."""
    groups: list[list[str]] = []
    for number, choice in enumerate(product(*(alternative["required"] for alternative in alternatives))):
        if number >= _MAX_GROUPS:
            return []
        groups.append(list(dict.fromkeys(choice)))
    return groups


def _minimal(groups: list[list[str]]) -> list[list[str]]:
    """Without groups that follow from a smaller or an equal earlier one."""
    kept = []
    for place, group in enumerate(groups):
        others = groups[:place] + groups[place + 1 :]
        smaller = any(set(other) < set(group) for other in others)
        earlier = any(set(other) == set(group) for other in groups[:place])
        if not smaller and not earlier:
            kept.append(group)
    return kept
