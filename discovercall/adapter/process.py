"""Runs one adapter process for one decision, with limits, and leaves nothing of it behind."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import resource
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TypeAlias, cast

from discovercall.adapter.failures import AdapterFailure, reported_code
from discovercall.adapter.family import Family, unwatch, watch
from discovercall.adapter.isolation import AdapterUser
from discovercall.adapter.pipes import InputPipe, OutputPipe
from discovercall.adapter.removal import remove_tree
from discovercall.adapter.watchdog import SCRATCH_PREFIX

KILL_GRACE_S = 1.0
_REAP_DELAYS_S = (0.0, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128)
_POLL_S = 0.01
_MEMORY_POLL_S = 0.5

_Pipes: TypeAlias = tuple[IO[bytes], IO[bytes], IO[bytes]]


@dataclass(frozen=True, slots=True)
class AdapterLimits:
    """What an adapter may use.

    Args:
        stdout_characters: of standard output, in UTF-16 units of the decoded text; so is the next.
        stderr_characters: of standard error.
        memory_bytes: resident memory of the adapter and all that it started.
        file_bytes: size of one file that it writes.
        open_files: descriptors of one process.
    """

    stdout_characters: int = 1_000_000
    stderr_characters: int = 100_000
    memory_bytes: int = 2 * 2**30
    file_bytes: int = 64 * 2**20
    open_files: int = 1024


@dataclass(frozen=True, slots=True)
class AdapterResult:
    """What an adapter that exited with 0 wrote to standard output."""

    stdout: bytes


DEFAULT_LIMITS = AdapterLimits()


async def run_adapter(
    command: Sequence[str],
    payload: bytes,
    *,
    env: Mapping[str, str],
    timeout_s: float,
    limits: AdapterLimits = DEFAULT_LIMITS,
    cwd: str | None = None,
    user: AdapterUser | None = None,
) -> AdapterResult:
    """Run one decision: start the adapter, feed it the request, wait for its exit.

    What counts is the exit of the process, not the end of its output: a child that keeps the output open
    delays nothing. Whatever the adapter started is ended with it; past a limit, and when the caller is
    cancelled, with SIGTERM first and SIGKILL a second later. POSIX only.

    Args:
        command: program (a path) and arguments, as `check_startable` gave them; no shell is involved.
        payload: the request, as bytes.
        env: the whole environment, as `adapter_environment` built it.
        timeout_s: seconds that the decision may take, of any size.
        limits: how much it may write.
        cwd: working folder; a fresh empty one, removed afterwards, where it is None.
        user: the account to run as; this process's own where it is None.

    Raises:
        AdapterFailure: `start_failed`, `timeout`, `stdout_limit`, `stderr_limit`, `process_exit`, or the code
            that the adapter reported.
    """
    try:
        folder = cwd or _scratch_folder(user)
    except OSError:
        raise AdapterFailure("start_failed") from None
    try:
        process = _start(command, env, folder, user)
        _limit(process.pid, limits)
        return await _Decision(process, payload, limits).result(timeout_s)
    finally:
        if cwd is None:
            await _remove(folder)


def _scratch_folder(user: AdapterUser | None) -> str:
    folder = tempfile.mkdtemp(prefix=SCRATCH_PREFIX)
    watch(os.path.basename(folder))
    if user is not None:
        os.chown(folder, user.uid, user.gid)
    return folder


def _limit(pid: int, limits: AdapterLimits) -> None:
    """Set from outside: code between fork and exec isn't safe in a process with threads."""
    for kind, value in (
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(
            OSError, ValueError, AttributeError
        ):  # ended already, a lower limit, no Linux
            resource.prlimit(pid, kind, (value, value))


async def _remove(folder: str) -> None:
    """Remove a scratch folder; one that can't be removed never changes the outcome of its decision."""
    try:
        os.rmdir(folder)
    except OSError:  # something was left in it, perhaps much
        await asyncio.to_thread(remove_tree, folder)
    unwatch(os.path.basename(folder))


def _start(
    command: Sequence[str], env: Mapping[str, str], cwd: str, user: AdapterUser | None
) -> subprocess.Popen[bytes]:
    try:
        return _spawn(command, env, cwd, user)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise AdapterFailure("start_failed") from None
    except ValueError:  # a NUL character in an argument or a variable
        raise AdapterFailure("start_failed") from None
    try:
        return _spawn(["/bin/sh", *command], env, cwd, user)  # a script without #!, as execvp does it
    except OSError:
        raise AdapterFailure("start_failed") from None


def _spawn(
    command: Sequence[str], env: Mapping[str, str], cwd: str, user: AdapterUser | None
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        close_fds=True,
        start_new_session=True,
        cwd=cwd,
        env=dict(env) if user is None else {**env, "HOME": user.home},
        user=None if user is None else user.uid,
        group=None if user is None else user.gid,
        extra_groups=None if user is None else [],
    )


class _Decision:
    """A running adapter: its pipes, its family, and what ended it."""

    def __init__(self, process: subprocess.Popen[bytes], payload: bytes, limits: AdapterLimits) -> None:
        stdin, stdout, stderr = cast(_Pipes, (process.stdin, process.stdout, process.stderr))
        self._process = process
        self._limits = limits
        self._family = Family(process.pid)
        self._breach: str | None = None
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stdout = OutputPipe(stdout, limits.stdout_characters, lambda: self._break_off("stdout_limit"))
        self._stderr = OutputPipe(stderr, limits.stderr_characters, lambda: self._break_off("stderr_limit"))
        self._exit = _ExitWatch(process, self._end)
        self._stdin = InputPipe(stdin, payload)

    async def result(self, timeout_s: float) -> AdapterResult:
        """Wait for the exit or the first limit, clean up, and tell which it was."""
        timer = asyncio.get_running_loop().call_later(timeout_s, self._break_off, "timeout")
        watch = asyncio.create_task(self._watch_memory())
        exited = False
        try:
            try:
                await self._ended
            except BaseException:
                await self._family.ask_to_end(KILL_GRACE_S)
                raise
            exited = self._breach is None
            if not exited:
                await self._family.ask_to_end(KILL_GRACE_S)
        finally:
            timer.cancel()
            watch.cancel()
            await self._clean_up(exited)
        if self._breach is not None:
            raise AdapterFailure(self._breach)
        if self._process.returncode != 0:
            raise AdapterFailure(reported_code(self._stderr.data.decode("utf-8", "replace")))
        return AdapterResult(self._stdout.data)

    async def _watch_memory(self) -> None:
        while True:
            await asyncio.sleep(_MEMORY_POLL_S)
            if self._family.resident_bytes() > self._limits.memory_bytes:
                self._break_off("process_exit")
                return

    def _break_off(self, code: str) -> None:
        if self._breach is None:
            self._breach = code
        self._end()

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    async def _clean_up(self, exited: bool) -> None:
        """What must happen comes before the first wait, for a second interrupt may end it there."""
        if exited:
            self._family.kill_group()
            self._stdout.drain()
            self._stderr.drain()
        else:
            self._family.kill_now()
        self._exit.close()
        for pipe in (self._stdin, self._stdout, self._stderr):
            pipe.close()
        try:
            for delay in _REAP_DELAYS_S:
                if self._process.poll() is not None:
                    break
                await asyncio.sleep(delay)
        finally:
            self._family.close()
        await self._family.sweep()


class _ExitWatch:
    """Calls back once when a process has ended, whoever else holds its pipes.

    On Linux it is not reaped by that, so that its number stays its own until its group has been ended.
    """

    def __init__(self, process: subprocess.Popen[bytes], on_exit: Callable[[], None]) -> None:
        self._process = process
        self._on_exit = on_exit
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._descriptor: int | None = None
        try:
            self._descriptor = os.pidfd_open(process.pid)
        except (AttributeError, OSError):  # not Linux, or a kernel that has none
            self._poll()
        else:
            self._loop.add_reader(self._descriptor, self._exited)

    def _poll(self) -> None:
        if self._process.poll() is None:
            self._timer = self._loop.call_later(_POLL_S, self._poll)
        else:
            self._exited()

    def _exited(self) -> None:
        self.close()
        self._on_exit()

    def close(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._timer.cancel()
        if self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None
