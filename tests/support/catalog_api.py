"""A catalog API on loopback that answers from a table of tools, and misbehaves on request."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

KEY = "loopback-catalog-key-0123456789"
OPERATIONS = {"/search": "discover", "/tools/by-ids": "inspect", "/tools/execute": "call"}


@dataclass(frozen=True)
class Request:
    """A request as it came in."""

    operation: str
    headers: dict[str, str]
    query: dict[str, list[str]]
    body: dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """An answer that is not the usual one; `reset` breaks the connection off instead."""

    json: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    reset: bool = False


def tool(*params: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A tool's definition; without parameters it takes a required city."""
    city = {"name": "city", "type": "string", "required": True, "description": "Where."}
    return {"name": "a tool", "description": "What it does.", "params": list(params) or [city], **more}


class CatalogApi:
    """Use it as a context manager.

    Attributes:
        tools: definitions by id.
        results: ids that a query finds; all tools where it isn't listed.
        before: sees each request on arrival; what it returns is the answer, None asks for the usual one.
        seconds: how long each answer takes.
        headers: headers of every answer.
        requests: what came in, in order of arrival.
    """

    def __init__(self) -> None:
        self.tools: dict[str, dict[str, Any]] = {"a.tool": tool()}
        self.results: dict[str, list[Any]] = {}
        self.before: Callable[[Request], Reply | None] = lambda _: None
        self.seconds = 0.0
        self.headers: dict[str, str] = {}
        self.requests: list[Request] = []
        self.released = threading.Event()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler(self))

    @property
    def base_url(self) -> str:
        """What `--api-base-url` gets."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/api/v1"

    def __enter__(self) -> CatalogApi:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    def count(self, operation: str) -> int:
        """Requests of one operation so far."""
        with self._lock:
            return sum(request.operation == operation for request in self.requests)

    def wait_for(self, operation: str, process: subprocess.Popen[str], seconds: float = 30) -> None:
        """Wait until a request of an operation has arrived from a running command."""
        deadline = time.monotonic() + seconds
        while not self.count(operation):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, f"no {operation} request within {seconds} s"
            time.sleep(0.01)

    def hold(self, operation: str) -> None:
        """Let requests of an operation wait until `released` is set."""

        def hold(request: Request) -> None:
            if request.operation == operation:
                self.released.wait(60)

        self.before = hold

    def take(self, request: Request) -> Reply:
        """The reply to one request."""
        with self._lock:
            self.requests.append(request)
        reply = self.before(request)
        if self.seconds:
            time.sleep(self.seconds)
        return Reply(self._usual(request)) if reply is None else reply

    def _usual(self, request: Request) -> dict[str, Any]:
        body = request.body
        if request.operation == "discover":
            found = self.results.get(body["query"], list(self.tools))
            cards = [
                {"tool_id": i, "capability": "text", "score": 1} if isinstance(i, str) else i for i in found
            ]
            return {"search_id": f"search-{body['session_id'][:8]}", "results": cards[: body["limit"]]}
        if request.operation == "inspect":
            return {"results": [{"tool_id": i, **self.tools[i]} for i in body["tool_ids"] if i in self.tools]}
        return {
            "success": True,
            "result": {"data": {"ok": True}},
            "execution_id": "x-1",
            "remaining_credits": 9,
        }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def _handler(api: CatalogApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            url = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            operation = OPERATIONS[url.path.removeprefix("/api/v1")]
            reply = api.take(Request(operation, headers, parse_qs(url.query), json.loads(body)))
            if reply.reset:
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.close_connection = True
                return
            data = reply.json if isinstance(reply.json, bytes) else json.dumps(reply.json).encode()
            self.send_response(reply.status)
            for name, value in {**api.headers, **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:
                self.close_connection = True

        def finish(self) -> None:
            with contextlib.suppress(ConnectionError):
                super().finish()

    return Handler
