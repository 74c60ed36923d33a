"""Whether an adapter's command can be started at all: judged before the first request is sent."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from discovercall.foundation.errors import InputError

_WHERE = "--adapter"


def check_startable(command: Sequence[str], search_path: str | None = None) -> list[str]:
    """The command with its program as an absolute path, for a decision runs in a folder of its own.

    A script without `#!` is fine: it runs through /bin/sh.

    Args:
        command: program and arguments. A program with a slash is a path, else it is looked up.
        search_path: where to look it up; the adapter's PATH.

    Raises:
        InputError: no such program, not executable, or its `#!` names an interpreter that isn't there.
    """
    if not command or not command[0]:
        raise InputError(
            "no adapter is given", where=_WHERE, fix="give a command or a bundled adapter's name"
        )
    if any("\0" in part for part in command):
        raise InputError("a NUL character in the command", where=_WHERE)
    program = _located(command[0], search_path)
    _check_interpreter(program)
    return [program, *command[1:]]


def _located(name: str, search_path: str | None) -> str:
    if os.sep not in name:
        found = shutil.which(name, path=search_path)
        if found is None:
            raise InputError(
                f"{name}: no such command",
                where=_WHERE,
                fix="give a path, a command on PATH, or a name that `discovercall adapters` lists",
            )
        return os.path.abspath(found)
    if not os.path.exists(name):
        raise InputError(f"{name}: no such file", where=_WHERE)
    if os.path.isdir(name):
        raise InputError(f"{name} is a folder", where=_WHERE, fix="give the program in it")
    if not os.access(name, os.X_OK):
        raise InputError(f"{name} is not executable", where=_WHERE, fix=f"chmod +x {name}")
    return os.path.abspath(name)


def _check_interpreter(program: str) -> None:
    try:
        with open(program, "rb") as stream:
            first_line = stream.read(256).split(b"\n", 1)[0]
    except OSError:  # executable but not readable: the system will tell
        return
    if not first_line.startswith(b"#!"):
        return
    interpreter = os.fsdecode(first_line[2:].lstrip(b" \t").split(b" ", 1)[0].split(b"\t", 1)[0])
    if interpreter.endswith("\r"):
        raise InputError(
            f"{program}: the #! line ends in a carriage return", where=_WHERE, fix="use \\n line ends"
        )
    if not os.access(interpreter, os.X_OK):
        raise InputError(f"{program}: its interpreter {interpreter} cannot be run", where=_WHERE)
