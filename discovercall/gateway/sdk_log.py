"""What the MCP SDK logs: one masked line on the error stream, never a traceback with a server's own words."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

from discovercall.foundation.shown import shown_line

_LOGGERS = ("mcp", "client")  # the SDK's session logs under the second name
_SHOWN = 200


class _OneLine(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.masks: list[Callable[[str], str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        for mask in self.masks:
            text = mask(text)
        kind = record.exc_info[0] if record.exc_info else None
        why = f" ({kind.__name__})" if kind else ""
        sys.stderr.write(f"MCP: {shown_line(text, _SHOWN)}{why}\n")


_HANDLER = _OneLine()


def keep_sdk_log_short(mask: Callable[[str], str]) -> None:
    """Take over the SDK's log for the rest of the process.

    Args:
        mask: hides secrets; is applied beside those of earlier calls.
    """
    _HANDLER.masks.append(mask)
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.propagate = False
        if _HANDLER not in logger.handlers:
            logger.addHandler(_HANDLER)
