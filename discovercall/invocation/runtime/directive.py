"""The directive block that closes an answer in the mode `dual_agent`: JSON for the program, never shown."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from discovercall.foundation.ecma_json import JsonError, loads

OPEN = "<directive>"
CLOSE = "</directive>"


class DirectiveState(StrEnum):
    """Whether a directive can be used."""

    USABLE = "usable"
    MISSING = "missing"
    MALFORMED = "malformed"


@dataclass(frozen=True, slots=True)
class Proposal:
    """An event that a directive names."""

    name: str
    arguments: dict[str, Any]


class DirectiveFilter:
    """Splits a streamed answer into what is shown and the block that is not.

    However the text is cut into pieces, the same text is shown: white space around the answer, the block and
    everything after its opening mark are not.
    """

    def __init__(self) -> None:
        self._held = ""
        self._block: str | None = None
        self._shown = False

    def feed(self, text: str) -> str:
        """What of the answer so far may be shown now; possibly nothing."""
        if self._block is not None:
            self._block += text
            return ""
        self._held += text
        visible, mark, rest = self._held.partition(OPEN)
        if mark:
            self._block = rest
            self._held = ""
            return self._show(visible.rstrip())
        safe = len(self._held) - _begun(self._held)
        safe = len(self._held[:safe].rstrip())
        visible, self._held = self._held[:safe], self._held[safe:]
        return self._show(visible)

    def finish(self) -> str:
        """The rest that may be shown, at the end of the answer."""
        rest, self._held = self._held.rstrip(), ""
        return self._show(rest)

    def _show(self, text: str) -> str:
        visible = text if self._shown else text.lstrip()
        self._shown = self._shown or bool(visible)
        return visible

    def read(self) -> tuple[DirectiveState, tuple[Proposal, ...]]:
        """What the block says, at the end of the answer."""
        if self._block is None:
            return DirectiveState.MISSING, ()
        content, mark, after = self._block.rpartition(CLOSE)
        if not mark or after.strip():
            return DirectiveState.MALFORMED, ()
        return read_directive(content)


def read_directive(text: str) -> tuple[DirectiveState, tuple[Proposal, ...]]:
    """Read `{"events": [{"name": …, "arguments": {…}}, …]}`; without arguments there are none."""
    try:
        document = loads(text)
    except JsonError:
        return DirectiveState.MALFORMED, ()
    events = document.get("events") if isinstance(document, dict) else None
    if not isinstance(events, list):
        return DirectiveState.MALFORMED, ()
    proposals = []
    for event in events:
        name = event.get("name") if isinstance(event, dict) else None
        arguments = event.get("arguments", {}) if isinstance(event, dict) else None
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return DirectiveState.MALFORMED, ()
        proposals.append(Proposal(name, arguments))
    return DirectiveState.USABLE, tuple(proposals)


def _begun(text: str) -> int:
    """How many characters at the end of a text may be the beginning of the opening mark."""
    longest = min(len(text), len(OPEN) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(OPEN[:size])), 0)
