"""Whether programs of the same user hold the catalog key where an adapter of that user could read it."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass

from discovercall.adapter.process_table import all_processes
from discovercall.foundation.shown import shown_line

_SHORTEST = 8
"""Characters of a key that is looked for; a shorter one would be found by chance."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """A process that gives the key away.

    Attributes:
        pid: its id.
        program: its short name.
        place: `environment` or `command line`.
    """

    pid: int
    program: str
    place: str

    def __str__(self) -> str:
        return f"process {self.pid} ({shown_line(self.program)}) has it in its {self.place}"


def find_exposure(key: str, key_file: str | None = None) -> Exposure | None:
    """The first other process whose environment or command line leads this user to the key (Linux).

    What started the run (a shell, `timeout`, `make`) may still have it. This process's own are left out:
    they are hidden.

    Args:
        key: the catalog key.
        key_file: where it was read from, as it was said; a pipe gives it once only.
    """
    the_key = [re.escape(os.fsencode(key))] if len(key) >= _SHORTEST else []
    the_file = [rb"(?<![\w./-])" + re.escape(path) + rb"(?![\w./-])" for path in _path(key_file)]
    places = (("environment", "environ", the_key), ("command line", "cmdline", the_key + the_file))
    for pid in sorted(all_processes()):
        if pid == os.getpid():
            continue
        for place, file, wanted in places:
            data = _read(pid, file)
            if any(re.search(one, data) for one in wanted):
                return Exposure(pid, _read(pid, "comm").decode("utf-8", "replace").strip(), place)
    return None


def _path(key_file: str | None) -> list[bytes]:
    try:
        regular = key_file is not None and stat.S_ISREG(os.stat(key_file).st_mode)
    except OSError:
        regular = False
    return [os.fsencode(str(key_file))] if regular else []


def _read(pid: int, file: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{file}", "rb") as stream:
            return stream.read()
    except OSError:
        return b""
