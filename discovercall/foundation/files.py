"""Files written whole or not at all, and the question whether two paths are one file."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from discovercall.foundation.errors import InputError

INPUT_LIMIT = 1 << 30
"""Bytes that an input may have."""

_PIPES = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")


def open_input(path: Path, limit: int = INPUT_LIMIT) -> BinaryIO:
    """Open a regular file for reading, or a pipe that this process was given: `/dev/stdin` or `/dev/fd/N`.

    A named pipe would be waited for, and a device has no end.

    Args:
        path: the file.
        limit: bytes that it may have; of a pipe the reader has to count them.

    Raises:
        OSError: it can't be opened, is something else, or is too large.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(found.st_mode) and not _is_given_pipe(path, descriptor, found):
            raise OSError(errno.EINVAL, "no regular file", str(path))
        if found.st_size > limit:
            raise _too_large(path, limit)
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_input(path: Path, limit: int = INPUT_LIMIT) -> bytes:
    """The whole content of what `open_input` opens.

    Raises:
        OSError: as `open_input`; also where it turns out to be longer than the limit.
    """
    with open_input(path, limit) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise _too_large(path, limit)
    return data


class ExposedFile(Exception):
    """Others than its owner can get at a file that holds a secret."""


def read_private(path: Path, limit: int) -> bytes:
    """Read a secret from a file that only its owner can get at, or from a pipe.

    Args:
        path: the file.
        limit: most bytes that are read.

    Raises:
        OSError: it can't be read.
        ExposedFile: others can get at it.
    """
    with path.open("rb") as stream:
        found = os.fstat(stream.fileno())
        if stat.S_ISREG(found.st_mode) and found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ExposedFile
        return stream.read(limit)


def _is_given_pipe(path: Path, descriptor: int, found: os.stat_result) -> bool:
    if not str(path).startswith(_PIPES):
        return False
    return stat.S_ISFIFO(found.st_mode) or os.isatty(descriptor) or _is_null(found)


def _is_null(found: os.stat_result) -> bool:
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == os.stat(os.devnull).st_rdev


def _too_large(path: Path, limit: int) -> OSError:
    return OSError(errno.EFBIG, f"larger than {limit} bytes", str(path))


def sync_folder(folder: Path) -> None:
    """Make renames inside a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomic(path: Path, data: bytes | Iterable[bytes], *, mode: int = 0o600) -> None:
    """Write a file so that a crash leaves the old content or the new, never a mixture.

    Args:
        path: the file; its folder must exist.
        data: its whole content, or the pieces of it in order.
        mode: permission bits of the new file.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            for piece in (data,) if isinstance(data, bytes) else data:
                stream.write(piece)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
    sync_folder(path.parent)


def check_replaceable(path: Path, where: str) -> None:
    """Refuse a path that a written file could not, or must not, take.

    Args:
        path: what is to be written.
        where: how the error names it, for instance a flag.

    Raises:
        InputError: no file name, no such folder, or something there that is no regular file or that may have
            been paid for.
    """
    if not path.name or "\0" in str(path):
        raise InputError("must name a file", where=where)
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist", where=where, fix="create it")
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        raise InputError(f"{path} is no regular file", where=where, fix="name another file")
    if path.suffix == ".jsonl" and os.path.lexists(path):
        raise InputError(f"{path} may be a run's records or ledger", where=where, fix="name another file")


def same_file(left: Path, right: Path) -> bool:
    """True when both paths name one file: the same path after links, or the same inode."""
    if left.resolve() == right.resolve():
        return True
    try:
        return left.samefile(right)
    except OSError:
        return False
