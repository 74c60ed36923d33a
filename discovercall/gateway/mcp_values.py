"""What MCP servers list and answer, in the broker's terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discovercall.gateway.catalog import Tool
from discovercall.gateway.downstream import DownstreamResult
from discovercall.gateway.masking import ToolMask

if TYPE_CHECKING:
    from mcp.types import CallToolResult
    from mcp.types import Tool as McpTool


def as_tool(server_id: str, tool: McpTool, mask: ToolMask) -> Tool:
    """A server's tool as the catalog keeps it, secrets masked; it reads only where the server says so."""
    hints = tool.annotations
    title = tool.title or (hints.title if hints else None) or ""
    return Tool(
        tool_ref=f"{server_id}.{tool.name}",
        server_id=server_id,
        name=tool.name,
        title=mask.text(title),
        description=mask.text(tool.description or ""),
        input_schema=mask.schema(tool.input_schema),
        read_only=bool(hints and hints.read_only_hint is True),
    )


def as_result(result: CallToolResult) -> DownstreamResult:
    """A call's answer: its text, its structured content, and what had to be left out."""
    text: list[str] = []
    left_out: list[str] = []
    for block in result.content:
        if block.type == "text":
            text.append(block.text)
        elif block.type == "resource" and isinstance(getattr(block.resource, "text", None), str):
            text.append(str(getattr(block.resource, "text", "")))
        elif block.type == "resource_link":
            text.append(f"{block.name}: {block.uri}")
        else:
            left_out.append(block.type)
    return DownstreamResult(tuple(text), result.structured_content, bool(result.is_error), tuple(left_out))
