"""Whether an error tells an agent, as data, what may be tried again and after what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Disposition = tuple[str, str | None]
_NEVER: Disposition = ("never", None)
_REINDEXED: Disposition = ("after", "index_refreshed")
_WAITED: frozenset[str | None] = frozenset({"server_online", "backoff"})
ALLOWED: Mapping[str, frozenset[Disposition]] = {
    "TOOL_NOT_FOUND": frozenset({_NEVER, _REINDEXED}),
    "CONFIG_ERROR": frozenset({_NEVER, _REINDEXED}),
    "ARGUMENT_VALIDATION_FAILED": frozenset({_NEVER}),
    "TOOL_SCHEMA_CHANGED": frozenset({_REINDEXED}),
    "DOWNSTREAM_SERVER_OFFLINE": frozenset({("after", "server_online")}),
    "DOWNSTREAM_CALL_FAILED": frozenset({_NEVER, ("after", "backoff")}),
    "AUTH_UNAVAILABLE": frozenset({_NEVER}),
}
"""What each type of error may say in `retry`: when, and after which precondition."""


def is_clear(error: Mapping[str, Any]) -> bool:
    """Whether an error is of a known type, instructs, and gives a disposition that fits its type.

    A retry that waits for something outside has to say how long to wait at least, so that nobody loops on
    it; an error that may be retried must say after what, and one that may not must set no condition.

    Args:
        error: the `error` member of an envelope.
    """
    retry = error.get("retry")
    instruction, retryable = error.get("agentInstruction"), error.get("retryable")
    if not isinstance(retry, Mapping) or not isinstance(retryable, bool):
        return False
    if not isinstance(instruction, str) or not instruction.strip():
        return False
    when, precondition = retry.get("when"), retry.get("precondition")
    if (when, precondition) not in ALLOWED.get(str(error.get("type")), frozenset()):
        return False
    seconds = retry.get("afterSeconds")
    if when == "never":
        return not retryable and seconds is None
    waits = isinstance(seconds, int) and not isinstance(seconds, bool) and seconds > 0
    return waits if precondition in _WAITED else seconds is None or waits
