"""A tool's JSON Schema made strict, so that a model can be held to it.

The rules are those of structured outputs: every object lists all its properties as required and forbids
others, every node has a type, references are written out. What the strict schema accepts, with nulls taken
out (`nulls.without_nulls`), the tool's own schema accepts too; where both can't be had, the strict one is
narrower.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from discovercall.gateway.arguments import json_type
from discovercall.gateway.references import UnresolvedReferenceError, merged, resolved

MAX_DEPTH = 10
"""Levels of objects and arrays that models take."""
MAX_NODES = 2_000
"""Nodes of a strict schema; references written out can make a small schema large."""
NULL_HINT = "Optional: give null when the request does not call for it."

_TYPES = ("string", "number", "integer", "boolean", "null", "object", "array")
_PRIMITIVE = frozenset(["string", "number", "integer", "boolean", "null"])
_LIMITS: dict[str, tuple[str, ...]] = {
    "string": ("pattern",),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": ("minItems", "maxItems"),
}
_FORMATS = frozenset(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"])
_SHOWN = 200  # characters of a path in a message


class NotStrictError(ValueError):
    """A tool whose schema can't be made strict; the message names the tool, the path and why."""

    def __init__(self, tool_ref: str, path: str, why: str) -> None:
        self.tool_ref, self.path, self.why = tool_ref, path, why
        super().__init__(f"{tool_ref}: {path[:_SHOWN]}: {why}")


@dataclass(frozen=True, slots=True)
class StrictSchema:
    """A strict schema, and the paths of optional parts that can only be null in it."""

    schema: dict[str, Any]
    forced_null: tuple[str, ...]


