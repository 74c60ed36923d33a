"""One case through each face of the gateway: the command line, MCP in memory, MCP over standard streams."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discovercall.evals.cases import ErgonomicsCase
from discovercall.foundation.ecma_json import JsonError, loads
from discovercall.foundation.resources import PACKAGE_ROOT
from discovercall.gateway.cache import NOTICE
from discovercall.gateway.mcp_face import NAME
from discovercall.gateway.results import Operation

if TYPE_CHECKING:
    from mcp import Client
    from mcp.server import Server
    from mcp.types import CallToolResult

    from discovercall.gateway.cache import BrokerLike

PATIENCE_S = 120.0
_CACHED = NOTICE.partition("{age}")
_AGE_LINE = "cachedAgeSeconds: "
_PROTOCOL = "io.modelcontextprotocol/"  # metadata that the SDK itself adds


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """How a command of the program ended: its exit code, and all that it wrote to standard output."""

    exit_code: int
    stdout: str


RunCommand = Callable[[Sequence[str]], CommandOutcome]
"""The program's own entry point: the words after the program's name to what came of them."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What an agent gets from one face.

    Attributes:
        document: the whole document without what changes from one moment to the next; None where the face
            gave nothing that can be read.
        failed: the face says that the operation failed: exit code 1, or `isError`.
        size: bytes that the agent reads, in UTF-8.
    """

    document: dict[str, Any] | None
    failed: bool
    size: int


def operation_of(case: ErgonomicsCase) -> tuple[Operation, dict[str, Any]]:
    """The operation of a case with its arguments."""
    if case.kind == "find":
        return "findTool", {"query": case.query or ""}
    if case.kind == "describe":
        return "describeTool", {"toolRef": case.tool_ref or ""}
    return "callTool", {"toolRef": case.tool_ref or "", "arguments": dict(case.arguments or {})}


def words_of(case: ErgonomicsCase, world: Path, *, semantic: bool) -> list[str]:
    """The command line of a case, without the program's name.

    Args:
        case: what is asked.
        world: the world file that the command works on.
        semantic: whether searches must use the model, or must not.
    """
    options = ["--catalog", str(world), "--format", "json"]
    match case.kind:
        case "find":
            mode = "require" if semantic else "off"
            return ["gateway", "find", *options, "--semantic", mode, "--", case.query or ""]
        case "describe":
            return ["gateway", "describe", *options, "--", case.tool_ref or ""]
        case "call":
            text = json.dumps(dict(case.arguments or {}), ensure_ascii=False)
            return ["gateway", "call", *options, "--json", text, "--", case.tool_ref or ""]


def read_command(run_command: RunCommand, words: Sequence[str]) -> Reading:
    """What the command line gives; a document counts with exit code 0 or 1 only."""
    outcome = run_command(words)
    size = len(outcome.stdout.encode("utf-8", "replace"))
    document = _object(outcome.stdout) if outcome.exit_code in (0, 1) else None
    return Reading(without_ages(document), outcome.exit_code != 0, size)


def in_memory(
    broker: BrokerLike, cases: Sequence[ErgonomicsCase], make_server: Callable[[BrokerLike], Server[Any]]
) -> list[Reading]:
    """What the real adapter gives a real client without any transport between them."""
    return _session(lambda: make_server(broker), cases)


def over_stdio(
    program: Sequence[str], words: Sequence[str], cases: Sequence[ErgonomicsCase]
) -> list[Reading]:
    """What the served program gives a real client over its standard streams, all cases in one session.

    Args:
        program: what starts the program.
        words: its arguments.
        cases: what is asked.
    """
    from mcp import StdioServerParameters, stdio_client

    command, *before = program
    parameters = StdioServerParameters(
        command=command,
        args=[*before, *words],
        # The served program is this very one, wherever it lies, also where it is not installed.
        env={"PYTHONPATH": str(PACKAGE_ROOT.parent)},
    )
    with open(os.devnull, "w") as nowhere:
        return _session(lambda: stdio_client(parameters, errlog=nowhere), cases)


def build_face(broker: BrokerLike) -> Server[Any]:
    """The real MCP adapter."""
    from discovercall import __version__
    from discovercall.gateway.mcp_face import build_server

    return build_server(broker, version=__version__)


def _session(server: Callable[[], Any], cases: Sequence[ErgonomicsCase]) -> list[Reading]:
    import anyio
    from mcp import Client

    async def run() -> list[Reading]:
        async with Client(server(), read_timeout_seconds=PATIENCE_S) as client:
            return [await _read_mcp(client, case) for case in cases]

    return anyio.run(run)


async def _read_mcp(client: Client, case: ErgonomicsCase) -> Reading:
    from mcp import MCPError

    operation, arguments = operation_of(case)
    ask: Awaitable[CallToolResult] = client.call_tool(operation, arguments)
    try:
        result = await ask
    except MCPError as error:
        return Reading(None, True, len(str(error).encode()))
    blocks = [str(getattr(block, "text", "")) for block in result.content]
    size = sum(len(block.encode("utf-8", "replace")) for block in blocks)
    failed = bool(result.is_error)
    if operation == "callTool" and not failed:
        return Reading(without_ages(_bare(blocks, result.meta)), failed, size)
    single = len(blocks) == 1 and result.structured_content is None
    return Reading(without_ages(_object(blocks[0])) if single else None, failed, size)


def _bare(blocks: Sequence[str], meta: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The document of a call that succeeded: its payload is bare, the rest is metadata and notices."""
    if not blocks or meta is None:
        return None
    try:
        payload = loads(blocks[0])
    except JsonError:
        payload = blocks[0]
    own = {name: value for name, value in meta.items() if not name.startswith(_PROTOCOL)}
    document = {"ok": True, "result": payload, **own}
    notices = [line.removeprefix(f"[{NAME}] ") for block in blocks[1:] for line in block.splitlines()]
    told = [notice for notice in notices if not notice.startswith(_AGE_LINE)]
    return document | ({"notices": told} if told else {})


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = loads(text)
    except JsonError:
        return None
    return value if isinstance(value, dict) else None


