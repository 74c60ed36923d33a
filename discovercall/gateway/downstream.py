"""The servers behind the broker, as the broker sees them: connect, look at a live schema, call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from discovercall.gateway.catalog import Tool
from discovercall.gateway.store import CatalogSource
from discovercall.gateway.synthetic import synthesize


@dataclass(frozen=True, slots=True)
class DownstreamResult:
    """What a tool answered.

    Attributes:
        text: its text parts in order.
        structured: its structured content; None where there is none.
        is_error: the tool itself says that it failed.
        left_out: kinds of content that have no text, such as "image".
    """

    text: tuple[str, ...] = ()
    structured: Any = None
    is_error: bool = False
    left_out: tuple[str, ...] = ()


class DownstreamError(Exception):
    """A server could not be used; the message may hold what the server said."""


class ServerOfflineError(DownstreamError):
    """No session: the server can't be reached or does not start."""


class AuthRefusedError(DownstreamError):
    """The server refused the credentials that it was given."""


class CredentialsMissingError(AuthRefusedError):
    """What the server would be given is not set; it was not contacted."""


class TransportLostError(DownstreamError):
    """The connection broke after the request was sent; whether the call took effect is unknown."""


class CallTimeoutError(DownstreamError):
    """The broker's own time limit ran out."""


class CallRefusedError(DownstreamError):
    """The server answered the call with a protocol error."""


class Session(Protocol):
    """A live connection to one server."""

    def live_schema(self, name: str) -> Mapping[str, Any] | None:
        """The input schema that the server has for a tool now; None when it no longer has the tool.

        Raises:
            DownstreamError: the server can't tell.
        """

    def call(self, name: str, arguments: Mapping[str, Any]) -> DownstreamResult:
        """Execute a tool once.

        Raises:
            DownstreamError: for everything but an answer of the tool itself.
        """


class Downstream(Protocol):
    """Connects to servers; used from several threads."""

    def connect(self, server_id: str, timeout_s: float) -> Session:
        """A session with a server, all of whose steps end within the time limit together.

        Args:
            server_id: a configured server.
            timeout_s: seconds for connecting, looking and calling.

        Raises:
            DownstreamError: no session.
        """

    def close(self) -> None:
        """End all connections and programs that were started."""


class SyntheticDownstream:
    """Answers calls of a world's tools with made-up, repeatable results; no network, no clock.

    Args:
        catalog: the tools; a server that is not online refuses to connect.
    """

    def __init__(self, catalog: CatalogSource) -> None:
        self._catalog = catalog

    def connect(self, server_id: str, timeout_s: float) -> Session:
        """A session that makes its results up."""
        catalog = self._catalog.current()
        server = catalog.server(server_id)
        if server is None or server.status != "online":
            state = server.status if server else "unknown"
            raise ServerOfflineError(f"server {server_id} is {state}")
        return _SyntheticSession({tool.name: tool for tool in catalog.tools_of(server_id)})

    def close(self) -> None:
        """Nothing is open."""


class _SyntheticSession:
    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self._tools = tools

    def live_schema(self, name: str) -> Mapping[str, Any] | None:
        tool = self._tools.get(name)
        return tool.input_schema if tool else None

    def call(self, name: str, arguments: Mapping[str, Any]) -> DownstreamResult:
        return DownstreamResult(structured=synthesize(self._tools[name], arguments))
