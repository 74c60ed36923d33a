"""Files written whole or not at all, and the question whether two paths are one file."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from discovercall.foundation.errors import InputError


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
        InputError: no file name, no such folder, or something there that is no regular file.
    """
    if not path.name or "\0" in str(path):
        raise InputError("must name a file", where=where)
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist", where=where, fix="create it")
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        raise InputError(f"{path} is no regular file", where=where, fix="name another file")


def same_file(left: Path, right: Path) -> bool:
    """True when both paths name one file: the same path after links, or the same inode."""
    if left.resolve() == right.resolve():
        return True
    try:
        return left.samefile(right)
    except OSError:
        return False