class _Refusal(Exception):
    def __init__(self, path: str, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class _At:
    """Where the compiler is: the path for messages, the levels above, the references being written out."""

    path: str
    depth: int = 0
    open: frozenset[str] = frozenset()

    def below(self, name: str, *, level: bool = False) -> _At:
        return _At(f"{self.path}.{name}" if self.path else name, self.depth + level, self.open)


def strict_schema(schema: Mapping[str, Any], *, tool_ref: str) -> StrictSchema:
    """The strict form of a tool's input schema.

    Args:
        schema: JSON Schema of the tool's arguments.
        tool_ref: names the tool in errors.

    Raises:
        NotStrictError: a required part can't be made strict.
    """
    compiler = _Compiler(schema)
    try:
        compiled = compiler.root()
    except _Refusal as refusal:
        raise NotStrictError(tool_ref, refusal.path or "schema", refusal.why) from None
    return StrictSchema(compiled, tuple(dict.fromkeys(compiler.forced_null)))


class _Compiler:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = 0
        self.forced_null: list[str] = []

    def root(self) -> dict[str, Any]:
        schema, at = self._follow(self._root, _At("", open=frozenset(["#"])))
        schema = self._merged(schema, at)
        if "object" not in _types(schema, {"object"}):
            raise _Refusal("", "the arguments are no object")
        return self._object(schema, at)

    def _node(self, schema: Any, at: _At) -> dict[str, Any]:
        """A strict node; whether it may be null is for the caller."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _Refusal(at.path, f"the schema has more than {MAX_NODES} nodes when written out")
        schema, at = self._follow(schema, at)
        if schema is True or schema == {}:
            raise _Refusal(at.path, "any value is allowed")
        schema = self._merged(schema, at)
        if "const" in schema:
            return _described(schema, self._enum([schema["const"]], at))
        if isinstance(schema.get("enum"), list):
            return _described(schema, self._enum(schema["enum"], at))
        for keyword in ("anyOf", "oneOf"):
            if _says_values(schema.get(keyword)):
                return _described(schema, self._union(schema[keyword], schema, at))
        kinds = _types(schema, _inferred(schema))
        if not kinds:
            raise _Refusal(at.path, "the type is missing")
        if len(kinds) == 1 or all(kind in _PRIMITIVE for kind in kinds):
            return _described(schema, self._typed(kinds, schema, at))
        branches = [{**schema, "type": kind} for kind in kinds]
        return _described(schema, self._union(branches, {}, at))

    def _typed(self, kinds: list[str], schema: Mapping[str, Any], at: _At) -> dict[str, Any]:
        if kinds == ["object"]:
            return self._object(schema, at)
        node: dict[str, Any] = {"type": kinds[0] if len(kinds) == 1 else kinds}
        for kind in kinds:
            node |= {name: schema[name] for name in _LIMITS.get(kind, ()) if name in schema}
        if "string" in kinds and schema.get("format") in _FORMATS:
            node["format"] = schema["format"]
        if kinds == ["array"]:
            if at.depth >= MAX_DEPTH:
                raise _Refusal(at.path, f"is nested deeper than {MAX_DEPTH} levels")
            if "prefixItems" in schema or isinstance(schema.get("items"), list):
                raise _Refusal(at.path, "an array with a type for each place")
            if "items" not in schema:
                raise _Refusal(at.path, "an array without items")
            node["items"] = self._node(schema["items"], at.below("items", level=True))
        return node

    def _object(self, schema: Mapping[str, Any], at: _At) -> dict[str, Any]:
        if at.depth >= MAX_DEPTH:
            raise _Refusal(at.path, f"is nested deeper than {MAX_DEPTH} levels")
        properties = schema.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        required = [name for name in schema.get("required") or () if isinstance(name, str)]
        undeclared = [name for name in required if name not in properties]
        if undeclared:
            raise _Refusal(at.below(undeclared[0]).path, "is required but not declared")
        if not properties and at.path and schema.get("additionalProperties") is not False:
            raise _Refusal(at.path, "an object without properties")
        members = {
            name: self._member(value, name in required, at.below(name, level=True))
            for name, value in properties.items()
        }
        return {
            "type": "object",
            "properties": members,
            "required": list(members),
            "additionalProperties": False,
        }

    def _member(self, schema: Any, required: bool, at: _At) -> dict[str, Any]:
        if required:
            return self._node(schema, at)
        known = len(self.forced_null)
        try:
            return _nullable(self._node(schema, at))
        except _Refusal as refusal:
            if self._nodes > MAX_NODES:
                raise refusal from None
            del self.forced_null[known:]
            self.forced_null.append(at.path)
            text = schema.get("description") if isinstance(schema, Mapping) else None
            return {"type": "null"} | ({"description": text} if isinstance(text, str) and text else {})

    def _union(self, branches: list[Any], beside: Mapping[str, Any], at: _At) -> dict[str, Any]:
        """The alternatives that can be made strict; without the others the schema is only narrower."""
        shared = {
            name: value
            for name, value in beside.items()
            if name in ("type", "properties", "required", "items")
        }
        nodes: list[dict[str, Any]] = []
        first: _Refusal | None = None
        for branch in branches:
            known = len(self.forced_null)
            joined = {**shared, **branch} if shared and isinstance(branch, Mapping) else branch
            try:
                node = self._node(joined, at)
            except _Refusal as refusal:
                if self._nodes > MAX_NODES:
                    raise
                del self.forced_null[known:]
                first = first or refusal
                continue
            nodes += [node] if node not in nodes else []
        if all(node.get("type") == "null" for node in nodes):
            raise first or _Refusal(at.path, "no alternative holds a value")
        return _united(nodes)

    def _enum(self, values: list[Any], at: _At) -> dict[str, Any]:
        primitive = [value for value in values if not isinstance(value, (dict, list))]
        if not primitive:
            raise _Refusal(at.path, "an enumeration without a primitive value")
        kinds = list(dict.fromkeys(json_type(value) for value in primitive))
        if "number" in kinds:
            kinds = [kind for kind in kinds if kind != "integer"]
        return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": primitive}

    def _merged(self, schema: Any, at: _At) -> Mapping[str, Any]:
        if not isinstance(schema, Mapping):
            raise _Refusal(at.path, "no value is allowed")
        try:
            return merged(schema, self._root)
        except UnresolvedReferenceError as error:
            raise _Refusal(at.path, str(error)) from None

    def _follow(self, schema: Any, at: _At) -> tuple[Any, _At]:
        try:
            followed, references = resolved(schema, self._root)
        except UnresolvedReferenceError as error:
            raise _Refusal(at.path, str(error)) from None
        if at.open.intersection(references):
            raise _Refusal(at.path, "the schema contains itself")
        return followed, _At(at.path, at.depth, at.open.union(references))


def _says_values(branches: Any) -> bool:
    """Whether alternatives say more than which names are required."""
    return isinstance(branches, list) and any(
        not isinstance(branch, Mapping) or set(branch) - {"required"} for branch in branches
    )


def _types(schema: Mapping[str, Any], default: set[str]) -> list[str]:
    declared = schema.get("type")
    given = (
        declared if isinstance(declared, list) else [declared] if declared is not None else sorted(default)
    )
    kinds = [kind for kind in _TYPES if kind in given]
    nullable = schema.get("nullable") is True and "null" not in kinds
    return [*kinds, "null"] if nullable and kinds else kinds


def _inferred(schema: Mapping[str, Any]) -> set[str]:
    if "properties" in schema:
        return {"object"}
    return {"array"} if "items" in schema else set()


def _described(schema: Mapping[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    text = schema.get("description")
    return {"description": text, **node} if isinstance(text, str) and text.strip() else node


def _kinds(node: Mapping[str, Any]) -> list[str]:
    declared = node.get("type")
    return list(declared) if isinstance(declared, list) else [declared] if declared else []


def _nullable(node: dict[str, Any]) -> dict[str, Any]:
    if isinstance(node.get("description"), str):
        node = {**node, "description": f"{node['description']} {NULL_HINT}"}
    if "anyOf" in node:
        null = {"type": "null"}
        return node if null in node["anyOf"] else {**node, "anyOf": [*node["anyOf"], null]}
    kinds = _kinds(node)
    if "null" not in kinds:
        node = {**node, "type": [*kinds, "null"]}
    if "enum" in node and None not in node["enum"]:
        node = {**node, "enum": [*node["enum"], None]}
    return node


def _flat(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        if "anyOf" in node:
            yield from node["anyOf"]
        else:
            yield node


def _united(nodes: list[dict[str, Any]]) -> dict[str, Any]:
    """One node for several: a type list or an enumeration where that says the same, else `anyOf`."""
    flat = list(_flat(nodes))
    null = any("null" in _kinds(node) for node in flat)
    rest = [node for node in flat if _kinds(node) != ["null"]]
    if len(rest) == 1:
        return _with_null(rest[0]) if null else rest[0]
    if all("enum" in node and "description" not in node for node in rest):
        values = [value for node in rest for value in node["enum"]]
        unique = [
            v
            for i, v in enumerate(values)
            if not any(v is w or (v == w and type(v) is type(w)) for w in values[:i])
        ]
        kinds = list(dict.fromkeys(kind for node in rest for kind in _kinds(node)))
        merged = {"type": kinds if len(kinds) > 1 else kinds[0], "enum": unique}
        return _with_null(merged) if null else merged
    if all(set(node) == {"type"} and set(_kinds(node)) <= _PRIMITIVE for node in rest):
        kinds = list(dict.fromkeys(kind for node in rest for kind in _kinds(node)))
        if null and "null" not in kinds:
            kinds.append("null")
        return {"type": kinds if len(kinds) > 1 else kinds[0]}
    return {
        "anyOf": [*rest, {"type": "null"}] if null and not any("null" in _kinds(n) for n in rest) else rest
    }


def _with_null(node: dict[str, Any]) -> dict[str, Any]:
    kinds = _kinds(node)
    if "null" in kinds:
        return node
    extended = {**node, "type": [*kinds, "null"]}
    if "enum" in node:
        extended["enum"] = [*node["enum"], None]
    return extended
