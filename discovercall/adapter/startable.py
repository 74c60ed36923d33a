"""Whether an adapter's command can be started at all: judged before the first request is sent."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence

from discovercall.foundation.errors import InputError

_WHERE = "--adapter"
_MOST_INTERPRETERS = 5  # an interpreter may be a script itself, so deep in Linux
_ASSIGNMENT = re.compile(r"[^=]+=.*", re.DOTALL)
_ENV_OPTIONS_WITH_VALUE = ("-u", "--unset", "-C", "--chdir")


def check_startable(command: Sequence[str], search_path: str | None = None) -> list[str]:
    """The command with its program as an absolute path, for a decision runs in a folder of its own.

    A script without `#!` is fine: it runs through /bin/sh.

    Args:
        command: program and arguments. A program with a slash is a path, else it is looked up.
        search_path: where to look it up; the adapter's PATH.

    Raises:
        InputError: no such program, not executable, or its `#!` names an interpreter that isn't there, itself
            or through `env`.
    """
    if not command or not command[0]:
        raise InputError(
            "no adapter is given", where=_WHERE, fix="give a command or a bundled adapter's name"
        )
    if any("\0" in part for part in command):
        raise InputError("a NUL character in the command", where=_WHERE)
    program = _located(command[0], search_path)
    _check_interpreter(program, search_path)
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


def _check_interpreter(program: str, search_path: str | None) -> None:
    script: str | None = program
    for _ in range(_MOST_INTERPRETERS):
        if script is None:
            return
        script = _interpreter(script, program, search_path)


def _interpreter(script: str, program: str, search_path: str | None) -> str | None:
    """The program that runs a script, as a path; None for a file that is no script, or can't be judged."""
    try:
        with open(script, "rb") as stream:
            first_line = stream.read(256).split(b"\n", 1)[0]
    except OSError:  # executable but not readable: the system will tell
        return None
    if not first_line.startswith(b"#!"):
        return None
    interpreter, _, argument = os.fsdecode(first_line[2:]).strip(" \t").replace("\t", " ").partition(" ")
    if first_line.endswith(b"\r"):
        raise InputError(
            f"{program}: the #! line ends in a carriage return", where=_WHERE, fix="use \\n line ends"
        )
    if not _is_runnable(interpreter):
        raise InputError(f"{program}: its interpreter {interpreter} cannot be run", where=_WHERE)
    if os.path.basename(interpreter) != "env":
        return interpreter
    return _found_by_env(argument.strip(" "), program, search_path)


def _found_by_env(argument: str, program: str, search_path: str | None) -> str | None:
    """What `env` would start, its whole argument being one word unless `-S` splits it."""
    name = _name_for_env(argument)
    if name is None:
        return None
    by_path = os.sep in name
    found = (name if _is_runnable(name) else None) if by_path else shutil.which(name, path=search_path)
    if found is None:
        fix = "install it, or give its full path in the #! line"
        if " " in name:
            fix = "write `env -S` in the #! line to give arguments"
        raise InputError(
            f"{program}: its interpreter {name} is not on the adapter's PATH", where=_WHERE, fix=fix
        )
    return found


def _name_for_env(argument: str) -> str | None:
    """The command in the argument of `env`; None where there is none, or it can't be told from here."""
    if not argument.startswith("-"):
        return argument if argument and not _ASSIGNMENT.fullmatch(argument) else None
    split = re.match(r"(?:-[v]*S|--split-string[= ])\s*", argument)
    if split is None:
        return None
    try:
        words = iter(shlex.split(argument[split.end() :]))
    except ValueError:
        return None
    for word in words:
        if word in _ENV_OPTIONS_WITH_VALUE:
            next(words, None)
        elif word in ("-", "-i", "--ignore-environment") or word.startswith(("PATH=", "-P")):
            return None  # another PATH than the adapter's
        elif not word.startswith("-") and not _ASSIGNMENT.fullmatch(word):
            return None if "$" in word else word
    return None


def _is_runnable(path: str) -> bool:
    """Whether it can be run from any folder."""
    return os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK)
