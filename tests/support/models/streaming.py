"""Server-sent events over chunked HTTP, for the fakes that stream."""

from __future__ import annotations

import json
from typing import Any

from tests.support.models.fake_server import Handler


class EventStream:
    """One streamed answer; its status and headers are sent at once."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._number = 0
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()

    def send(self, kind: str, **fields: Any) -> None:
        """Send one event."""
        event = json.dumps({"type": kind, "sequence_number": self._number, **fields})
        self._number += 1
        data = f"event: {kind}\ndata: {event}\n\n".encode()
        self._handler.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def end(self) -> None:
        """Close the answer."""
        self._handler.write(b"0\r\n\r\n")
