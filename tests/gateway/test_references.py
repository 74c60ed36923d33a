"""References of a schema: followed inside of the document, refused by name everywhere else."""

from __future__ import annotations

import re
from typing import Any

import pytest

from discovercall.gateway.references import UnresolvedReferenceError, dereferenced, merged, resolved

TEXT = {"type": "string"}
ROOT: dict[str, Any] = {
    "$defs": {
        "text": TEXT,
        "a/b": {"type": "integer"},
        "c~d e": {"type": "number"},
        "loop": {"$ref": "#/$defs/pool"},
        "pool": {"$ref": "#/$defs/loop"},
        "list": [TEXT, {"type": "null"}],
        "always": True,
    }
}


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("#/$defs/text", TEXT),
        ("#/$defs/a~1b", {"type": "integer"}),
        ("#/$defs/c~0d%20e", {"type": "number"}),
        ("#/$defs/list/1", {"type": "null"}),
        ("#/$defs/always", True),
        ("#", ROOT),
    ],
)
def test_a_pointer_is_followed(reference: str, target: Any) -> None:
    assert resolved({"$ref": reference}, ROOT) == (target, (reference,))


def test_what_stands_beside_a_reference_wins() -> None:
    found, _ = resolved({"$ref": "#/$defs/text", "description": "A city"}, ROOT)
    assert found == {"type": "string", "description": "A city"}


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("other.json#/a", "other.json#/a lies outside the schema"),
        ("#/$defs/none", "#/$defs/none points at nothing"),
        ("#/$defs/list/2", "#/$defs/list/2 points at nothing"),
        ("#/$defs/list/x", "#/$defs/list/x points at nothing"),
        ("#/$defs/text/type/deeper", "#/$defs/text/type/deeper points at nothing"),
        ("#/$defs/loop", "#/$defs/loop refers to itself"),
    ],
)
def test_a_reference_that_leads_nowhere_is_named(reference: str, why: str) -> None:
    with pytest.raises(UnresolvedReferenceError, match=f"^{re.escape(why)}$"):
        resolved({"$ref": reference}, ROOT)
    assert dereferenced({"$ref": reference}, ROOT) == {}


def test_a_chain_has_an_end() -> None:
    chain: dict[str, Any] = {f"d{n}": {"$ref": f"#/d{n + 1}"} for n in range(40)} | {"d40": TEXT}
    assert resolved({"$ref": "#/d9"}, chain)[0] == TEXT
    with pytest.raises(UnresolvedReferenceError, match="refers to itself"):
        resolved({"$ref": "#/d0"}, chain)


def test_parts_add_up() -> None:
    parts = {
        "title": "own",
        "allOf": [
            {"properties": {"a": TEXT}, "required": ["a"], "title": "first"},
            {"properties": {"b": TEXT}, "required": ["b", "a"], "type": "object"},
            {"allOf": [{"properties": {"c": TEXT}}], "type": "object"},
        ],
    }
    assert merged(parts, ROOT) == {
        "title": "own",
        "properties": {"a": TEXT, "b": TEXT, "c": TEXT},
        "required": ["a", "b"],
        "type": "object",
    }


def nested(levels: int) -> dict[str, Any]:
    return {"allOf": [nested(levels - 1)]} if levels else TEXT


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"allOf": [True]}, "a part of allOf is no object"),
        ({"allOf": [{"$ref": "#/$defs/always"}]}, "a part of allOf is no object"),
        ({"type": "object", "allOf": [TEXT]}, "allOf says two things of type"),
        (nested(17), "allOf is nested too deep"),
    ],
)
def test_parts_that_cannot_be_one_schema_are_refused(schema: dict[str, Any], why: str) -> None:
    with pytest.raises(UnresolvedReferenceError, match=f"^{why}$"):
        merged(schema, ROOT)


def test_sixteen_levels_of_parts_are_worked_in() -> None:
    assert merged(nested(16), ROOT) == TEXT


def test_references_are_written_out_down_to_some_levels() -> None:
    item = {"type": "object", "properties": {"deep": {"items": {"$ref": "#/$defs/text"}}}}
    schema = {
        "properties": {"city": {"$ref": "#/$defs/text"}, "any": True, "none": {"$ref": "#/$defs/always"}},
        "items": item,
    }
    assert dereferenced(schema, ROOT) == {
        "properties": {"city": TEXT, "any": True, "none": {}},
        "items": {"type": "object", "properties": {"deep": {"items": TEXT}}},
    }
    assert dereferenced(schema, ROOT, depth=0) == schema
