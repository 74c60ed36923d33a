"""Serves a world over HTTP on a loopback address: in a thread for rehearsals, or in the foreground."""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

import uvicorn

from discovercall.foundation.errors import InputError
from discovercall.gateway.capability_api import CapabilityApi
from discovercall.gateway.catalog import World
from discovercall.gateway.faults import Fault, FaultPlan
from discovercall.gateway.foreground import SignalledServer, quiet_config
from discovercall.gateway.http_app import PREFIX, HttpFace
from discovercall.gateway.journal import RequestJournal
from discovercall.gateway.keys import new_key
from discovercall.gateway.wire import TransportProtocol

_START_LIMIT_S = 10.0
# Clients pool connections; one that is closed under them while idle would look like a network failure.
_KEEP_ALIVE_S = 600


class _Server(SignalledServer):
    """A server that says when it listens, and ends the waits of its faults when it stops."""

    def __init__(self, config: uvicorn.Config, face: HttpFace, on_stop: Callable[[], None]) -> None:
        super().__init__(config, on_stop)
        self.listening = threading.Event()
        self._face = face

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.listening.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._face.stopping.set()
        await super().shutdown(sockets=sockets)


class EmbeddedGateway:
    """A gateway in a thread of this process, on a free port of 127.0.0.1.

    Use as a context manager; `base_url` and `api_key` are known from the start.

    Args:
        tools: the world, or the API over a broker, that it offers.
        faults: what goes wrong on purpose.
        api_key: the bearer key that it accepts; a random one when None.
        journal: a file that takes one line per request on arrival.
    """

    def __init__(
        self,
        tools: World | CapabilityApi,
        *,
        faults: Sequence[Fault] = (),
        api_key: str | None = None,
        journal: Path | None = None,
    ) -> None:
        self.api_key = api_key or new_key()
        self._journal = RequestJournal(journal)
        self._socket = listen("127.0.0.1", 0)
        self.base_url = base_url(self._socket)
        self._server = _server(tools, self.api_key, faults, self._journal, lambda: None)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="embedded-gateway", daemon=True
        )

    def __enter__(self) -> EmbeddedGateway:
        self._thread.start()
        if not self._server.listening.wait(_START_LIMIT_S):
            raise RuntimeError("the embedded gateway did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(_START_LIMIT_S)
        self._socket.close()
        self._journal.close()


def serve(
    tools: World | CapabilityApi,
    listener: socket.socket,
    *,
    api_key: str,
    faults: Sequence[Fault] = (),
    journal: Path | None = None,
    on_stop: Callable[[], None] = lambda: None,
) -> None:
    """Serve in the foreground until SIGINT or SIGTERM.

    Args:
        tools: the world, or the API over a broker.
        listener: a listening socket from `listen`.
        api_key: the bearer key that it accepts.
        faults: what goes wrong on purpose.
        journal: a file that takes one line per request on arrival.
        on_stop: called once when the server has stopped, also after a signal.

    Raises:
        KeyboardInterrupt: after a clean stop by SIGINT.
        InputError: the journal can't be opened.
    """
    requests = RequestJournal(journal)
    server = _server(tools, api_key, faults, requests, on_stop)
    try:
        server.run_foreground(listener)
    finally:
        requests.close()


def listen(host: str, port: int) -> socket.socket:
    """A listening socket.

    Args:
        host: a loopback address, or localhost.
        port: 0 for any free one.

    Raises:
        InputError: the host is no loopback address, or the port is taken.
    """
    address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else _checked_host(host))
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((str(address), port))
        listener.listen(512)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot listen on {host} port {port} ({reason})",
            where="--port",
            fix="choose another port, or 0 for a free one",
        ) from None
    return listener


def base_url(listener: socket.socket) -> str:
    """Where the capability API of a gateway on this socket is."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PREFIX}"


def _checked_host(host: str) -> str:
    try:
        if ipaddress.ip_address(host).is_loopback:
            return host
    except ValueError:
        pass
    raise InputError(
        f"{host} is no loopback address",
        where="--host",
        fix="use 127.0.0.1, ::1 or localhost: the gateway is for this machine only",
    )


def _server(
    tools: World | CapabilityApi,
    api_key: str,
    faults: Sequence[Fault],
    journal: RequestJournal,
    on_stop: Callable[[], None],
) -> _Server:
    api = tools if isinstance(tools, CapabilityApi) else CapabilityApi(tools)
    face = HttpFace(api, api_key, FaultPlan(faults), journal)
    config = quiet_config(
        face.application(), http=TransportProtocol, lifespan="off", timeout_keep_alive=_KEEP_ALIVE_S
    )
    return _Server(config, face, on_stop)
