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
import time
from collections.abc import Iterator

from discovercall.adapter.isolation import prctl
from discovercall.adapter.process_table import (
    ProcessInfo,
    all_processes,
    own_child_ids,
    own_children,
    read_process,
    send,
    send_group,
    ticks_since_boot,
)
from discovercall.adapter.watchdog import Watchdog

_PR_SET_CHILD_SUBREAPER = 36
_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")
_SWEEP_DELAYS_S = (0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128)  # 0.25 s in all
_SWEEP_S = 1.0
_QUIET_S = 0.005
_QUIET_LOOKS = 5
_SLICE_S = 0.02
_FREEZE_S = 0.2
_STORM_CHILDREN = 256
_SWEEP_PAUSE_S = 0.001
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
        self._spared = {pid for pid, _ in self._earlier}
        self._session = os.getsid(0)
        self._paused = 0
        self.watchdog: Watchdog | None = None

    def keep(self, pid: int) -> None:
        """Never touch this child."""
        self._kept.add(pid)
        self._spared.add(pid)

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """While this program starts a child of its own: no orphan is looked for, and what is new is kept.

        A process that was there before is no new child, even when it becomes one by losing its parent.
        """
        before = set(all_processes())
        self._paused += 1
        try:
            yield
        finally:
            for pid in own_child_ids():
                if pid not in before and pid not in _running:
                    self.keep(pid)
            self._paused -= 1

    def orphans(self) -> Iterator[ProcessInfo]:
        """Living orphans, each read right before it is handed out; ended ones are reaped."""
        return (child for child in self._strays() if not child.ended)

    def _strays(self) -> Iterator[ProcessInfo]:
        """Orphans, living or just reaped."""
        for child in () if self._paused else own_children():
            if not self._is_foreign(child):
                continue
            if child.ended:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(child.pid, os.WNOHANG)
            if child.session not in _running:
                yield child

    def sweep(self, seconds: float) -> bool:
        """Kill orphans until none is left; for the end of a run.

        Args:
            seconds: how long at most. It returns at once where there is none.

        Returns:
            Whether none is left.
        """
        for pause in self.sweeping(seconds):
            time.sleep(pause)
        return next(self.orphans(), None) is None

    def sweeping(self, seconds: float) -> Iterator[float]:
        """Sweep step by step: each item is a pause to make, in seconds.

        In a chain of processes that each fork and exit, every one is a new orphan. The chain is beaten by
        looking faster than it forks, for a process with a signal pending cannot fork; so there is no pause
        while it lasts, but for one in every `_SLICE_S` seconds. An orphan that has just ended counts too: it
        may have been seen too late, with the chain's next one on its way.
        """
        if not self._any():
            return
        now = time.monotonic()
        deadline, pause_at, last_seen, empty_looks = now + seconds, now + _SLICE_S, now, 0
        killed: set[tuple[int, int]] = set()
        while now < deadline:
            frozen: set[int] = set()
            freeze_until = min(now + _FREEZE_S, deadline)
            active = False
            while self._freeze(frozen) and time.monotonic() < freeze_until:
                active = True
            orphans = list(self._strays())
            new = [orphan for orphan in orphans if orphan.ended or orphan.identity not in killed]
            for orphan in new:
                killed.add(orphan.identity)
                self._kill(orphan)
            self._release(frozen - {orphan.pid for orphan in orphans})
            now = time.monotonic()
            if new or active:
                last_seen, empty_looks = now, 0
            else:
                empty_looks += 1
            if now - last_seen >= _QUIET_S and empty_looks >= _QUIET_LOOKS:
                if not orphans:
                    return
                yield _SWEEP_PAUSE_S  # those that are left have yet to end
            elif now >= pause_at:
                yield 0.0
                pause_at = time.monotonic() + _SLICE_S

    def _freeze(self, frozen: set[int]) -> bool:
        """Stop every child that may be an orphan; whether there was one that is not among `frozen` yet.

        A full look at a process takes longer than a fork, so it comes after this.
        """
        before, reaped = len(frozen), False
        for pid in () if self._paused else own_child_ids():
            if pid in self._spared or pid in frozen:
                continue
            with contextlib.suppress(OSError):
                session = os.getsid(pid)
                if session not in (self._session, 0) and session not in _running:
                    os.kill(pid, signal.SIGSTOP)
                    if os.waitpid(pid, os.WNOHANG)[0] == 0:  # else it had ended: thousands may have
                        frozen.add(pid)
                    else:
                        reaped = True
        return reaped or len(frozen) > before

    def _release(self, pids: set[int]) -> None:
        """Let children go on that were no orphans after all."""
        for pid in pids:
            found = read_process(pid)
            if found is not None and found.parent == os.getpid() and not self._is_foreign(found):
                self._spared.add(pid)
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGCONT)

    def _any(self) -> bool:
        """Whether there is an orphan; looks twice, for one that is being handed over can be missed."""
        return any(next(self._strays(), None) is not None for _ in range(2))

    def _kill(self, orphan: ProcessInfo) -> None:
        if orphan.ended:
            return
        # Its number can't have passed to another process: it is a child that was not reaped.
        try:
            os.kill(orphan.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        except PermissionError:
            self._earlier.add(orphan.identity)  # not ours to end, and no reason to wait for it again

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
    descendants become its children (Linux), and a watchdog ends running adapters, and removes their scratch
    folders, if this process is killed.
    """
    global _nursery
    if _nursery is None:
        prctl(_PR_SET_CHILD_SUBREAPER, 1)
        _nursery = Nursery()
        _nursery.watchdog = Watchdog.start()
        if _nursery.watchdog is not None:
            _nursery.keep(_nursery.watchdog.pid)
    return _nursery


def starting_own_child() -> contextlib.AbstractContextManager[None]:
    """Hold it while this program starts a child that is no adapter, lest it be taken for an orphan."""
    return contextlib.nullcontext() if _nursery is None else _nursery.starting()


def watch(entry: int | str) -> None:
    """Tell the watchdog, where there is one, of a process group or of a scratch folder's name."""
    if _nursery is not None and _nursery.watchdog is not None:
        _nursery.watchdog.add(entry)


def unwatch(entry: int | str) -> None:
    """Take back what `watch` told."""
    if _nursery is not None and _nursery.watchdog is not None:
        _nursery.watchdog.remove(entry)


def _is_storm() -> bool:
    """Whether orphans come and go so fast that looking at each would take longer than they take to come."""
    return _nursery is not None and len(own_child_ids()) > _STORM_CHILDREN


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
        watch(leader)

    def close(self) -> None:
        """The leader was reaped: its number may be given to another process from now on."""
        _running.discard(self.leader)
        unwatch(self.leader)

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
        if _is_storm():
            return
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace_s
        members = self.alive()
        send_group(self.leader, signal.SIGTERM)
        send((member for member in members if member.group != self.leader), signal.SIGTERM)
        delays = iter(_WATCH_DELAYS_S)
        while members and loop.time() < deadline and not _is_storm():
            await asyncio.sleep(min(next(delays, _WATCH_DELAYS_S[-1]), max(0.0, deadline - loop.time())))
            members = self.alive()

    def kill_now(self) -> list[ProcessInfo]:
        """SIGKILL to every living member; returns them, but in a storm, which only a sweep ends."""
        members = [] if _is_storm() else self.alive()
        send_group(self.leader, signal.SIGKILL)
        send(members, signal.SIGKILL)
        return members

    def resident_bytes(self) -> int:
        """Memory that the living members hold; pages that they share count for each."""
        members = [] if _is_storm() else self.alive()
        return sum(member.resident_pages for member in members) * _PAGE_SIZE

    def kill_group(self) -> None:
        """SIGKILL to what is left of the process group, while the leader is not reaped."""
        send_group(self.leader, signal.SIGKILL)

    async def sweep(self) -> None:
        """Kill until nothing is left; once the leader has ended. A second at most."""
        if _nursery is not None:  # every survivor of an ended leader is an orphan of ours, or below one
            for pause in _nursery.sweeping(_SWEEP_S):
                await asyncio.sleep(pause)
            return
        for delay in _SWEEP_DELAYS_S:
            members = self.alive()
            if not members:
                return
            send(members, signal.SIGKILL)
            await asyncio.sleep(delay)
