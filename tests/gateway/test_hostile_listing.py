"""Servers whose tools can't be kept or were never read: the others stay usable, and nothing false is said."""

import json
from typing import Any

import pytest

from discovercall.foundation.errors import InputError
from discovercall.gateway.assembly import assemble
from discovercall.gateway.broker import Broker
from discovercall.gateway.catalog import Server, Tool
from discovercall.gateway.index_file import read_index, write_index
from discovercall.gateway.indexing import index_servers
from discovercall.gateway.listing import run_index
from discovercall.gateway.rendering import index_lines
from discovercall.gateway.store import Catalog
from tests.gateway.hostile import SCHEMA, SECRET, configure_hostile, listed, result

pytestmark = [pytest.mark.slow, pytest.mark.part("hostile MCP listings")]

DEEP: dict[str, Any] = {"type": "object"}
for _ in range(3000):
    DEEP = {"a": DEEP}
BAD = {
    "empty": {"name": ""},
    "blank": {"name": " \t"},
    "steering": {"name": "a\x1b[31m"},
    "turning": {"name": "a\u202eb"},
    "long": {"name": "x" * 257},
    "surrogate": {"name": "a\ud800"},
    "deep": {"name": "a", "input_schema": DEEP},
}


def tool(name, server="s", **more):
    return Tool(**{
        "tool_ref": f"{server}.{name}", "server_id": server, "name": name, "title": "", "description": "",
        "input_schema": SCHEMA, **more,
    })  # fmt: skip


class Lister:
    def __init__(self, *tools):
        self.listed = list(tools)

    def tools(self, server_id, timeout_s):
        return self.listed


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_tool_that_no_index_can_hold_is_left_out(tmp_path, bad):
    config = configure_hostile(tmp_path)
    catalog = Catalog()
    [report] = index_servers(
        ["s"], Lister(tool(**bad), tool("ok")), catalog, timeout_s=1, clock=lambda: 5.0, redact=str
    )
    assert (report.tools, report.left_out, report.error) == (1, 1, None)
    write_index(config.index_path, catalog)
    assert [entry.tool.tool_ref for entry in read_index(config).entries()] == ["s.ok"]


def test_index_that_could_not_be_read_again_does_not_replace_a_good_one(tmp_path):
    config = configure_hostile(tmp_path)
    catalog = Catalog()
    catalog.put_server(Server("s"))
    catalog.put_tools([tool("ok")])
    write_index(config.index_path, catalog)
    before = config.index_path.read_bytes()
    catalog.put_tools([tool("")])
    with pytest.raises(InputError, match="name"):
        write_index(config.index_path, catalog)
    assert config.index_path.read_bytes() == before


def test_nameless_tool_of_a_real_server(tmp_path):
    tools = listed({"name": ""}, {"name": "$TOK"}, {"name": "ok"})
    config = configure_hostile(tmp_path, list=tools, call=result({"content": []}))
    run = run_index(config, semantic="off")
    assert run.to_json()["servers"] == [{"serverId": "s", "status": "online", "tools": 1, "leftOut": 2}]
    assert "2 left out" in index_lines(run)[0]
    assert SECRET not in config.index_path.read_text()
    assembly = assemble(config, semantic="off")
    assert assembly.plain.call("s.ok", {}).ok
    assembly.broker.close()


def test_older_index_with_a_secret(tmp_path):
    config = configure_hostile(tmp_path)
    catalog = Catalog()
    catalog.put_server(Server("s"))
    catalog.put_tools([tool("ok", description=f"Uses {SECRET}.")])
    write_index(config.index_path, catalog)
    assert read_index(config).tools()[0].description == "Uses [redacted]."


def test_server_that_was_offline_when_indexed_is_asked_itself(tmp_path):
    gone = configure_hostile(tmp_path, stderr="no")
    assert not run_index(gone, semantic="off").complete
    state = json.loads((tmp_path / "state.json").read_text())
    (tmp_path / "state.json").write_text(json.dumps({"call": result({"content": []})}))
    assert "stderr" in state
    assembly = assemble(gone, semantic="off")
    try:
        described = assembly.plain.describe("s.ok").to_json()["error"]
        assert (described["type"], described["retry"]["when"]) == ("TOOL_NOT_FOUND", "after")
        assert assembly.plain.call("s.ok", {}).ok
        missing = assembly.plain.call("s.other", {}).to_json()["error"]
        assert "no longer offers" not in missing["message"]
        assert missing["type"] == "TOOL_NOT_FOUND"
    finally:
        assembly.broker.close()


def test_server_that_was_read_and_has_no_tools_is_believed():
    catalog = Catalog()
    catalog.put_server(Server("s", "online"))
    catalog.last_indexed_at = 5.0
    assert Broker(catalog).call("s.ok", {}).to_json()["error"]["type"] == "TOOL_NOT_FOUND"
    assert Broker(catalog).describe("s.ok").to_json()["error"]["retry"] == {"when": "never"}


def test_tools_of_one_letter_words_are_searched():
    catalog = Catalog()
    catalog.put_server(Server("s"))
    catalog.put_tools([tool("a"), tool("b")])
    # The id of a server counts as a word, too.
    found = Broker(catalog).find("send a letter").to_json()
    assert found["decision"] == "no_good_match"
