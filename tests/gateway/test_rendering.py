"""What servers say can neither steer a terminal nor pass for a line of the toolkit's own."""

import unicodedata

import pytest
from typer.testing import CliRunner

from discovercall.cli.gateway import app
from discovercall.gateway.broker import Broker
from discovercall.gateway.catalog import Server, Tool
from discovercall.gateway.downstream import DownstreamResult
from discovercall.gateway.index_file import write_index
from discovercall.gateway.indexing import ServerReport
from discovercall.gateway.listing import IndexRun
from discovercall.gateway.rendering import concise, human, index_lines
from discovercall.gateway.results import Answer
from discovercall.gateway.store import Catalog
from tests.gateway.hostile import configure_hostile

EVIL = "\x1b[2J\x1b]0;pwn\x07 \u202egnp \x9b31m\r\nFAKE: line"
SCHEMA = {"type": "object", "properties": {EVIL: {"type": "string", "description": EVIL}}, "required": [EVIL]}
NAMES = ("send_note", "send_notes")


class Downstream:
    def __init__(self, result):
        self.result = result

    def connect(self, server_id, timeout_s):
        return self

    def live_schema(self, name):
        return SCHEMA

    def call(self, name, arguments):
        return self.result

    def close(self):
        pass


@pytest.fixture
def catalog():
    catalog = Catalog()
    catalog.put_server(Server("s"))
    catalog.put_tools(
        Tool(
            tool_ref=f"s.{name}", server_id="s", name=name, title=f"Send a note {EVIL}",
            description=f"Sends a note. {EVIL}", input_schema=SCHEMA,
        )
        for name in NAMES
    )  # fmt: skip
    catalog.last_indexed_at = 1.0
    return catalog


def assert_harmless(text):
    bad = [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs")]
    assert bad == []
    assert not [line for line in text.split("\n") if line.startswith("FAKE")]


TEXT = DownstreamResult(text=(f"  indented {EVIL}".replace("\r\nFAKE", "\r\n FAKE"),))


@pytest.mark.parametrize(
    "result",
    [TEXT, DownstreamResult(text=(EVIL,), is_error=True), DownstreamResult(structured={"a": EVIL})],
    ids=["text", "error", "structured"],
)
def test_answers(catalog, result):
    broker = Broker(catalog, Downstream(result))
    answers: list[Answer] = [broker.find("send a note"), broker.find(EVIL), broker.describe("s.send_note")]
    answers += [broker.call("s.send_note", {EVIL: "x"}), broker.call("s.send_note", {}), broker.call(EVIL)]
    for answer in answers:
        assert_harmless(human(answer))
        assert_harmless(concise(answer))
        assert "\n" not in concise(answer)


def test_text_results_keep_their_lines(catalog):
    broker = Broker(catalog, Downstream(DownstreamResult(text=("a\n\tb\n  c",))))
    assert human(broker.call("s.send_note", {EVIL: "x"})).startswith("a\n    b\n  c\n")


def test_index_and_list(tmp_path, catalog):
    run = IndexRun((ServerReport("s", 0, EVIL),), (), {"s.x": (EVIL,)}, "lexical", "index")
    assert_harmless("\n".join(index_lines(run)))
    assert len(index_lines(run)) == 3
    config = configure_hostile(tmp_path)
    write_index(config.index_path, catalog)
    done = CliRunner().invoke(app, ["list", "--config", str(config.path)])
    assert done.exit_code == 0
    assert len(done.output.splitlines()) == 1 + len(NAMES)
    assert_harmless(done.output)
