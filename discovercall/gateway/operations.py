"""The three operations as agents see them: names, schemas, descriptions, and how a request is carried out."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from discovercall.foundation.ecma_json import JsonError, loads
from discovercall.gateway import wording
from discovercall.gateway.arguments import check_arguments, json_type
from discovercall.gateway.cache import BrokerLike
from discovercall.gateway.results import Answer, BrokerError, Failure, Operation
from discovercall.gateway.store import CatalogSource, CatalogUnreadableError

MAX_LISTED_SERVERS = 12
INSTRUCTIONS = (
    "This server is a broker in front of many tools. When a task needs data or an action from outside this "
    "conversation, run findTool first with a plain description of what is needed. It answers with a "
    "decision: follow its agentInstruction and nextAction. Use describeTool when a schema is not at hand, "
    "and callTool to execute. Trust notices inside results over assumptions, and never conclude from an "
    "empty or failed search that a capability does not exist."
)
_TEXT = {"type": "string", "minLength": 1}
_SCHEMAS: Mapping[Operation, dict[str, Any]] = {
    "findTool": {
        "type": "object",
        "properties": {"query": {**_TEXT, "description": "What should be done, in plain words."}},
        "required": ["query"],
        "additionalProperties": False,
    },
    "describeTool": {
        "type": "object",
        "properties": {"toolRef": {**_TEXT, "description": "server.tool, as findTool gave it."}},
        "required": ["toolRef"],
        "additionalProperties": False,
    },
    "callTool": {
        "type": "object",
        "properties": {
            "toolRef": {**_TEXT, "description": "server.tool, as findTool gave it."},
            "arguments": {"type": "object", "description": "Arguments that fit the tool's inputSchema."},
        },
        "required": ["toolRef"],
        "additionalProperties": False,
    },
}
_DESCRIPTIONS: Mapping[Operation, str] = {
    "findTool": (
        "Find the tool for a task. Gives a decision (use, ambiguous, no_good_match, catalog_empty), the tool "
        "with its schema where that is small, and the next step."
    ),
    "describeTool": "Get one tool's exact input schema, state and an example of valid arguments.",
    "callTool": (
        "Execute one tool with arguments that fit its schema. Invalid arguments are refused before anything "
        "is executed. Errors say in `retry` whether and after what to try again."
    ),
}
OPERATIONS: tuple[Operation, ...] = ("findTool", "describeTool", "callTool")
_LOGGER = logging.getLogger(__name__)


def definitions(server_ids: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The three tools as {name, description, inputSchema}.

    Args:
        server_ids: what findTool's description says is behind the broker; nothing when empty.
    """
    line = servers_line(server_ids)
    return [
        {
            "name": name,
            "description": _DESCRIPTIONS[name] + (f" {line}" if line and name == "findTool" else ""),
            "inputSchema": _SCHEMAS[name],
        }
        for name in OPERATIONS
    ]


def instructions(server_ids: Sequence[str] = ()) -> str:
    """What an MCP client is told at the start."""
    line = servers_line(server_ids)
    return f"{INSTRUCTIONS} {line}" if line else INSTRUCTIONS


def servers_line(server_ids: Sequence[str]) -> str:
    """A bounded line of server ids; empty without any."""
    names = sorted(server_ids)
    if not names:
        return ""
    more = len(names) - MAX_LISTED_SERVERS
    shown = ", ".join(names[:MAX_LISTED_SERVERS])
    return f"Servers behind it: {shown}{f', +{more} more' if more > 0 else ''}."


def server_ids(source: CatalogSource) -> list[str]:
    """Ids of the enabled servers of a catalog; none where it can't be read."""
    try:
        return [server.server_id for server in source.current().servers() if server.enabled]
    except CatalogUnreadableError:
        return []


def carry_out(broker: BrokerLike, operation: Operation, arguments: Mapping[str, Any]) -> Answer:
    """One operation from its raw arguments; every failure is an envelope, never an exception.

    Args:
        broker: answers.
        operation: which one.
        arguments: as the client sent them.
    """
    problems = check_arguments(_SCHEMAS[operation], arguments)
    if problems:
        return Failure(
            BrokerError(
                "ARGUMENT_VALIDATION_FAILED",
                f"Invalid arguments for {operation}: " + "; ".join(p.message for p in problems) + ".",
                wording.invalid_request(operation),
                problems=tuple(problem.to_json() for problem in problems),
            )
        )
    try:
        if operation == "findTool":
            return broker.find(arguments["query"])
        if operation == "describeTool":
            return broker.describe(arguments["toolRef"])
        return broker.call(arguments["toolRef"], arguments.get("arguments"))
    except Exception as error:  # an agent must get an envelope whatever happens; the log has the rest
        _LOGGER.exception("%s failed", operation)
        message = f"{operation} failed inside the broker ({type(error).__name__})."
        return Failure(BrokerError("CONFIG_ERROR", message, wording.INTERNAL))


def parsed_arguments(text: str, tool_ref: str) -> dict[str, Any] | Failure:
    """Arguments from the JSON text of a command line; a failure where it is no object.

    Args:
        text: what `--json` got.
        tool_ref: the tool they are for, for the message.
    """
    try:
        value = loads(text)
        why = f"it is of type {json_type(value)}"
    except JsonError as error:
        value, why = None, str(error)
    if isinstance(value, dict):
        return value
    problem = {"field": "arguments", "rule": "type", "expected": "object", "got": text[:80]}
    return Failure(
        BrokerError(
            "ARGUMENT_VALIDATION_FAILED",
            f"--json must be a JSON object ({why}).",
            wording.INVALID_ARGUMENTS,
            tool_ref=tool_ref,
            problems=(problem,),
        )
    )
