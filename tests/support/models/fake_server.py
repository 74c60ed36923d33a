"""What the fake model servers share: loopback only, a scenario per request, every request kept.

The scenario of a request is the one in its path (`/s/<scenario>/v1/...`), else the one in the model's name
(`fake-<scenario>`), else the server's.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

from tests.support.loopback import LoopbackServer


class Gone(Exception):
    """The client closed the connection."""


@dataclass
class Received:
    """A request as it came in; `outcome` is `served` or `client_gone` once it was answered."""

    method: str
    path: str
    scenario: str
    headers: dict[str, str]
    body: Any
    outcome: str | None = None
    moment: float = field(default_factory=time.monotonic)


class Handler(BaseHTTPRequestHandler):
    """Reads a request, finds its scenario, and has the server answer it."""

    protocol_version = "HTTP/1.1"
    server: FakeServer

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def send_json(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        self.send_bytes(status, json.dumps(value).encode(), headers)

    def send_bytes(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, text in {
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            **(headers or {}),
        }.items():
            self.send_header(name, text)
        self.end_headers()
        self.write(data)

    def write(self, data: bytes) -> None:
        try:
            self.wfile.write(data)
        except OSError as error:
            raise Gone from error

    def cut(self) -> None:
        """Drop the connection."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def wait(self, seconds: float) -> None:
        """Sleep, but notice a client that hangs up."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.server.stopping.wait(0.02):
                raise Gone
            self.connection.settimeout(0.01)
            try:
                if self.connection.recv(1, socket.MSG_PEEK) == b"":
                    raise Gone
            except TimeoutError:
                pass
            except OSError as error:
                raise Gone from error
            finally:
                self.connection.settimeout(None)

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(data) if data else None
        except ValueError:
            body = None
        found = re.match(r"/s/([A-Za-z0-9_.-]+)(/.*)$", self.path)
        path = found.group(2) if found else self.path
        scenario = found.group(1) if found else self.server.scenario_of(body)
        received = Received(self.command, path, scenario, dict(self.headers.items()), body)
        with self.server.lock:
            self.server.requests.append(received)
        try:
            self.server.answer_request(self, path, scenario, body)
            received.outcome = "served"
        except Gone:
            received.outcome = "client_gone"
            self.close_connection = True

    do_GET = do_CONNECT = do_POST


class FakeServer(LoopbackServer):
    """A context manager that serves on a free loopback port until it is left."""

    scenarios: ClassVar[dict[str, str]] = {}

    def __init__(self, scenario: str = "ok", key: str | None = None) -> None:
        super().__init__(Handler)
        self.scenario = scenario
        self.key = key
        self.requests: list[Received] = []
        self.counts: dict[str, int] = {}
        self.lock = threading.Lock()
        self.stopping = threading.Event()

    def shutdown(self) -> None:
        self.stopping.set()
        super().shutdown()

    def scenario_of(self, body: Any) -> str:
        model = body.get("model") if isinstance(body, dict) else None
        named = model.removeprefix("fake-") if isinstance(model, str) and model.startswith("fake-") else ""
        return named if named in self.scenarios else self.scenario

    def bump(self, key: str) -> int:
        """How often this was called with the key, this time included."""
        with self.lock:
            self.counts[key] = self.counts.get(key, 0) + 1
            return self.counts[key]

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], (OSError, Gone)):
            super().handle_error(request, client_address)

    def answer_request(self, handler: Handler, path: str, scenario: str, body: Any) -> None:
        raise NotImplementedError
