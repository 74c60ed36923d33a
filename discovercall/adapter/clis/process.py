"""Runs a model command line under an adapter: limits, signals that reach it, and nothing of it left."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, TracebackType
from typing import IO, Any, Self

from discovercall.adapter.authoring import Refusal

OUTPUT_LIMIT = 16 * 2**20
"""Bytes that a command line may write to either stream."""

TERM_GRACE_S = 0.3
"""Seconds between SIGTERM and SIGKILL: well within the second that the harness grants the adapter itself."""

_DRAIN_S = 0.5
_EXIT_S = 5.0
_CHUNK = 65536
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

LineHandler = Callable[[bytes], None]


class Interrupted(BaseException):
    """The adapter was told to end."""


class Interruption:
    """Turns SIGTERM, SIGINT and SIGHUP into an orderly end: children first, then files, then this process.

    A handler only takes note, so that no signal can fall between the start of a child and knowing of it. On
    leaving, the process ends by the signal that came.
    """

    def __init__(self) -> None:
        self._signal: int | None = None
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self.descriptor, self._written = os.pipe()
        for descriptor in (self.descriptor, self._written):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(self._written, warn_on_full_buffer=False)
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._handlers[number] = signal.signal(number, self._note)
        self._handlers[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._signal = self._signal or number

    def check(self) -> None:
        """Raise `Interrupted` once a signal came; forgets the wake-ups so far."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.descriptor, _CHUNK)
        if self._signal is not None:
            raise Interrupted

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.set_wakeup_fd(-1)
        os.close(self.descriptor)
        os.close(self._written)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if self._signal is not None:
            signal.signal(self._signal, signal.SIG_DFL)
            os.kill(os.getpid(), self._signal)


def run_cli(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: str,
    payload: bytes,
    on_stdout: LineHandler,
    on_stderr: LineHandler,
    interruption: Interruption,
    timeout_s: float | None = None,
) -> int:
    """Run a command line to its end, in a process group of its own; whatever happens, the group is ended.

    Args:
        command: program and arguments.
        environment: its whole environment.
        folder: its working folder.
        payload: its standard input.
        on_stdout: takes each line of standard output; what it raises ends the command line at once.
        on_stderr: the same for standard error.
        interruption: entered by the caller.
        timeout_s: seconds it may take; None leaves that to the harness.

    Returns:
        Its exit status, negative for a signal.

    Raises:
        Refusal: `start_failed`, `output_limit`, or `cli_failed` for one that does not end.
        Interrupted: a signal came.
    """
    interruption.check()
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=dict(environment),
            cwd=folder,
            process_group=0,
        )
    except (OSError, ValueError):
        raise Refusal("start_failed", f"{os.path.basename(command[0])} cannot be started") from None
    try:
        _Pump(process, payload, on_stdout, on_stderr, interruption).run(timeout_s)
    finally:
        _end(process)
    return process.returncode


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        _signal_group(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(TERM_GRACE_S)
    _signal_group(process, signal.SIGKILL)  # a wrapper that ended may have left the program behind it
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


class _Pump:
    """Feeds standard input and hands on lines until the process has ended."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        payload: bytes,
        on_stdout: LineHandler,
        on_stderr: LineHandler,
        interruption: Interruption,
    ) -> None:
        self._process = process
        self._left = memoryview(payload)
        self._interruption = interruption
        self._selector = selectors.DefaultSelector()
        self._selector.register(interruption.descriptor, selectors.EVENT_READ, interruption.check)
        self._open = 0
        for stream, handler in ((process.stdout, on_stdout), (process.stderr, on_stderr)):
            if stream is not None:
                self._watch(stream, selectors.EVENT_READ, _Lines(stream, handler).read)
                self._open += 1
        if process.stdin is not None:
            self._watch(process.stdin, selectors.EVENT_WRITE, self._feed)

    def _watch(self, stream: IO[bytes], event: int, action: Callable[[], object]) -> None:
        os.set_blocking(stream.fileno(), False)
        self._selector.register(stream, event, action)

    def run(self, timeout_s: float | None) -> None:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        exited = closed = False
        with self._selector:
            while not (exited and closed):
                wait = None if deadline is None else deadline - time.monotonic()
                if wait is not None and wait <= 0:
                    if exited:
                        return  # something else holds its output open
                    raise Refusal("cli_failed", "the command line does not end")
                for key, _ in self._selector.select(wait):
                    if key.data() is False:
                        self._selector.unregister(key.fileobj)
                        self._open -= 1
                if not exited and self._process.poll() is not None:
                    exited, deadline = True, time.monotonic() + _DRAIN_S
                if not closed and self._open == 0:
                    closed = True
                    if not exited:
                        deadline = time.monotonic() + _EXIT_S

    def _feed(self) -> None:
        stream = self._process.stdin
        if stream is None:
            return
        try:
            while self._left:
                self._left = self._left[os.write(stream.fileno(), self._left) :]
        except BlockingIOError:
            return
        except OSError:  # it reads no further; how it ends will tell
            pass
        self._selector.unregister(stream)
        stream.close()


class _Lines:
    """Cuts one stream into lines."""

    def __init__(self, stream: IO[bytes], handler: LineHandler) -> None:
        self._descriptor = stream.fileno()
        self._handler = handler
        self._count = 0
        self._rest: list[bytes] = []

    def read(self) -> bool:
        """Take in one chunk; False at the end of the stream."""
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            chunk = b""
        self._count += len(chunk)
        if self._count > OUTPUT_LIMIT:
            raise Refusal("output_limit", "the command line writes too much")
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._emit(line)
        self._rest.append(rest)
        if not chunk:
            self._emit(b"")
        return bool(chunk)

    def _emit(self, end: bytes) -> None:
        line = b"".join((*self._rest, end)).strip()
        self._rest = []
        if line:
            self._handler(line)
