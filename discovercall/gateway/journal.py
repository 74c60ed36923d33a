"""What arrived at the gateway, one line per request: the evidence for counting billed calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discovercall.foundation.errors import InputError
from discovercall.foundation.json_text import compact_bytes
from discovercall.foundation.jsonl import AppendFile

MAX_TURNED_AWAY = 1000


class RequestJournal:
    """Numbers requests and, where a file is given, appends a line for each before it is answered.

    Args:
        path: the file, appended to when it exists; None only counts.

    Raises:
        InputError: the file can't be opened.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._sequence = 0
        self._turned_away = 0
        self._file = _open(path) if path else None

    def arrived(self, **members: Any) -> int:
        """Record a request; its number, which starts at 1 with every process."""
        self._sequence += 1
        if self._file:
            self._file.append(compact_bytes({"seq": self._sequence, **members}) + b"\n", sync=False)
        return self._sequence

    def turned_away(self, **members: Any) -> int:
        """Record a request without the key; only the first get a line, so that the disk can't be filled."""
        self._turned_away += 1
        if self._turned_away <= MAX_TURNED_AWAY:
            return self.arrived(**members)
        self._sequence += 1
        return self._sequence

    def close(self) -> None:
        """Close the file."""
        if self._file:
            self._file.close()
            self._file = None


def _open(path: Path) -> AppendFile:
    try:
        try:
            return AppendFile.create(path)
        except FileExistsError:
            return AppendFile.reopen(path)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror or error})", where=str(path)) from None
