"""A real MCP server whose tools and moods are in a JSON file that tests may change at any time.

    python server.py STATE            stdio
    python server.py STATE handshake  stdio, as one that knows nothing newer than the handshake
    python server.py STATE http [KEY] streamable HTTP on 127.0.0.1; prints its port

STATE: {"tools": [{name, inputSchema, description?, title?, readOnly?, mode?, result?}], "calls": FILE}.
Each call is appended to FILE. Modes: echo (default), error, protocol-error, slow, crash, huge, secret,
image, empty, announce (says that its tools have changed).
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from mcp import MCPError, stdio_server
from mcp.server import Server
from mcp.server.runner import serve_loop
from mcp.types import CallToolResult, ImageContent, ListToolsResult, TextContent, Tool, ToolAnnotations

STATE = Path(sys.argv[1])


def state():
    return json.loads(STATE.read_text())


def record(path, call):
    with open(path, "a") as log:
        log.write(json.dumps(call) + "\n")


async def list_tools(context, params):
    tools = [
        Tool(
            name=tool["name"],
            title=tool.get("title"),
            description=tool.get("description"),
            input_schema=tool["inputSchema"],
            annotations=ToolAnnotations(read_only_hint=True) if tool.get("readOnly") else None,
        )
        for tool in state()["tools"]
    ]
    return ListToolsResult(tools=tools)


async def call_tool(context, params):
    current = state()
    record(current["calls"], {"name": params.name, "arguments": params.arguments})
    tool = next(tool for tool in current["tools"] if tool["name"] == params.name)
    mode = tool.get("mode", "echo")
    if mode == "error":
        return CallToolResult(content=[TextContent(text="disk full")], is_error=True)
    if mode == "protocol-error":
        raise MCPError(-32042, "not today")
    if mode == "slow":
        await asyncio.sleep(tool.get("seconds", 60))
    if mode == "crash":
        os._exit(3)
    if mode == "secret":
        return CallToolResult(content=[TextContent(text=f"denied for {os.environ['TOKEN']}")], is_error=True)
    if mode == "huge":
        rows = [{"row": number, "text": "x" * 50} for number in range(5000)]
        return CallToolResult(content=[TextContent(text=json.dumps(rows))], structured_content=rows)
    if mode == "image":
        return CallToolResult(content=[ImageContent(data="iVBORw0KGgo=", mime_type="image/png")])
    if mode == "announce":
        await context.session.send_tool_list_changed()
    if mode == "empty":
        return CallToolResult(content=[])
    if "result" in tool:
        text = json.dumps(tool["result"])
        return CallToolResult(content=[TextContent(text=text)], structured_content=tool["result"])
    return CallToolResult(content=[TextContent(text=f"{params.name}\n{json.dumps(params.arguments)}")])


server = Server("scripted", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


async def stdio(only_handshake):
    async with stdio_server() as (read, write):
        if only_handshake:
            await serve_loop(server, read, write, lifespan_state={})
        else:
            await server.run(read, write, server.create_initialization_options())


def http(key):
    import socket

    import uvicorn

    inner = server.streamable_http_app()

    async def guarded(scope, receive, send):
        headers = dict(scope.get("headers", []))
        if scope["type"] == "http" and key and headers.get(b"authorization") != f"Bearer {key}".encode():
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await inner(scope, receive, send)

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(guarded, lifespan="on", log_level="warning")).run([listener])


if sys.argv[2:3] == ["http"]:
    http(sys.argv[3] if len(sys.argv) > 3 else None)
else:
    asyncio.run(stdio(sys.argv[2:3] == ["handshake"]))
