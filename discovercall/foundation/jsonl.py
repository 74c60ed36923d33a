"""JSON Lines: reading with the line number in every error, and appending durably."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discovercall.foundation.ecma_json import BYTE_ORDER_MARK, JsonError, loads
from discovercall.foundation.ecmascript import is_blank
from discovercall.foundation.errors import InputError
from discovercall.foundation.files import INPUT_LIMIT, open_input, read_input
from discovercall.foundation.json_text import compact_lines


@dataclass(frozen=True, slots=True)
class Line:
    """One JSON line: its 1-based number and its value."""

    number: int
    value: Any


def split_lines(text: str) -> list[str]:
    """Lines end at \\n or \\r\\n only; other separators belong to the line."""
    return [line.removesuffix("\r") for line in text.split("\n")]


def parse_lines(text: str, path: str, *, comments: bool = False) -> Iterator[Line]:
    """Parse JSON Lines; blank lines are skipped, and lines that start with `#` where `comments` is true.

    Raises:
        InputError: a line is no JSON; names `path` and the line.
    """
    for number, line in enumerate(split_lines(text.removeprefix(BYTE_ORDER_MARK)), 1):
        if is_blank(line) or (comments and line.lstrip().startswith("#")):
            continue
        yield Line(number, _value(line, f"{path}:{number}"))


def _value(line: str, where: str) -> Any:
    try:
        return loads(line)
    except JsonError as error:
        raise InputError(f"not valid JSON ({error})", where=where) from None


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError("must be a JSON object", where=where)
    return value


def read_text(path: Path, limit: int = INPUT_LIMIT) -> tuple[str, bytes]:
    """Read a UTF-8 file once: its text and its bytes.

    Args:
        path: a regular file, or a pipe that this process was given.
        limit: bytes that it may have.

    Raises:
        InputError: the file can't be read or is no UTF-8.
    """
    try:
        data = read_input(path, limit)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", where=str(path)) from None
    try:
        return data.decode("utf-8"), data
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _not_utf8(f"{path}:{line}") from None


def read_objects(path: Path) -> list[dict[str, Any]]:
    """Read a JSON Lines file of objects.

    Raises:
        InputError: names file and line of the first line that is no JSON object.
    """
    text, _ = read_text(path)
    return [_object(line.value, f"{path}:{line.number}") for line in parse_lines(text, str(path))]


def stream_objects(path: Path) -> Iterator[dict[str, Any]]:
    """Read a JSON Lines file of objects line by line, so that it need not fit into memory.

    Raises:
        InputError: as `read_objects`, but at the first line that is wrong in any way, when it is reached.
    """
    from discovercall.foundation.quick_json import quick_loads

    name = str(path)
    try:
        with open_input(path) as stream:
            for number, data in enumerate(stream, 1):
                try:
                    value = quick_loads(data)
                except JsonError:
                    line = _decoded(data, f"{name}:{number}")
                    if number == 1:
                        line = line.removeprefix(BYTE_ORDER_MARK)
                    if is_blank(line):
                        continue
                    value = _value(line, f"{name}:{number}")
                yield value if isinstance(value, dict) else _object(value, f"{name}:{number}")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", where=name) from None


def _decoded(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise _not_utf8(where) from None


def _not_utf8(where: str) -> InputError:
    return InputError("not valid UTF-8", where=where, fix="save the file as UTF-8")


def dump_lines(values: list[dict[str, Any]]) -> bytes:
    """Compact JSON Lines with a final newline."""
    return b"".join(compact_lines(values))


_FLAGS = os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


class AppendFile:
    """A file of mode 0600 that only grows."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self._path = path
        self._size = os.fstat(descriptor).st_size

    @classmethod
    def create(cls, path: Path) -> AppendFile:
        """Create the file and lock it; an existing one is refused with FileExistsError."""
        return cls._locked(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600), path)

    @classmethod
    def reopen(cls, path: Path) -> AppendFile:
        """Open an existing file for appending and lock it.

        Raises:
            BlockingIOError: another process has it open.
            OSError: it can't be opened, or is no regular file; a named pipe is not waited for.
        """
        return cls._locked(os.open(path, os.O_WRONLY | os.O_NONBLOCK | _FLAGS), path)

    @classmethod
    def _locked(cls, descriptor: int, path: Path) -> AppendFile:
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "no regular file", str(path))
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        return cls(descriptor, path)

    def truncate(self, size: int) -> None:
        """Drop everything after `size` bytes."""
        os.ftruncate(self._descriptor, size)
        self._size = size

    @property
    def size(self) -> int:
        """Bytes that the file had when it was opened, or has by what was done here since."""
        return self._size

    @property
    def intact(self) -> bool:
        """Whether the path still leads to this file, and nobody else made it longer or shorter."""
        try:
            own, found = os.fstat(self._descriptor), os.stat(self._path, follow_symlinks=False)
        except OSError:
            return False
        same = (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino)
        return same and own.st_size == self._size

    def append(self, data: bytes, *, sync: bool) -> None:
        """Write the bytes whole; with `sync` return only when they, and all before them, are on disk."""
        view = memoryview(data)
        while view:
            written = os.write(self._descriptor, view)
            self._size += written
            view = view[written:]
        if sync:
            os.fdatasync(self._descriptor)

    def close(self) -> None:
        """Close the descriptor; later appends fail."""
        os.close(self._descriptor)
