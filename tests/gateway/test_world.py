"""The committed world keeps its promises to the task sets."""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from discovercall.adapter.schema import one_of_groups, parameter_response_schema
from discovercall.adapter.values import check_parameters
from discovercall.gateway.arguments import check_arguments
from discovercall.gateway.capability_api import lean_view
from discovercall.gateway.catalog import default_world_path, load_world, properties_of, split_tool_ref
from discovercall.gateway.lexical import LexicalIndex
from discovercall.gateway.parameters import declared_type, example_arguments, one_of_required

TASKS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "tasks" / "v4.jsonl").read_text(encoding="utf-8").splitlines()
]
WITH_CANDIDATES = [task for task in TASKS if task["reference"]["candidates"]]
WITHOUT = [task for task in TASKS if not task["reference"]["candidates"]]
WORLD = load_world(default_world_path())
INDEX = LexicalIndex(WORLD.tools)


def names(tasks):
    return [task["id"] for task in tasks]


def listed(task, limit):
    return [
        e.tool for e in INDEX.rank(task.get("discover_query", task["prompt"]), limit=limit) if e.score > 0
    ]


def leaves(schema):
    for definition in properties_of(schema).values():
        yield definition
        yield from leaves(definition)
        if isinstance(definition.get("items"), dict):
            yield from leaves(definition["items"])


def test_size():
    assert len(WORLD.tools) >= 60
    assert len({tool.server_id for tool in WORLD.tools}) >= 15


@pytest.mark.parametrize("task", WITH_CANDIDATES, ids=names(WITH_CANDIDATES))
def test_candidates_are_listed_and_take_the_reference_parameters(task):
    refs = [tool.tool_ref for tool in listed(task, 10)]
    for candidate in task["reference"]["candidates"]:
        tool = WORLD.by_ref[candidate["tool_id"]]
        assert tool.tool_ref in refs
        assert tool.callable_now
        assert split_tool_ref(tool.tool_ref) == (tool.server_id, tool.name)
        assert check_arguments(tool.input_schema, candidate["parameters"]) == []
        assert check_parameters(candidate["parameters"], lean_view(tool)) is None
        for constraint in task["constraints"]:
            aliases = {*constraint["aliases"], *constraint.get("composite_aliases", [])}
            assert aliases & set(properties_of(tool.input_schema))


@pytest.mark.parametrize("task", WITHOUT, ids=names(WITHOUT))
def test_no_listed_tool_could_answer_a_task_without_candidates(task):
    aliases = {alias for constraint in task["constraints"] for alias in constraint["aliases"]}
    tools = listed(task, 20)
    assert len(tools) >= 10
    assert not [tool.tool_ref for tool in tools if aliases & set(properties_of(tool.input_schema))]


def test_first_result_without_arguments_fails():
    """What an adapter gets that takes the first tool and sends nothing: it must be under a fifth."""
    passed = 0
    for task in TASKS:
        first = listed(task, 1)[0]
        # No parameter means no constrained value, so nothing here could be a strict success anyhow.
        passed += not check_arguments(first.input_schema, {})
    assert passed / len(TASKS) < 0.2


@pytest.mark.parametrize("tool", WORLD.tools, ids=lambda tool: tool.tool_ref)
def test_schemas_are_sound_and_can_be_made_strict(tool):
    Draft202012Validator.check_schema(dict(tool.input_schema))
    example = example_arguments(tool.input_schema)
    assert Draft202012Validator(dict(tool.input_schema)).is_valid(example)
    view = lean_view(tool)
    Draft202012Validator.check_schema(parameter_response_schema(view))
    assert one_of_groups(view) == one_of_required(tool.input_schema)
    assert check_parameters(example, view) is None


def test_examples_answer_no_task():
    values = {json.dumps(constraint["value"]).lower() for task in TASKS for constraint in task["constraints"]}
    for tool in WORLD.tools:
        example = json.dumps(example_arguments(tool.input_schema), ensure_ascii=False).lower()
        whole = set(re.findall(r'"[^"]*"|-?[0-9.]+', example))
        assert not whole & values, tool.tool_ref


def test_every_kind_of_parameter_occurs():
    everything = [leaf for tool in WORLD.tools for leaf in leaves(tool.input_schema)]
    assert {declared_type(leaf) for leaf in everything} == {
        "string",
        "integer",
        "number",
        "boolean",
        "array",
        "object",
    }
    assert any("enum" in leaf for leaf in everything)
    assert {leaf["items"]["type"] for leaf in everything if "items" in leaf} >= {"string", "object"}
    schemas = [tool.input_schema for tool in WORLD.tools]
    assert any(one_of_required(schema) for schema in schemas)
    assert any(not properties_of(schema) for schema in schemas)
    assert any(properties_of(schema) and not schema.get("required") for schema in schemas)
    assert {tool.read_only for tool in WORLD.tools} == {True, False}
    assert {tool.callable_now for tool in WORLD.tools} == {True, False}
