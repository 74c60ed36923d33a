"""Everything an adapter started, found and ended, also what left its process group.

A descendant that opens a session of its own is found through its parents, as long as they live. Once they
are gone it is handed to the nearest reaper: `become_subreaper` makes this process that reaper, so that even
a twice-forked daemon is found. Without it (use as a library) such a daemon is beyond reach.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

from discovercall.adapter.isolation import prctl
from discovercall.adapter.process_table import (
    ProcessInfo,
    all_processes,
    own_children,
    send,
    send_group,
    ticks_since_boot,
)
from discovercall.adapter.watchdog import Watchdog

_PR_SET_CHILD_SUBREAPER = 36
_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")
_SWEEP_DELAYS_S = (0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128)  # 0.25 s in all
_WATCH_DELAYS_S = (0.01, 0.02, 0.04, 0.08)

_running: set[int] = set()
"""Process ids of the adapters that run now. It is the process's own, as its children are."""


class Nursery:
    """Tells orphans that came from adapters from all other children of this process.

    An orphan is a child that this process did not have when the nursery was opened, that started later, that
    is in another session than this process, and that is not in the session of a running adapter. A child that
    other code of this process starts in a session of its own looks the same: name it with `keep`.
    """

    def __init__(self) -> None:
        self._opened = ticks_since_boot()
        self._earlier = {child.identity for child in own_children()}
        self._kept: set[int] = set()
        self._session = os.getsid(0)
        self.watchdog: Watchdog | None = None

    def keep(self, pid: int) -> None:
        """Never touch this child."""
        self._kept.add(pid)

    def orphans(self) -> list[ProcessInfo]:
        """Living orphans; ended ones are reaped."""
        found = []
        for child in own_children():
            if not self._is_foreign(child):
                continue
            if child.ended:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(child.pid, os.WNOHANG)
            elif child.session not in _running:
                found.append(child)
        return found

    def _is_foreign(self, child: ProcessInfo) -> bool:
        return (
            child.pid not in _running
            and child.pid not in self._kept
            and child.identity not in self._earlier
            and child.started >= self._opened
            and child.session not in (self._session, 0)
        )


_nursery: Nursery | None = None


def become_subreaper() -> Nursery:
    """Make sure that nothing that an adapter starts outlives its decision or this process.

    Called once by a command line, before its first adapter: it concerns the whole process. Orphans of its
    descendants become its children (Linux), and a watchdog ends running adapters if this process is killed.
    """
    global _nursery
    if _nursery is None:
        prctl(_PR_SET_CHILD_SUBREAPER, 1)
        _nursery = Nursery()
        _nursery.watchdog = Watchdog.start()
        if _nursery.watchdog is not None:
            _nursery.keep(_nursery.watchdog.pid)
    return _nursery


class Family:
    """One running adapter, the leader of its own session, and all it started.

    Args:
        leader: process id, also the id of its group and session.
    """

    def __init__(self, leader: int) -> None:
        self.leader = leader
        self._known: set[tuple[int, int]] = set()
        self._sessions = {leader}
        self._own_session = os.getsid(0)
        _running.add(leader)
        if _nursery is not None and _nursery.watchdog is not None:
            _nursery.watchdog.add(leader)

    def close(self) -> None:
        """The leader was reaped: its number may be given to another process from now on."""
        _running.discard(self.leader)
        if _nursery is not None and _nursery.watchdog is not None:
            _nursery.watchdog.remove(self.leader)

    def alive(self) -> list[ProcessInfo]:
        """All living members, found by session, by parent, by having been seen, or as orphans."""
        everyone = all_processes()
        me = os.getpid()
        orphans = {orphan.pid for orphan in _nursery.orphans()} if _nursery is not None else set()
        children: dict[int, list[ProcessInfo]] = {}
        for process in everyone.values():
            children.setdefault(process.parent, []).append(process)
        open_members = [
            process
            for process in everyone.values()
            if process.session in self._sessions or process.identity in self._known or process.pid in orphans
        ]
        members: dict[int, ProcessInfo] = {}
        while open_members:
            process = open_members.pop()
            if process.pid in members or process.pid == me:
                continue
            members[process.pid] = process
            open_members += children.get(process.pid, [])
        self._known |= {process.identity for process in members.values()}
        self._sessions |= {process.session for process in members.values()} - {self._own_session, 0}
        return [process for process in members.values() if not process.ended]

    async def ask_to_end(self, grace_s: float) -> None:
        """SIGTERM to all members; returns when none is left, at the latest after `grace_s` seconds."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace_s
        members = self.alive()
        send_group(self.leader, signal.SIGTERM)
        send((member for member in members if member.group != self.leader), signal.SIGTERM)
        delays = iter(_WATCH_DELAYS_S)
        while members and loop.time() < deadline:
            await asyncio.sleep(min(next(delays, _WATCH_DELAYS_S[-1]), max(0.0, deadline - loop.time())))
            members = self.alive()

    def kill_now(self) -> list[ProcessInfo]:
        """SIGKILL to every living member; returns them."""
        members = self.alive()
        send_group(self.leader, signal.SIGKILL)
        send(members, signal.SIGKILL)
        return members

    def resident_bytes(self) -> int:
        """Memory that the living members hold; pages that they share count for each."""
        return sum(member.resident_pages for member in self.alive()) * _PAGE_SIZE

    def kill_group(self) -> None:
        """SIGKILL to what is left of the process group, while the leader is not reaped."""
        send_group(self.leader, signal.SIGKILL)

    async def sweep(self) -> None:
        """Kill until nothing is left; once the leader has ended. A quarter of a second at most."""
        if _nursery is not None and not self._known and not _nursery.orphans():
            return  # every survivor of an ended leader would be an orphan of ours, or below one
        for delay in _SWEEP_DELAYS_S:
            members = self.alive()
            if not members:
                return
            send(members, signal.SIGKILL)
            await asyncio.sleep(delay)
