"""The real command line, except that it kills itself (SIGKILL) around one journal write.

Environment: KILL_AT, the number of the write, from 1; KILL_MODE, `before`, `torn` (half of it is written) or
`after`.
"""

from __future__ import annotations

import os
import signal

from discovercall.cli.main import main
from discovercall.foundation.jsonl import AppendFile

_append = AppendFile.append
_writes = 0


def _killing_append(self: AppendFile, data: bytes, *, sync: bool) -> None:
    global _writes
    _writes += 1
    mode = os.environ["KILL_MODE"] if _writes == int(os.environ["KILL_AT"]) else ""
    if mode == "torn":
        _append(self, data[: len(data) // 2], sync=True)
    if mode in ("before", "torn"):
        os.kill(os.getpid(), signal.SIGKILL)
    _append(self, data, sync=sync)
    if mode == "after":
        os.kill(os.getpid(), signal.SIGKILL)


AppendFile.append = _killing_append  # type: ignore[method-assign]
main()
