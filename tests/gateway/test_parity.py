"""The same case through the real command line, MCP over stdio and MCP over HTTP gives the same document."""

import asyncio
import contextlib
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from discovercall.gateway.mcp_face import NAME
from discovercall.gateway.operations import OPERATIONS, definitions
from tests.gateway.worlds import BIG, TOOLS, entry

pytestmark = [pytest.mark.slow, pytest.mark.part("parity of the gateway's faces")]

PROGRAM = [sys.executable, "-c", "from discovercall.cli.main import main; main()", "gateway"]
VOLATILE = ("catalogAgeSeconds", "cachedAgeSeconds")
DOWN = entry("shed.heat", "Heat the Shed", "Turn the heating of the shed on.", read_only=False)
CASES: list[tuple[str, dict[str, Any]]] = [
    ("findTool", {"query": "send an email to the supplier"}),
    ("findTool", {"query": "search"}),
    ("findTool", {"query": "convert a spreadsheet"}),
    ("findTool", {"query": "zzzz"}),
    ("findTool", {"query": "book a flight to Rome — soon, “please”"}),
    ("describeTool", {"toolRef": "chat.get_message"}),
    ("describeTool", {"toolRef": "files.convert"}),
    ("describeTool", {"toolRef": "no.such"}),
    ("callTool", {"toolRef": "mail.search", "arguments": {"query": "invoice"}}),
    ("callTool", {"toolRef": "mail.search", "arguments": {}}),
    ("callTool", {"toolRef": "mail.search", "arguments": {"query": 7}}),
    ("callTool", {"toolRef": "nope.x", "arguments": {}}),
    ("callTool", {"toolRef": "noref", "arguments": {}}),
    ("callTool", {"toolRef": "shed.heat", "arguments": {}}),
]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    tools = [*TOOLS, DOWN]
    servers = [{"id": name, "status": "offline" if name == "shed" else "online"}
               for name in sorted({tool["serverId"] for tool in tools})]  # fmt: skip
    path = tmp_path_factory.mktemp("parity") / "world.json"
    path.write_text(json.dumps({"version": 1, "servers": servers, "tools": tools}))
    return path


def canonical(value):
    """A document without what differs from one moment to the next."""
    if isinstance(value, dict):
        return {name: canonical(item) for name, item in value.items() if name not in VOLATILE}
    return [canonical(item) for item in value] if isinstance(value, list) else value


def command_line(catalog, operation, arguments):
    if operation == "findTool":
        words = ["find", arguments["query"], "--semantic", "off"]
    elif operation == "describeTool":
        words = ["describe", arguments["toolRef"]]
    else:
        words = ["call", arguments["toolRef"], "--json", json.dumps(arguments["arguments"])]
    command = [*PROGRAM, *words, "--catalog", str(catalog), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return canonical(json.loads(done.stdout)), done.returncode


def as_document(operation, result):
    """What MCP carries, put back into the document that the broker gave."""
    blocks = [block.text for block in result.content]
    if operation != "callTool" or result.is_error:
        assert len(blocks) == 1
        assert result.structured_content is None
        return canonical(json.loads(blocks[0]))
    document = {"ok": True, "toolRef": result.meta["toolRef"], "result": json.loads(blocks[0])}
    document["resultSummary"] = result.meta["resultSummary"]
    notices = [line.removeprefix(f"[{NAME}] ") for line in blocks[1].splitlines()] if blocks[1:] else []
    return canonical(document | ({"notices": notices} if notices else {}))


async def over(server):
    from mcp import Client

    async with Client(server, read_timeout_seconds=60) as client:
        tools = (await client.list_tools()).tools
        answers = [
            (operation, await client.call_tool(operation, arguments)) for operation, arguments in CASES
        ]
        return client.instructions, tools, answers


@pytest.fixture(scope="module")
def expected(catalog):
    return [command_line(catalog, *case) for case in CASES]


@pytest.fixture(scope="module")
def over_stdio(catalog):
    from mcp import StdioServerParameters, stdio_client

    words = [*PROGRAM[1:], "serve", "--face", "mcp-stdio", "--catalog", str(catalog), "--semantic", "off"]
    server = StdioServerParameters(
        command=PROGRAM[0], args=words, env={"PYTHONPATH": str(Path(__file__).parents[2])}
    )
    with open("/dev/null", "w") as nowhere:
        return asyncio.run(over(stdio_client(server, errlog=nowhere)))


@contextlib.contextmanager
def serving(catalog):
    command = [*PROGRAM, "serve", "--face", "mcp-http", "--port", "0", "--catalog", str(catalog)]
    with subprocess.Popen([*command, "--semantic", "off"], stdout=subprocess.PIPE, text=True) as process:
        try:
            lines = []
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                if "Ctrl-C" in line:
                    break
            printed = "".join(lines)
            key = Path(re.findall(r"^Key: (\S+)", printed, re.MULTILINE)[0])
            yield re.findall(r"http://\S+/mcp", printed)[0], key.read_text().strip()
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
            assert not key.exists()
        finally:
            process.kill()


@pytest.fixture(scope="module")
def over_http(catalog):
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def run(url, key):
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            refused = await httpx2.AsyncClient(timeout=60).post(url, json={})
            return refused.status_code, await over(streamable_http_client(url, http_client=http))

    with serving(catalog) as (url, key):
        return asyncio.run(run(url, key))


def compare(expected, answers):
    for (document, code), (operation, result), case in zip(expected, answers, CASES, strict=True):
        assert as_document(operation, result) == document, case
        assert bool(result.is_error) == (code == 1), case
        assert code in (0, 1)


def test_stdio_says_what_the_command_line_says(expected, over_stdio):
    compare(expected, over_stdio[2])


def test_http_says_what_the_command_line_says(expected, over_http):
    compare(expected, over_http[1][2])


def test_http_lets_nothing_in_without_the_key(over_http):
    assert over_http[0] == 401


def test_exactly_three_tools(over_stdio, over_http):
    for instructions, tools, _ in (over_stdio, over_http[1]):
        assert [tool.name for tool in tools] == list(OPERATIONS)
        listed = definitions(sorted({tool["serverId"] for tool in [*TOOLS, DOWN]}))
        assert [tool.description for tool in tools] == [entry["description"] for entry in listed]
        assert [tool.input_schema for tool in tools] == [entry["inputSchema"] for entry in listed]
        assert "findTool first" in instructions
        assert "Servers behind it: chat, down, files, git, mail, shed, wiki." in instructions


def test_the_cases_reach_every_kind_of_answer(expected):
    documents = [document for document, _ in expected]
    assert {d["decision"] for d in documents if "decision" in d} == {"use", "ambiguous", "no_good_match"}
    types = {d["error"]["type"] for d in documents if "error" in d}
    assert types == {
        "TOOL_NOT_FOUND", "CONFIG_ERROR", "ARGUMENT_VALIDATION_FAILED", "DOWNSTREAM_SERVER_OFFLINE"
    }  # fmt: skip
    assert any("schemaPreview" in d.get("selected", {}) for d in documents)
    assert any(d.get("inputSchema") == BIG for d in documents)
