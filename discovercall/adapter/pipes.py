"""The harness's ends of an adapter's standard streams, on the event loop."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Callable
from typing import IO

from discovercall.foundation.ecmascript import utf16_length

_CHUNK = 65536


class OutputPipe:
    """Collects what an adapter writes to one stream, up to a limit.

    Args:
        stream: the readable end; closed by `close`.
        limit: characters that are allowed, counted as UTF-16 units of the decoded text.
        on_limit: called once, when more came; nothing is read after that.
    """

    def __init__(self, stream: IO[bytes], limit: int, on_limit: Callable[[], None]) -> None:
        self._stream = stream
        self._descriptor = stream.fileno()
        self._limit = limit
        self._on_limit = on_limit
        # Incremental, for a character may be cut between chunks; replacing, for this only counts.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._count = 0
        self._chunks: list[bytes] = []
        self._loop = asyncio.get_running_loop()
        os.set_blocking(self._descriptor, False)
        self._loop.add_reader(self._descriptor, self._read)
        self._open = True

    def _read(self) -> bool:
        """Read one chunk; False when there is nothing more to read now or ever."""
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            chunk = b""
        self._chunks.append(chunk)
        self._count += utf16_length(self._decoder.decode(chunk, final=not chunk))
        if self._count > self._limit:
            self._stop()
            self._on_limit()
        elif not chunk:
            self._stop()
        return self._open

    def drain(self) -> None:
        """Read what is there now, without waiting for an end that another process may hold back."""
        while self._open and self._read():
            pass

    def _stop(self) -> None:
        if self._open:
            self._open = False
            self._loop.remove_reader(self._descriptor)

    def close(self) -> None:
        """Stop reading and close the stream."""
        self._stop()
        self._stream.close()

    @property
    def data(self) -> bytes:
        """All bytes read so far."""
        return b"".join(self._chunks)


class InputPipe:
    """Feeds the request to an adapter as fast as it reads, and closes the stream behind it.

    An adapter that does not read, or that ends early, is no failure by itself.
    """

    def __init__(self, stream: IO[bytes], payload: bytes) -> None:
        self._stream = stream
        self._descriptor = stream.fileno()
        self._left = memoryview(payload)
        self._loop = asyncio.get_running_loop()
        os.set_blocking(self._descriptor, False)
        self._loop.add_writer(self._descriptor, self._write)
        self._open = True
        self._write()

    def _write(self) -> None:
        try:
            while self._left:
                self._left = self._left[os.write(self._descriptor, self._left) :]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            pass
        self.close()

    def close(self) -> None:
        """Stop writing and close the stream."""
        if self._open:
            self._open = False
            self._loop.remove_writer(self._descriptor)
            self._stream.close()
