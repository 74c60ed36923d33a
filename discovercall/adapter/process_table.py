"""A look at the system's processes through /proc. Where there is no /proc, there is nothing to see: killing
then reaches the adapter's process group only."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """One process: its id, its parent's, its group's and its session's, its start in clock ticks since boot,
    whether it has ended but was not reaped yet, and the pages of memory that it holds."""

    pid: int
    parent: int
    group: int
    session: int
    started: int
    ended: bool
    resident_pages: int = 0

    @property
    def identity(self) -> tuple[int, int]:
        """The id together with the start, which no later process with a reused id shares."""
        return self.pid, self.started


def read_process(pid: int) -> ProcessInfo | None:
    """One process, or None where it is gone or hidden."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as stream:
            data = stream.readall()
    except OSError:
        return None
    # The command name, in parentheses, may hold anything; fixed fields follow the last parenthesis.
    fields = data[data.rfind(b")") + 2 :].split()
    if len(fields) < 22:
        return None
    return ProcessInfo(
        pid=pid,
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        started=int(fields[19]),
        ended=fields[0] in (b"Z", b"X"),
        resident_pages=int(fields[21]),
    )


def all_processes() -> dict[int, ProcessInfo]:
    """Every process that can be seen, by id."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return {}
    found = (read_process(int(name)) for name in names if name.isdigit())
    return {process.pid: process for process in found if process is not None}


def own_child_ids() -> list[int]:
    """Process ids of the direct children of this process, ended ones included."""
    me = os.getpid()
    pids: list[int] | None = None
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{me}/task"):
            with open(f"/proc/{me}/task/{thread}/children", "rb", buffering=0) as stream:
                pids = (pids or []) + [int(pid) for pid in stream.readall().split()]
    if pids is None:  # a kernel without `children`
        return [process.pid for process in all_processes().values() if process.parent == me]
    return pids


def own_children() -> Iterator[ProcessInfo]:
    """Direct children of this process, ended ones included, each read right before it is handed out."""
    me = os.getpid()
    for pid in own_child_ids():
        process = read_process(pid)
        if process is not None and process.parent == me:
            yield process


def ticks_since_boot() -> int:
    """Now, in the unit of `ProcessInfo.started`."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return int(time.clock_gettime(clock) * os.sysconf("SC_CLK_TCK")) if clock is not None else 0


def send(processes: Iterable[ProcessInfo], signal_number: signal.Signals) -> None:
    """Signal each process that is still the same one."""
    for process in processes:
        seen = read_process(process.pid)
        if seen is not None and seen.identity == process.identity:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal_number)


def send_group(group: int, signal_number: signal.Signals) -> None:
    """Signal a whole process group, if anything is left of it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal_number)
