"""Servers in memory that behave like real ones: they have tools of their own, check arguments and record."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from discovercall.gateway.catalog import World
from discovercall.gateway.downstream import (
    AuthRefusedError,
    CallRefusedError,
    CallTimeoutError,
    DownstreamResult,
    ServerOfflineError,
    TransportLostError,
)

Mode = Literal[
    "normal",
    "offline",
    "auth_refused",
    "late",
    "slow",
    "tool_error",
    "transport_drop",
    "huge_result",
    "secret_in_message",
]
MODES: tuple[Mode, ...] = get_args(Mode)
LATE_S = 0.01
HUGE_ITEMS = 5_000
TOOL_ERROR = "the record is locked by somebody else"


@dataclass(frozen=True, slots=True)
class Call:
    """A call that reached a server, and whether the server's own check let it through."""

    tool_ref: str
    arguments: Mapping[str, Any]
    accepted: bool


class FixtureDownstream:
    """Every server of a world, in one mood.

    A server has the world's tools with today's schemas, and refuses arguments that do not satisfy them in
    the judgement of the jsonschema library, which shares no code with the broker's own check.

    Args:
        world: the servers and tools.
        live_schemas: schemas that have changed since the world was written, by tool reference.
        mode: how every server behaves.
        secret: what a server blurts out in mode `secret_in_message`.
        wait: sleeps for seconds: in mode `late` for `LATE_S`, in mode `slow` until the time is up.
    """

    def __init__(
        self,
        world: World,
        *,
        live_schemas: Mapping[str, Mapping[str, Any]] | None = None,
        mode: Mode = "normal",
        secret: str = "",
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        schemas = {tool.tool_ref: tool.input_schema for tool in world.tools}
        self.schemas: Mapping[str, Mapping[str, Any]] = {**schemas, **(live_schemas or {})}
        self.mode = mode
        self.secret = secret
        self.wait = wait
        self.connected: list[str] = []
        self.calls: list[Call] = []

    def connect(self, server_id: str, timeout_s: float) -> FixtureSession:
        """A session with a server, unless the mood forbids it."""
        self.connected.append(server_id)
        if self.mode == "offline":
            raise ServerOfflineError(f"nothing listens where {server_id} should be")
        if self.mode == "auth_refused":
            raise AuthRefusedError("401")
        return FixtureSession(self, server_id, timeout_s)

    def close(self) -> None:
        """Nothing is open."""


class FixtureSession:
    """A session with one server of a `FixtureDownstream`."""

    def __init__(self, downstream: FixtureDownstream, server_id: str, timeout_s: float) -> None:
        self._downstream = downstream
        self._server_id = server_id
        self._timeout_s = timeout_s

    def live_schema(self, name: str) -> Mapping[str, Any] | None:
        """What the server's own list of tools says."""
        return self._downstream.schemas.get(f"{self._server_id}.{name}")

    def call(self, name: str, arguments: Mapping[str, Any]) -> DownstreamResult:
        """Check, record, and answer as the mood is."""
        downstream, tool_ref = self._downstream, f"{self._server_id}.{name}"
        schema = downstream.schemas.get(tool_ref)
        problem = "no such tool" if schema is None else first_problem(schema, arguments)
        downstream.calls.append(Call(tool_ref, dict(arguments), problem is None))
        if problem is not None:
            raise CallRefusedError(f"invalid params: {problem}")
        match downstream.mode:
            case "late" if self._timeout_s > LATE_S:
                downstream.wait(LATE_S)
            case "late" | "slow":
                downstream.wait(self._timeout_s)
                raise CallTimeoutError("no answer in time")
            case "transport_drop":
                raise TransportLostError("connection reset by peer")
            case "tool_error":
                return DownstreamResult(text=(TOOL_ERROR,), is_error=True)
            case "secret_in_message":
                return DownstreamResult(text=(f"backend refused token {downstream.secret}",), is_error=True)
            case "huge_result":
                return DownstreamResult(structured=[{"row": number} for number in range(HUGE_ITEMS)])
        return DownstreamResult(text=(success_text(tool_ref),))


def success_text(tool_ref: str) -> str:
    """What a tool of the fixture answers when all is well."""
    return f"{tool_ref} has done its work"


def first_problem(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """Why arguments do not satisfy a JSON Schema by the jsonschema library; None where they do.

    A schema that can't be judged (an unknown type, a reference that leads out of it, a broken pattern)
    accepts what the library gets to see of it. Nothing is ever fetched.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import UnknownType
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    validator = Draft202012Validator(dict(schema), registry=Registry())
    try:
        found = next(validator.iter_errors(dict(arguments)), None)
    except (UnknownType, Unresolvable, re.error, TypeError):
        return None
    return None if found is None else str(found.message)
