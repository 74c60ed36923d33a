"""Runs a web application in the foreground, and ends it cleanly by a signal."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self.interrupted = False
        self._on_stop = on_stop

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.interrupted = self.interrupted or sig == signal.SIGINT
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Here, not after run(): a signal is raised again there, and SIGTERM ends the process at once.
        try:
            await super().shutdown(sockets=sockets)
        finally:
            self._on_stop()


def run_foreground(config: uvicorn.Config, listener: socket.socket, on_stop: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises:
        KeyboardInterrupt: after a clean stop by SIGINT, also where a shell had it ignored.
    """
    server = _Server(config, on_stop)
    server.run([listener])
    if server.interrupted:
        raise KeyboardInterrupt
