"""Every sentence that the broker says to agents, in one place.

Each names the next operation, says under what condition it applies, and claims nothing beyond what the
broker knows.
"""

from __future__ import annotations

from collections.abc import Sequence

INDEX_COMMAND = "discovercall gateway index"
DIAGNOSTIC_COMMAND = "discovercall doctor"
TIME_LIMIT = "timeouts.call_ms"
"""The setting of the configuration, as BUDGET in `truncation` is."""

USE_FAST = (
    "Fill in the placeholders of recommendedCall and run callTool with it. If a field of the schema is "
    "unclear, run describeTool first; if the tool turns out not to fit, choose one of the alternatives."
)
USE_BIG_SCHEMA = (
    "The schema is too large for this result. Run describeTool for the selected tool, then callTool with "
    "arguments that fit it. If it does not fit the task, choose one of the alternatives."
)
USE_NO_SCHEMA = (
    "The selected tool declares no schema. Run describeTool for it to see what its description asks for, "
    "then callTool. If it does not fit the task, choose one of the alternatives."
)
USE_NOT_CALLABLE = (
    "The selected tool's server is not online according to the last index. Check the server before calling; "
    "if it stays away, choose one of the alternatives or report that it is down."
)
AMBIGUOUS = (
    "Two tools fit about equally well. Compare the two inlined schemas and descriptions, choose the one that "
    "does what was asked, and run callTool with its toolRef. If the request itself is unclear, ask the user."
)
CHECK_SETUP = f"check the setup with `{DIAGNOSTIC_COMMAND}` and refresh the catalog with `{INDEX_COMMAND}`"
NO_MATCH = (
    "No indexed tool fits well enough to recommend. Refine the request (name the object, the action or the "
    f"system) and run findTool again. If that fails too, {CHECK_SETUP}. Do not conclude from this alone that "
    "the capability does not exist."
)
EMPTY = (
    f"The catalog holds no tools yet, so nothing can be said about what exists. Run "
    f"`{INDEX_COMMAND}` to read "
    f"the configured servers, or `{DIAGNOSTIC_COMMAND}` to check the setup, then run findTool again. Do not "
    "infer that a capability is absent."
)
NEXT_CALL = "Its schema is at hand, so it can be called once the placeholders are filled in."
NEXT_DESCRIBE = "Its schema is not in this result; it is needed before a call."
NEXT_DESCRIBE_BARE = "It declares no schema; its description says more before a call."
NEXT_CHOOSE = "Both schemas are inlined; put in the toolRef of the candidate that fits."
ASK_IN_WORDS = "<what is to be done, in plain words>"
NEXT_REFINE = "A narrower wording may match an indexed tool."

INVALID_ARGUMENTS = (
    "Correct the fields named in `problems`. Confirm the exact schema with describeTool if in "
    "doubt, then run "
    "callTool once with the corrected arguments. Do not resend these arguments unchanged."
)
REFRESH_FIRST = f"refresh the catalog with `{INDEX_COMMAND}` first"
NOT_FOUND = (
    "Do not retry this toolRef. Run findTool to get a current one; if the tool should exist, "
    f"{REFRESH_FIRST}."
)
UNREAD = (
    f"Whether the tool exists is not known. Refresh the catalog with `{INDEX_COMMAND}` and run describeTool "
    "again, or run callTool, which asks the live server."
)
SCHEMA_CHANGED = (
    f"The cataloged schema is out of date. Refresh the catalog with `{INDEX_COMMAND}`, run describeTool "
    "again and build new arguments from it. Do not resend the stale arguments."
)
TOOL_ERROR = (
    "The tool ran and reported this error. Inspect the message and change the arguments or choose another "
    "tool; do not resend the same call unchanged."
)
INTERNAL = (
    "Do not retry this request unchanged. Check the setup with "
    f"`{DIAGNOSTIC_COMMAND}`, report the message, and choose another way meanwhile."
)
AUTH = (
    "Do not retry. Ask the user for valid credentials of this server; until they are configured, choose a "
    "tool of another server."
)


def invalid_request(operation: str) -> str:
    """After a request that does not fit the schema of an operation itself."""
    if operation == "callTool":
        return INVALID_ARGUMENTS
    return (
        f"Correct the fields named in `problems`, as the input schema of {operation} has them, then run "
        f"{operation} once more. Do not resend this request unchanged."
    )


def missing(capability: str) -> str:
    """What to add to a refusal where the broker knows what was asked for."""
    return (
        f"The request looks like this capability: {capability}. Nothing in the catalog as it is indexed now "
        "offers it; if that reading is wrong, refine the request, else report it or add a server."
    )


def offline(server_id: str) -> str:
    """After a server could not be reached."""
    return (
        f"Retry only after a check shows that server {server_id} is back; do not loop on it. Meanwhile run "
        "findTool and choose a tool of another server, or report that it is down."
    )


def transport_lost(server_id: str, read_only: bool) -> str:
    """After a connection broke in mid call."""
    seen = (
        "The tool only reads, so a repeat does no harm"
        if read_only
        else "The call may have taken effect, so verify that before any repeat"
    )
    return (
        f"Check server {server_id} and the arguments first. {seen}. Then run callTool once more "
        f"after a pause; "
        "if it breaks again, report it."
    )


def timed_out(limit_ms: int) -> str:
    """After the broker's own limit ran out."""
    return (
        f"The broker's own limit {TIME_LIMIT} ({limit_ms} ms) ended the call. Do not resend it "
        f"unchanged: "
        "narrow the call so that it finishes sooner, or have the limit raised. It may still have "
        "taken effect, "
        "so verify before you change anything again."
    )


def not_ready(server_id: str, limit_ms: int) -> str:
    """After the broker's own limit ran out before the call was sent."""
    return (
        f"The broker's own limit {TIME_LIMIT} ({limit_ms} ms) ran out before the call was sent, so nothing "
        f"was executed. Do not resend it unchanged: have the limit raised, or server {server_id} checked. "
        "Meanwhile run findTool and choose a tool of another server."
    )


def unknown_server(server_id: str, others: Sequence[str]) -> str:
    """For a reference to a server that is not configured or not enabled."""
    listed = f"Configured are: {', '.join(others)}. " if others else ""
    return (
        f"Add or enable server {server_id} in the configuration if it is meant. {listed}Otherwise "
        f"run findTool "
        "and use another toolRef; do not retry this one."
    )


def degraded(reason: str) -> str:
    """Put before an instruction where the model failed."""
    return (
        f"Results are lexical only, because the semantic search failed ({reason}); `{DIAGNOSTIC_COMMAND}` "
        "tells more."
    )


def unreadable_catalog() -> str:
    """Where the catalog itself can't be read."""
    return (
        f"Check the catalog file that the message names and rebuild it with `{INDEX_COMMAND}`; retry after "
        "that. Do not infer that a capability is absent."
    )
