"""Whether arguments fit a tool's schema: all problems at once, as text and as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from discovercall.foundation.ecmascript import is_integer, is_number, strictly_equal
from discovercall.foundation.json_text import compact
from discovercall.gateway.catalog import properties_of
from discovercall.gateway.parameters import one_of_required
from discovercall.gateway.references import dereferenced

Rule = Literal[
    "required", "one_of_required", "type", "enum", "items", "minimum", "maximum", "additionalProperties"
]
_MAX_SHOWN = 80  # characters of a value in a message


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with the arguments.

    `field` is a dotted path ("filter.from", "tags[2]"); `expected` and `got` are JSON values: types for
    `type` and `items`, the values themselves for the rules on values, names for the rest.
    """

    field: str
    rule: Rule
    expected: Any
    got: Any
    message: str

    def to_json(self) -> dict[str, Any]:
        """The machine form."""
        return {"field": self.field, "rule": self.rule, "expected": self.expected, "got": self.got}


def check_arguments(schema: Mapping[str, Any] | None, arguments: Mapping[str, Any]) -> list[Problem]:
    """All problems of the arguments, sorted by their message; empty when they fit.

    Looks at the top level and at one level of nested objects, behind local references too. A missing schema,
    an unknown type name and an undeclared argument accept everything, unless the schema says
    `additionalProperties: false`.
    """
    if schema is None:
        return []
    schema = dereferenced(schema)
    problems = [*_object_problems(schema, arguments, prefix="", nested=True)]
    for group in one_of_required(schema):
        if not any(name in arguments for name in group):
            names = ", ".join(group)
            problems.append(Problem(names, "one_of_required", group, None, f"one of {names} is required"))
    return sorted(problems, key=lambda problem: (problem.message, problem.field))


def _object_problems(
    schema: Mapping[str, Any], value: Mapping[str, Any], *, prefix: str, nested: bool
) -> Iterator[Problem]:
    properties = properties_of(schema)
    required = schema.get("required")
    for name in dict.fromkeys(required) if isinstance(required, list) else ():
        if isinstance(name, str) and name not in value:
            kind = properties.get(name, {}).get("type")
            yield Problem(prefix + name, "required", kind, None, f"{prefix}{name} is required")
    for name, item in value.items():
        if name in properties:
            yield from _value_problems(properties[name], item, prefix + name, nested=nested)
        elif schema.get("additionalProperties") is False:
            expected = sorted(properties)
            yield Problem(
                prefix + name,
                "additionalProperties",
                expected,
                name,
                f"{prefix}{name} is not a known argument; known are {', '.join(expected) or 'none'}",
            )


def _value_problems(schema: Mapping[str, Any], value: Any, field: str, *, nested: bool) -> Iterator[Problem]:
    declared = schema.get("type")
    if declared is not None and not _fits_any(declared, value):
        expected = " or ".join(map(str, declared)) if isinstance(declared, list) else declared
        got = json_type(value)
        yield Problem(field, "type", declared, got, f"{field} must be of type {expected}, not {got}")
        return
    allowed = schema.get("enum")
    if isinstance(allowed, list) and allowed and not any(_equal(value, choice) for choice in allowed):
        choices = ", ".join(map(_shown, allowed))
        yield Problem(field, "enum", allowed, value, f"{field} must be one of {choices}, not {_shown(value)}")
    if is_number(value):
        yield from _limit_problems(schema, value, field)
    items = schema.get("items")
    if isinstance(value, list) and isinstance(items, Mapping):
        yield from _item_problems(items.get("type"), value, field)
    if nested and isinstance(value, dict):
        yield from _object_problems(schema, value, prefix=f"{field}.", nested=False)


def _limit_problems(schema: Mapping[str, Any], value: float, field: str) -> Iterator[Problem]:
    least, most = schema.get("minimum"), schema.get("maximum")
    if isinstance(least, (int, float)) and value < least:
        message = f"{field} must be at least {_shown(least)}, not {_shown(value)}"
        yield Problem(field, "minimum", least, value, message)
    if isinstance(most, (int, float)) and value > most:
        message = f"{field} must be at most {_shown(most)}, not {_shown(value)}"
        yield Problem(field, "maximum", most, value, message)


def _item_problems(declared: Any, values: list[Any], field: str) -> Iterator[Problem]:
    for index, item in enumerate(values):
        if declared is not None and not _fits_any(declared, item):
            got = json_type(item)
            message = f"{field}[{index}] must be of type {declared}, not {got}"
            yield Problem(f"{field}[{index}]", "items", declared, got, message)


def _fits_any(declared: Any, value: Any) -> bool:
    kinds = declared if isinstance(declared, list) else [declared]
    return any(_fits(kind, value) for kind in kinds)


def _fits(kind: Any, value: Any) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "integer":
            return is_integer(value)
        case "number":
            return is_number(value)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "null":
            return value is None
        case _:
            return True


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, (dict, list)) or isinstance(right, (dict, list)):
        return type(left) is type(right) and compact(left) == compact(right)
    return strictly_equal(left, right)


def json_type(value: Any) -> str:
    """The JSON type of a value: integer for a whole number, number for another."""
    if isinstance(value, bool):
        return "boolean"
    if is_number(value):
        return "integer" if is_integer(value) else "number"
    names = {str: "string", list: "array", dict: "object", type(None): "null"}
    return names.get(type(value), type(value).__name__)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else compact(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
