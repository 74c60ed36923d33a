"""Removes what an adapter left in its scratch folder, however deep it is nested."""

from __future__ import annotations

import contextlib
import os
import stat

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(folder: str) -> None:
    """Remove a folder and all that is in it; what can't be removed stays, and nothing is raised.

    Works without recursion, without long paths and with two descriptors: folders in folders are moved up to
    the top, one level at a time. Symbolic links are removed, not followed.
    """
    with contextlib.suppress(OSError):
        top = os.open(folder, _OPEN)
        try:
            _empty(top)
        finally:
            os.close(top)
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def _empty(top: int) -> None:
    os.fchmod(top, stat.S_IRWXU)
    stuck: set[str] = set()
    moved = 0
    while folders := [name for name in _remove_files(top) if name not in stuck]:
        for name in folders:
            with contextlib.suppress(OSError):
                os.chmod(name, stat.S_IRWXU, dir_fd=top)
            try:
                moved = _lift_folders(name, top, moved)
                os.rmdir(name, dir_fd=top)
            except OSError:
                stuck.add(name)


def _lift_folders(name: str, top: int, moved: int) -> int:
    """Empty one folder of the top, its own folders going up to the top under new names."""
    descriptor = os.open(name, _OPEN, dir_fd=top)
    try:
        for inner in _remove_files(descriptor):
            with contextlib.suppress(OSError):  # to move a folder, one must be able to write to it
                os.chmod(inner, stat.S_IRWXU, dir_fd=descriptor)
            moved = _free_number(top, moved)
            os.rename(inner, f"lifted-{moved}", src_dir_fd=descriptor, dst_dir_fd=top)
    finally:
        os.close(descriptor)
    return moved


def _free_number(top: int, last: int) -> int:
    number = last + 1
    while True:
        try:
            os.stat(f"lifted-{number}", dir_fd=top, follow_symlinks=False)
        except OSError:
            return number
        number += 1


def _remove_files(descriptor: int) -> list[str]:
    """Remove what is no folder from an open folder; the names of its folders."""
    folders = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                else:
                    os.unlink(entry.name, dir_fd=descriptor)
            except OSError:
                continue
    return folders
