"""A message of a server has a limit, over HTTP and over standard streams."""

import codecs
import gzip
import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovercall.gateway import mcp_connection, message_limit
from discovercall.gateway.assembly import assemble
from discovercall.gateway.listing import run_index
from discovercall.gateway.message_limit import ENCODED, LINE_ENCODING, TOO_LONG
from tests.gateway.hostile import configure_hostile, listed, result
from tests.support.mcp.scripted import configure

pytestmark = [pytest.mark.slow, pytest.mark.part("unreadable MCP servers")]


class Endless(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    compressed = False
    sent = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("transfer-encoding", "chunked")
        if self.compressed:
            self.send_header("content-encoding", "gzip")
        self.end_headers()
        part = gzip.compress(b" " * 65_536) if self.compressed else b" " * 65_536
        Endless.sent = 0
        try:
            for _ in range(4096):  # 256 MiB
                self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
                Endless.sent += len(part)
        except OSError:
            self.close_connection = True

    def log_message(self, *words):
        pass


@pytest.mark.parametrize(("compressed", "told"), [(False, TOO_LONG), (True, ENCODED)])
def test_endless_body(tmp_path, monkeypatch, compressed, told):
    monkeypatch.setattr(message_limit, "MESSAGE_LIMIT", 2**20)
    handler = type("Handler", (Endless,), {"compressed": compressed})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        text = f'[servers.s]\nurl = "http://127.0.0.1:{server.server_port}/mcp"\n'
        [report] = run_index(configure(tmp_path, text), semantic="off").servers
        server.shutdown()
    assert report.error == told
    assert Endless.sent < 64 * 2**20


def test_endless_line(tmp_path, monkeypatch):
    monkeypatch.setattr(message_limit, "MESSAGE_LIMIT", 2**16)
    answer = result({"content": [{"type": "text", "text": "x" * 2**18}]})
    config = configure_hostile(tmp_path, call=answer)
    assert run_index(config, semantic="off").complete
    assembly = assemble(config, semantic="off")
    started = time.monotonic()
    error = assembly.plain.call("s.ok", {}).to_json()["error"]
    assembly.broker.close()
    assert time.monotonic() - started < 30  # the limit of the call is a minute
    assert error["type"] == "DOWNSTREAM_CALL_FAILED"
    assert TOO_LONG in error["message"]


def test_long_list(tmp_path, monkeypatch):
    monkeypatch.setattr(mcp_connection, "_MAX_LIST_BYTES", 1000)
    config = configure_hostile(tmp_path, list=listed({"name": "ok", "description": "x" * 1000}))
    assert "over 1000 bytes" in str(run_index(config, semantic="off").servers[0].error)


@given(st.lists(st.text(alphabet="aé\r\x85\u2028", max_size=12)), st.integers(1, 9))
def test_lines_are_cut_and_nothing_else_changes(lines, step):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(message_limit, "MESSAGE_LIMIT", 6)
        decoder = codecs.getincrementaldecoder(LINE_ENCODING)()
        data = "".join(f"{line}\n" for line in lines).encode()
        parts = [decoder.decode(data[at : at + step]) for at in range(0, len(data), step)]
    expected = [line if len(line) <= 6 else f"{line[:6]} ({TOO_LONG})" for line in lines]
    assert "".join(parts).split("\n") == [*expected, ""]


def test_what_is_sent_is_utf8():
    assert json.dumps("é", ensure_ascii=False).encode(LINE_ENCODING) == '"é"'.encode()
