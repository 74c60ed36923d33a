"""A real HTTP server on loopback, for as long as a `with` block lasts."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


class LoopbackServer(ThreadingHTTPServer):
    """Serves on a free port from entering the block until it is left.

    Args:
        handler: answers the requests.
    """

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self.shutdown()
        self.server_close()

    @property
    def origin(self) -> str:
        """The server's address, without a path."""
        return f"http://127.0.0.1:{self.server_address[1]}"
