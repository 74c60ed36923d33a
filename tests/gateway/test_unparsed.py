"""Messages that the SDK can't read are errors at once, on the client's side and on our own face."""

import json
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from discovercall.gateway.assembly import assemble
from discovercall.gateway.listing import run_index
from tests.gateway.hostile import SECRET, configure_hostile, result
from tests.support.mcp.scripted import configure

pytestmark = [pytest.mark.slow, pytest.mark.part("unreadable MCP servers")]

HEAD = '{"jsonrpc":"2.0","id":$ID,"result":'
UNREADABLE = {
    "surrogate": HEAD + '{"content":[{"type":"text","text":"a \\ud800 b"}]}}',
    "deep": HEAD + '{"content":[],"structuredContent":{"a":' + "[" * 5000 + "1" + "]" * 5000 + "}}}",
    "id last": '{"jsonrpc":"2.0","result":{"id":77,"content":"\\ud800"},"id":$ID}',
    "no message": '{"jsonrpc":"2.0","id":$ID,"result":7}',
    "no content": result({"content": "$TOK" * 9}),
}


@pytest.mark.parametrize("answer", UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_answer_is_no_slowness(tmp_path, capfd, answer):
    config = configure_hostile(tmp_path, call=answer)
    assert run_index(config, semantic="off").complete
    assembly = assemble(config, semantic="off")
    started = time.monotonic()
    error = assembly.plain.call("s.ok", {}).to_json()["error"]
    assert time.monotonic() - started < 30  # the limit is a minute
    assembly.broker.close()
    assert (error["type"], error["retryable"]) == ("DOWNSTREAM_CALL_FAILED", False)
    assert error["message"] == "s.ok failed: the server's answer is no valid MCP message"
    assert "Traceback" not in capfd.readouterr().err


def test_unreadable_list_of_tools(tmp_path):
    config = configure_hostile(tmp_path, list=HEAD + '{"tools":[{"name":"\\ud800"}]}}')
    assert run_index(config, semantic="off").servers[0].error == "the server's answer is no valid MCP message"


class Unreadable(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = ('{"jsonrpc":"2.0","id":0,"result":"\ud800' + SECRET).encode("utf-8", "surrogatepass")
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


def test_unreadable_answer_over_http(tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), Unreadable) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        text = f'[servers.s]\nurl = "http://127.0.0.1:{server.server_port}/mcp"\n'
        text += f'headers = {{ X = "{SECRET}" }}\n'
        [report] = run_index(configure(tmp_path, text), semantic="off").servers
        server.shutdown()
    assert report.error == "the server's answer is no valid MCP message"


def test_own_face_answers_what_it_cannot_read(tmp_path):
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"findTool",'
        '"arguments":{"query":"\\ud800"}}}',
        "no message",
        json.dumps({"jsonrpc": "2.0", "id": 3, "method": "ping"}),
    ]
    program = [sys.executable, "-c", "from discovercall.cli.main import main; main()"]
    words = ["gateway", "serve", "--face", "mcp-stdio", "--semantic", "off"]
    with subprocess.Popen([*program, *words], stdin=-1, stdout=-1, stderr=-1, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(4)]
        process.stdin.close()
    errors = {answer["id"]: answer["error"]["code"] for answer in answers if "error" in answer}
    assert errors == {2: -32700, None: -32700}
    assert {answer["id"] for answer in answers} == {1, 2, 3, None}
