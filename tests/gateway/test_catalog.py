import json

import pytest

from discovercall.foundation.errors import InputError
from discovercall.gateway.catalog import load_world, parse_world, split_tool_ref


def entry(**changes):
    return {
        "toolRef": "alpha.find.v1",
        "serverId": "alpha",
        "name": "find.v1",
        "title": "Find",
        "description": "Finds.",
        "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
    } | changes


def world(*tools, **changes):
    return {"version": 1, "description": "d", "servers": [{"id": "alpha"}], "tools": list(tools)} | changes


def refused(value):
    with pytest.raises(InputError) as error:
        parse_world(value, where="world.json")
    return str(error.value)


def without(name):
    return {key: value for key, value in entry().items() if key != name}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (world(), ["tools"]),
        (world(entry(), entry()), ["alpha.find.v1", "toolRef", "twice"]),
        (world(entry(toolRef="")), ["tools[0]", "toolRef"]),
        (world(entry(serverId=" ")), ["alpha.find.v1", "serverId"]),
        (world(entry(name="")), ["alpha.find.v1", "name"]),
        (world(entry(name="other")), ["alpha.find.v1", "toolRef", "expected alpha.other"]),
        (world(entry(serverId="alpha.find", name="v1")), ["serverId", "expected alpha"]),
        (
            world(entry(serverId="beta", toolRef="beta.find.v1")),
            ["serverId", "beta", "expected one of alpha"],
        ),
        (world(entry(), extra=1), ["extra"]),
        (world(entry(extra=1)), ["alpha.find.v1", "extra"]),
        (world(entry(), servers=[{"id": "alpha", "region": "x"}]), ["servers[0]", "region"]),
        (world(entry(), servers=[{"id": "alpha"}, {"id": "alpha"}]), ["servers[1]", "id", "twice"]),
        (world(entry(), version=2), ["version", "2", "use 1"]),
        (world(entry(inputSchema=[])), ["alpha.find.v1", "inputSchema"]),
        (world(entry(inputSchema={"type": "array"})), ["inputSchema.type", "expected object"]),
        (world(entry(inputSchema={"properties": {"q": 1}})), ["inputSchema.properties"]),
        (world(entry(inputSchema={"required": ["z"]})), ["inputSchema.required", "z"]),
        (world(entry(readOnly="yes")), ["alpha.find.v1", "readOnly"]),
        (world(without("title")), ["alpha.find.v1", "title"]),
        (world("text"), ["tools[0]"]),
        ([], ["world.json"]),
    ],
)
def test_refusals_name_file_tool_and_field(value, words):
    message = refused(value)
    assert message.startswith("world.json")
    assert "\n" not in message
    for word in words:
        assert word in message


def test_malformed_json_names_file_and_line(tmp_path):
    path = tmp_path / "world.json"
    path.write_text('{\n"version": 1,\n oops}')
    with pytest.raises(InputError, match=r"world\.json:3"):
        load_world(path)


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load_world(tmp_path / "none.json")


def test_tools_are_sorted_and_states_mapped():
    servers = [
        {"id": "alpha", "status": "up"},
        {"id": "beta", "status": "offline"},
        {"id": "gamma", "status": "unknown"},
    ]
    tools = [entry(serverId=s, toolRef=f"{s}.find.v1") for s in ("gamma", "alpha", "beta")]
    loaded = parse_world(world(*tools, servers=servers), where="w")
    assert [(tool.server_id, tool.server_status, tool.callable_now) for tool in loaded.tools] == [
        ("alpha", "online", True),
        ("beta", "offline", False),
        ("gamma", "unknown", False),
    ]


def test_a_file_without_servers_has_online_tools():
    assert parse_world(world(entry(), servers=[]), where="w").tools[0].callable_now


def test_digest_is_that_of_the_bytes(tmp_path):
    path = tmp_path / "world.json"
    path.write_text(json.dumps(world(entry())))
    first = load_world(path)
    path.write_text(json.dumps(world(entry()), indent=1))
    assert load_world(path).digest != first.digest
    assert load_world(path).tools == first.tools


@pytest.mark.parametrize(
    ("ref", "parts"),
    [("a.b", ("a", "b")), ("a.b.c", ("a", "b.c")), ("a", None), (".b", None), ("a.", None), ("", None)],
)
def test_split(ref, parts):
    assert split_tool_ref(ref) == parts
