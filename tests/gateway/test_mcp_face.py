"""The MCP face: bare payloads, notice blocks, envelopes, and what clients read first."""

import json

import anyio
import pytest

from discovercall.gateway.broker import Broker
from discovercall.gateway.cache import CachingBroker
from discovercall.gateway.downstream import DownstreamResult
from discovercall.gateway.mcp_face import build_server, render
from discovercall.gateway.operations import carry_out, definitions, servers_line
from discovercall.gateway.results import CallResult
from discovercall.gateway.store import Catalog, CatalogUnreadableError
from tests.gateway.worlds import world
from tests.support.mcp.recording import Recording

WORLD = world()
SEARCH = {"toolRef": "mail.search", "arguments": {"query": "x"}}


def ask(broker, name, arguments, **members):
    from mcp import Client

    async def run():
        async with Client(build_server(broker, version="1.2.3", **members)) as client:
            return await client.call_tool(name, arguments)

    return anyio.run(run)


@pytest.fixture
def downstream():
    return Recording(WORLD.tools)


@pytest.fixture
def broker(downstream):
    return Broker(Catalog.of_world(WORLD, indexed_at=1.0), downstream)


@pytest.mark.parametrize("text", ["plain\n  text \n", '{"a": 1}', "", "ünïcode — 日本"])
def test_text_is_passed_on_byte_for_byte(broker, downstream, text):
    downstream.answers["mail.search"] = lambda arguments: DownstreamResult(text=(text,) if text else ())
    result = ask(broker, "callTool", SEARCH)
    assert [block.text for block in result.content] == [text]
    assert not result.is_error
    assert result.meta["toolRef"] == "mail.search"
    assert result.meta["resultSummary"].startswith("search: ")


@pytest.mark.parametrize("value", [{"a": [1, 2]}, [], "a string", 0, False])
def test_structured_content_is_compact_json(broker, downstream, value):
    downstream.answers["mail.search"] = lambda arguments: DownstreamResult(structured=value)
    result = ask(broker, "callTool", SEARCH)
    assert result.content[0].text == json.dumps(value, separators=(",", ":"))
    assert result.structured_content is None


def test_notices_and_age_are_a_second_block(broker):
    cached = CachingBroker(broker)
    assert len(ask(cached, "callTool", SEARCH).content) == 1
    again = ask(cached, "callTool", SEARCH)
    assert again.content[0].text == "search done"
    lines = again.content[1].text.splitlines()
    assert all(line.startswith("[discovercall] ") for line in lines)
    assert lines[-1] == "[discovercall] cachedAgeSeconds: 0"


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("describeTool", {"toolRef": "a.b"}, "TOOL_NOT_FOUND"),
        ("callTool", {"toolRef": "mail.search", "arguments": {}}, "ARGUMENT_VALIDATION_FAILED"),
        ("callTool", {"toolRef": "mail.search", "arguments": []}, "ARGUMENT_VALIDATION_FAILED"),
        ("callTool", {}, "ARGUMENT_VALIDATION_FAILED"),
        ("findTool", {}, "ARGUMENT_VALIDATION_FAILED"),
        ("describeTool", {}, "ARGUMENT_VALIDATION_FAILED"),
        ("findTool", {"query": 7}, "ARGUMENT_VALIDATION_FAILED"),
        ("findTool", {"query": "x", "other": 1}, "ARGUMENT_VALIDATION_FAILED"),
    ],
)
def test_errors_are_one_block_with_an_envelope(broker, downstream, name, arguments, kind):
    result = ask(broker, name, arguments)
    assert result.is_error
    assert len(result.content) == 1
    envelope = json.loads(result.content[0].text)
    assert envelope["ok"] is False
    assert envelope["error"]["type"] == kind
    if name != "callTool" and kind == "ARGUMENT_VALIDATION_FAILED":  # the next step is that very operation
        assert f"run {name} once more" in envelope["error"]["agentInstruction"]
        assert "callTool" not in envelope["error"]["agentInstruction"]
    assert downstream.calls == []


def test_a_find_that_breaks_is_an_envelope_and_never_null(broker):
    class Broken:
        def current(self):
            raise CatalogUnreadableError("damaged")

    def no_ranker(tools):
        raise MemoryError

    for made in (Broker(Broken()), Broker(WORLD, ranker=no_ranker)):
        result = ask(made, "findTool", {"query": "x"}, list_servers=False)
        assert result.is_error
        assert json.loads(result.content[0].text)["error"]["type"] == "CONFIG_ERROR"


def test_unknown_tool_is_a_protocol_error(broker):
    from mcp import Client, MCPError

    async def run():
        async with Client(build_server(broker, version="1")) as client:
            with pytest.raises(MCPError, match="Unknown tool: other"):
                await client.call_tool("other", {})

    anyio.run(run)


def test_what_an_agent_must_act_on_is_in_the_content(broker, downstream):
    downstream.answers["mail.search"] = lambda arguments: DownstreamResult(left_out=("image",))
    rendered = render(carry_out(broker, "callTool", SEARCH))
    assert "image" in rendered.blocks[1]
    assert set(rendered.meta) == {"toolRef", "resultSummary"}


def test_shortened_structure_is_text():
    answer = CallResult("a.b", '{"a": [1,', "b: structured content (shortened)", ("cut",), text=True)
    assert render(answer).blocks[0] == '{"a": [1,'


@pytest.mark.parametrize(("count", "more"), [(1, ""), (12, ""), (13, ", +1 more"), (40, ", +28 more")])
def test_line_of_servers_is_bounded(count, more):
    names = [f"s{number:02d}" for number in reversed(range(count))]
    shown = ", ".join(sorted(names)[:12])
    assert servers_line(names) == f"Servers behind it: {shown}{more}."
    assert servers_line(names) in definitions(names)[0]["description"]
    assert all(servers_line(names) not in entry["description"] for entry in definitions(names)[1:])


def test_servers_can_be_kept_to_oneself(broker):
    from mcp import Client

    async def told(**members):
        async with Client(build_server(broker, version="1", **members)) as client:
            return client.instructions, (await client.list_tools()).tools[0].description

    assert "chat" in anyio.run(told)[0]
    quiet = anyio.run(lambda: told(list_servers=False))
    assert "Servers behind it" not in quiet[0] + quiet[1]
