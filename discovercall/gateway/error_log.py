"""What a program writes to its error stream, kept in an unnamed file of which only the end stays."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from typing import IO

from discovercall.gateway.masking import ToolMask

_KEPT_BYTES = 8 * 2**20
_LAST_BYTES = 65_536
_SHOWN = 400  # characters of a foreign message


class ErrorLog:
    """The file; `stream` is what a program gets as its error stream."""

    def __init__(self) -> None:
        self.stream: IO[str] = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
        self._descriptor = self.stream.fileno()
        self._last_line = ""
        self._trimmed = False
        # The program shares this file's place, and goes on at its end also after the file was cut.
        flags = fcntl.fcntl(self._descriptor, fcntl.F_GETFL)
        fcntl.fcntl(self._descriptor, fcntl.F_SETFL, flags | os.O_APPEND)

    def trim(self) -> None:
        """Drop what there is where it has become much, lest a noisy program fill the disk."""
        if os.fstat(self._descriptor).st_size > _KEPT_BYTES:
            os.ftruncate(self._descriptor, 0)
            self._trimmed = True

    def last_line(self, mask: ToolMask) -> str:
        """The last line that says something, secrets masked; after `close` what it was then."""
        if self.stream.closed:
            return self._last_line
        try:
            size = os.fstat(self._descriptor).st_size
            data = os.pread(self._descriptor, _LAST_BYTES, max(0, size - _LAST_BYTES))
        except OSError:
            return self._last_line
        lines = mask.message(data.decode("utf-8", "replace")).splitlines()
        if size > _LAST_BYTES or self._trimmed:
            lines = lines[1:]  # its start, which may be that of a secret, is missing
        said = [line.strip() for line in lines if line.strip()]
        return said[-1][:_SHOWN] if said else ""

    def close(self, mask: ToolMask) -> None:
        """Keep the last line only."""
        self._last_line = self.last_line(mask)
        with contextlib.suppress(OSError):
            self.stream.close()
