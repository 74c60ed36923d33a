"""Servers that say the secret that they were given: it reaches neither messages nor the index."""

import base64
import contextlib
import json
import os
import stat
import time
from urllib.parse import quote

import pytest

from discovercall.gateway.assembly import assemble
from discovercall.gateway.listing import run_index
from discovercall.gateway.masking import ToolMask
from discovercall.gateway.mcp_client import McpDownstream
from tests.gateway.hostile import SECRET, configure_hostile, listed, result

STUMP = SECRET[:4]
CALL_ERROR = '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32005,"message":"%s"}}'


def called(config):
    assert run_index(config, semantic="off").complete
    assembly = assemble(config, semantic="off")
    try:
        return assembly.plain.call("s.ok", {})
    finally:
        assembly.broker.close()


def test_last_line_of_the_error_stream(tmp_path):
    run = run_index(configure_hostile(tmp_path, stderr="x" * 390 + "$TOK\n"), semantic="off")
    assert "it said: xxx" in str(run.servers[0].error)
    assert STUMP not in str(run.to_json())


@pytest.mark.parametrize(
    "form",
    [
        lambda secret: base64.b64encode(b"u:" + secret.encode()).decode(),
        lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
        lambda secret: quote(secret, safe=""),
        lambda secret: json.dumps(secret),
        lambda secret: json.dumps(secret, ensure_ascii=False),
        lambda secret: secret.encode().hex(),
        lambda secret: secret.lower(),
    ],
)
def test_encoded_forms_are_masked(form):
    secret = 'P+/"w\u00f6rd-0123456789'
    said = form(secret)
    shown = ToolMask([secret]).message(f"before {said} after")
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert "[redacted]" in shown
    assert said not in shown


def test_encoded_in_what_servers_say(tmp_path):
    encoded = base64.b64encode(SECRET.encode()).decode().rstrip("=")[:-1]
    run = run_index(configure_hostile(tmp_path, stderr=encoded + "\n"), semantic="off")
    assert encoded not in str(run.to_json())
    answer = result({"content": [{"type": "text", "text": encoded}], "isError": True})
    assert encoded not in str(called(configure_hostile(tmp_path, call=answer)).to_json())


def test_line_whose_start_is_out_of_reach_is_not_shown(tmp_path):
    run = run_index(configure_hostile(tmp_path, stderr="$TOK" + "x" * (65_536 - 8)), semantic="off")
    assert SECRET[8:] not in str(run.to_json())


@pytest.mark.parametrize(
    "answer",
    [
        result({"content": [{"type": "text", "text": "x" * 1990 + "$TOK"}], "isError": True}),
        CALL_ERROR % ("y" * 395 + "$TOK"),
    ],
    ids=["tool error", "protocol error"],
)
def test_secret_at_the_place_where_a_message_is_cut(tmp_path, answer):
    told = called(configure_hostile(tmp_path, call=answer)).to_json()["error"]["message"]
    assert STUMP not in told


def test_secret_where_the_summary_is_cut(tmp_path):
    answer = result({"content": [{"type": "text", "text": "z" * 155 + "$TOK"}]})
    assert STUMP not in called(configure_hostile(tmp_path, call=answer)).summary


@pytest.mark.parametrize("method", ["banner", "call"])
def test_line_that_is_no_message_leaves_one_masked_line(tmp_path, capfd, method):
    # The secret is whole in the line, which the SDK logs with its traceback.
    answer = "connected with $TOK\n" + result({"content": []})
    state = {"banner": "connected with $TOK"} if method == "banner" else {"call": answer}
    state.setdefault("call", result({"content": []}))
    assert called(configure_hostile(tmp_path, **state)).ok
    written = capfd.readouterr().err
    assert STUMP not in written
    assert "Traceback" not in written
    assert "Failed to parse" in written


def test_secret_in_what_a_server_says_of_its_tools(tmp_path):
    about = {"type": "string", "description": "like $TOK", "default": "$TOK", "enum": ["$TOK", "a"]}
    schema = {"type": "object", "properties": {"q": about}, "$defs": {"d": {"title": "$TOK"}}}
    tools = listed({"name": "ok", "title": "T $TOK", "description": "Uses $TOK.", "inputSchema": schema})
    config = configure_hostile(tmp_path, list=tools, call=result({"content": []}))
    assert called(config).notices == ()  # the live schema is the cataloged one
    assert STUMP not in config.index_path.read_text()
    assembly = assemble(config, semantic="off")
    assert "Uses [redacted]." in json.dumps(assembly.plain.describe("s.ok").to_json())
    assert STUMP not in json.dumps(assembly.plain.find("uses it").to_json())
    assembly.broker.close()


def test_what_decides_on_a_call_is_not_masked_for_a_plain_word():
    mask = ToolMask(["json", "hunter2", SECRET])
    schema = {"properties": {"json": {"enum": ["json", "hunter2"], "description": "json or hunter2"}}}
    assert mask.schema(schema) == {
        "properties": {"json": {"enum": ["json", "hunter2"], "description": "json or [redacted]"}}
    }
    named = {"properties": {"description": {"enum": ["hunter2"]}}}
    assert mask.schema(named) == named
    assert mask.message("json hunter2") == "[redacted] [redacted]"


@pytest.mark.slow
@pytest.mark.part("noisy MCP server")
def test_noise_on_the_error_stream_does_not_stay_on_disk(tmp_path):
    downstream = McpDownstream(configure_hostile(tmp_path, noise=32 * 2**20).servers)
    try:
        downstream.connect("s", 60).live_schema("ok")
        deadline = time.monotonic() + 20
        while _unnamed_bytes() > 2**20 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert _unnamed_bytes() <= 2**20
    finally:
        downstream.close()


def _unnamed_bytes():
    """Bytes on disk of the files without a name that this process has open."""
    size = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found = os.stat(f"/proc/self/fd/{name}")
            size += found.st_blocks * 512 if stat.S_ISREG(found.st_mode) and not found.st_nlink else 0
    return size
