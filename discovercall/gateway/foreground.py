"""Runs a web application until a signal, and ends it cleanly."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn

_STOP_LIMIT_S = 2


def quiet_config(application: Any, **more: Any) -> uvicorn.Config:
    """Settings of a server that logs nothing, does not name itself and does not wait long for its clients.

    Args:
        application: what it serves, an ASGI application.
        more: further settings of uvicorn.
    """
    return uvicorn.Config(
        application,
        loop="asyncio",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_STOP_LIMIT_S,
        **more,
    )


class SignalledServer(uvicorn.Server):
    """A server that tells when it has stopped, also by a signal.

    Args:
        config: what it serves, and how.
        on_stop: called once when it has stopped.
    """

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._interrupted = False
        self._on_stop = on_stop

    def run_foreground(self, listener: socket.socket) -> None:
        """Serve until SIGINT or SIGTERM.

        Raises:
            KeyboardInterrupt: after a clean stop by SIGINT.
        """
        self.run([listener])
        # A shell starts background jobs with SIGINT ignored, where raising the signal again does nothing.
        if self._interrupted:
            raise KeyboardInterrupt

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Called by uvicorn for each signal."""
        self._interrupted = self._interrupted or sig == signal.SIGINT
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Called by uvicorn when it stops."""
        # Here, not after run(): a signal is raised again there, and SIGTERM ends the process at once.
        try:
            await super().shutdown(sockets=sockets)
        finally:
            self._on_stop()