def without_ages(document: dict[str, Any] | None) -> dict[str, Any] | None:
    """A document without its ages, and without the notice of a cached answer."""
    if document is None:
        return None
    kept = {name: value for name, value in document.items() if name != "cachedAgeSeconds"}
    if isinstance(stats := kept.get("catalogStats"), dict):
        kept["catalogStats"] = {name: v for name, v in stats.items() if name != "catalogAgeSeconds"}
    if isinstance(notices := kept.pop("notices", None), list):
        others = [notice for notice in notices if not _is_age(notice)]
        kept |= {"notices": others} if others else {}
    return kept


def _is_age(notice: Any) -> bool:
    return isinstance(notice, str) and notice.startswith(_CACHED[0]) and notice.endswith(_CACHED[2])


def differences(command: Reading, other: Reading) -> list[str]:
    """Members in which two faces differ, dotted down to the second level; empty where they agree.

    `failed` stands for an exit code that does not fit the other's `isError`, `document` for a face that gave
    none.
    """
    found = [] if command.failed == other.failed else ["failed"]
    if command.document is None or other.document is None:
        return [*found, "document"]
    return [*found, *_differing(command.document, other.document, "")]


def _differing(left: Mapping[str, Any], right: Mapping[str, Any], prefix: str) -> list[str]:
    found: list[str] = []
    for name in sorted(left.keys() | right.keys()):
        here, there = left.get(name), right.get(name)
        if name in left and name in right and (_text(here) == _text(there) or _same_text(name, here, there)):
            continue
        if not prefix and isinstance(here, dict) and isinstance(there, dict):
            found += _differing(here, there, f"{name}.")
        else:
            found.append(prefix + name)
    return found


def _same_text(name: str, here: Any, there: Any) -> bool:
    """A tool's text travels bare over MCP, where it may look like JSON; compare what it looks like then."""
    if name != "result" or not isinstance(here, str):
        return False
    try:
        return _text(loads(here)) == _text(there)
    except JsonError:
        return False


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
