"""A catalog whose tools have one-letter ids, so that even a random model hits one now and then."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from typing import Any

from discovercall.gateway.catalog import default_world_path, load_world
from discovercall.gateway.parameters import derive_params, one_of_required
from tests.support.loopback import LoopbackServer

LETTERS = [chr(code) for code in range(0x21, 0x7F)]
API_KEY = "catalog-key"


def tool_definitions() -> list[dict[str, Any]]:
    """The tools of the world that comes along, as the capability API describes them."""
    return [
        {
            "tool_id": tool.tool_ref,
            "name": tool.name,
            "description": tool.description,
            "params": derive_params(tool.input_schema),
            "one_of_required": one_of_required(tool.input_schema),
        }
        for tool in load_world(default_world_path()).tools
    ]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LetterCatalog

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = json.dumps(self.server.answer(self.path.partition("?")[0], body)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class LetterCatalog(LoopbackServer):
    """The capability API of that catalog on a free loopback port; a context manager."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.tools = {
            letter: tool | {"tool_id": letter}
            for letter, tool in zip(LETTERS, tool_definitions(), strict=False)
        }

    @property
    def base_url(self) -> str:
        return f"{self.origin}/api/v1"

    def answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path.endswith("/search"):
            results = [{"tool_id": letter, "capability": tool["name"]} for letter, tool in self.tools.items()]
            return {"search_id": "s1", "results": results[: body["limit"]]}
        if path.endswith("/tools/by-ids"):
            return {"results": [self.tools[letter] for letter in body["tool_ids"] if letter in self.tools]}
        return {"success": True, "result": {"data": ["something"]}}
