"""What keeps an adapter, a foreign program, from this process's secrets, and how much of it holds here."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from discovercall.adapter.exposure import Exposure
from discovercall.foundation.errors import InputError

Isolation = Literal["user", "same-user", "none"]

_PR_SET_DUMPABLE = 4
_PR_GET_DUMPABLE = 3
_ARG_START, _ARG_END = 45, 46  # fields of /proc/self/stat, counted from the state, which is 0
# Capabilities (Linux) that open other processes' memory and files: CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,
# CAP_SETUID, CAP_SYS_PTRACE, CAP_SYS_ADMIN.
_READS_ANYTHING = sum(1 << bit for bit in (1, 2, 7, 19, 21))


def prctl(option: int, value: int) -> int:
    """`prctl(2)`; -1 where there is no such function or the kernel refuses."""
    with contextlib.suppress(OSError, AttributeError):
        return int(ctypes.CDLL(None).prctl(option, value, 0, 0, 0))
    return -1


def hide_memory() -> bool:
    """Close this process's environment, memory and descriptors to others of the same user (Linux).

    Without it an adapter could read the API key from /proc. Root with its capabilities can still. Core dumps
    are off with it, too.

    Returns:
        Whether it holds.
    """
    prctl(_PR_SET_DUMPABLE, 0)
    return prctl(_PR_GET_DUMPABLE, 0) == 0


def mask_argument(argument: str) -> None:
    """Blank out an argument of this process's command line as others see it in /proc (Linux).

    For the path of a key file, which an adapter of the same user could read. Every occurrence as a whole
    argument, or after `=`, is overwritten in place.
    """
    value = os.fsencode(argument)
    if not value:
        return
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/self/stat", "rb") as stream:
            stat = stream.read()
        # The command name, in parentheses, may hold anything; what follows it is counted from the state on.
        fields = stat[stat.rindex(b")") + 2 :].split()
        start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
        arguments = ctypes.string_at(start, end - start)
        offset = 0
        for part in arguments.split(b"\0"):
            if part == value or part.endswith(b"=" + value):
                at = start + offset + len(part) - len(value)
                ctypes.memmove(at, b"x" * len(value), len(value))
            offset += len(part) + 1


@dataclass(frozen=True, slots=True)
class AdapterUser:
    """The account that adapters run as."""

    name: str
    uid: int
    gid: int
    home: str


def find_user(name: str) -> AdapterUser:
    """An account by name, that this process may change to.

    Raises:
        InputError: no such account, or this process may not become it.
    """
    import pwd

    where = "--adapter-user"
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise InputError(f"there is no user {name!r} here", where=where) from None
    if entry.pw_uid == 0:
        raise InputError("root can read everything", where=where, fix="name an unprivileged user")
    if os.geteuid() != 0 and entry.pw_uid != os.geteuid():
        raise InputError(f"only root can start adapters as {name}", where=where)
    return AdapterUser(name, entry.pw_uid, entry.pw_gid, entry.pw_dir)


def check_reachable(user: AdapterUser, files: Iterable[str]) -> None:
    """Refuse files that another account could not read, before anything is sent.

    Raises:
        InputError: names the first such file.
    """
    for file in files:
        found = subprocess.run(
            ["/bin/sh", "-c", 'test -r "$1"', "sh", file],
            user=user.uid,
            group=user.gid,
            extra_groups=[],
            env={},
            cwd="/",
            capture_output=True,
            check=False,
        )
        if found.returncode != 0:
            raise InputError(
                f"{user.name} cannot read {file}",
                where="--adapter-user",
                fix="install discovercall and the adapter where that user can read them",
            )


def isolation_level(user: AdapterUser | None, exposure: Exposure | None = None) -> Isolation:
    """How well the run's secrets are kept from its adapters; arguments as for `opening`.

    Returns:
        `user`: another account. `same-user`: the same one, but this process's memory is closed to it.
        `none`: nothing stops an adapter.
    """
    if user is not None and user.uid != os.geteuid():
        return "user"
    return "same-user" if opening(user, exposure) is None else "none"


def opening(user: AdapterUser | None, exposure: Exposure | None = None) -> str | None:
    """What lets an adapter reach the keys, in words; None where nothing is known to.

    Args:
        user: the account of the adapters; None for this process's own.
        exposure: another process of this account that gives the catalog key away.
    """
    if user is not None and user.uid != os.geteuid():
        return None
    if _effective_capabilities() & _READS_ANYTHING:
        return "this process has root's rights; run it as an unprivileged user, or give --adapter-user"
    if prctl(_PR_GET_DUMPABLE, 0) != 0:
        return "this system cannot close a process's memory; run it where another user can be the adapter's"
    if exposure is not None:
        return f"{exposure}; start that without it (--api-key-file - reads it from standard input)"
    return None


def _effective_capabilities() -> int:
    try:
        with open("/proc/self/status", "rb") as stream:
            for line in stream:
                if line.startswith(b"CapEff:"):
                    return int(line.split()[1], 16)
    except OSError:
        pass
    return 0 if os.geteuid() else -1
