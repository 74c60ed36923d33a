"""Turns that the bundled corpus doesn't take: names that clash, types in lists, tasks that cost no more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from discovercall.evals.entries import Known, ergonomics_case
from discovercall.evals.repairer import converted, filled
from discovercall.evals.scaling import grown
from discovercall.evals.surfaces import Reading, differences
from discovercall.foundation.errors import InputError
from discovercall.gateway.catalog import default_world_path, load_world

NOTHING = Known(None, frozenset())


def test_copies_never_take_a_name_that_is_there() -> None:
    world = load_world(default_world_path())
    few = world.tools[:2]
    first = few[0].server_id
    odd = replace(few[1], server_id=f"{first}-2", tool_ref=f"{first}-2.{few[1].name}")
    servers = tuple(server for server in world.servers if server.server_id == first)
    small = replace(world, servers=servers, tools=(few[0], odd))
    made = grown(small, 4)
    refs = [tool.tool_ref for tool in made.tools]
    assert len(set(refs)) == 4
    # A tool whose server the world does not list gets no server either.
    assert len(made.servers) == 2
    assert [tool.tool_ref for tool in grown(small, 1).tools] == [few[0].tool_ref]


@pytest.mark.parametrize(
    ("value", "definition", "expected"),
    [
        ("a", {"type": ["null", "array"]}, ["a"]),
        (1, {"type": "array", "items": {"type": "string"}}, ["1"]),
        (True, {"type": "string"}, "true"),
        ("YES", {"type": "boolean"}, True),
        ("off", {"type": "boolean"}, False),
        ("2.5", {"type": "number"}, 2.5),
        ("7", {"type": "integer"}, 7),
        ("1e999", {"type": "integer"}, 1),
        ([], {"type": "string"}, "text"),
        ("x", {"properties": {"a": {}}, "required": ["a"]}, {"a": "text"}),
        ("x", {"type": "null"}, None),
    ],
)
def test_a_value_becomes_what_its_type_wants(value: Any, definition: dict[str, Any], expected: Any) -> None:
    assert converted(value, definition) == expected


def test_what_is_filled_in() -> None:
    assert filled({"type": ["null"]}) is None
    assert filled({"type": "integer", "minimum": "2", "maximum": 9}) == 9
    assert filled({"type": "array"}) == []


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        (Reading({"a": 1}, False, 1), Reading({"a": 1}, True, 1), ["failed"]),
        (Reading(None, False, 1), Reading({"a": 1}, False, 1), ["document"]),
        (Reading({"a": {"b": 1, "c": 2}}, False, 1), Reading({"a": {"b": 2, "c": 2}}, False, 1), ["a.b"]),
        (Reading({"result": "[1]"}, False, 1), Reading({"result": [1]}, False, 1), []),
        (Reading({"result": "text"}, False, 1), Reading({"result": 1}, False, 1), ["result"]),
        (Reading({"result": 1}, False, 1), Reading({"result": "1"}, False, 1), ["result"]),
        (Reading({"a": 1}, False, 1), Reading({}, False, 1), ["a"]),
    ],
)
def test_where_two_faces_differ(left: Reading, right: Reading, found: list[str]) -> None:
    assert differences(left, right) == found


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ({"kind": "find"}, "c.json: query: is needed where kind is find"),
        ({"kind": "describe"}, "c.json: toolRef: is needed where kind is describe"),
        (
            {"kind": "call", "toolRef": "a.b", "query": "x"},
            "c.json: query: does not go with kind call",
        ),
        (
            {"kind": "find", "query": "x", "arguments": {}},
            "c.json: arguments: does not go with kind find",
        ),
    ],
)
def test_an_ergonomics_case_has_what_its_kind_needs(entry: dict[str, Any], line: str) -> None:
    value = {"name": "c1", "rationale": "because", **entry}
    with pytest.raises(InputError) as error:
        ergonomics_case(value, "c.json", NOTHING)
    assert str(error.value) == line
