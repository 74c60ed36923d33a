"""A tiny process that ends running adapters when the harness itself was killed and could not."""

from __future__ import annotations

import contextlib
import os
import subprocess

# Reads "+ GROUP" and "- GROUP"; at the end of its input the harness is gone: kills the groups still noted.
_SCRIPT = """
trap '' INT TERM HUP
groups=" "
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) groups="${groups%% $group *} ${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
"""


class Watchdog:
    """The harness's end of the watchdog's input.

    The kernel closes it however the harness ends. Adapters do not inherit it.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.pid = process.pid

    @classmethod
    def start(cls) -> Watchdog | None:
        """Start one; None where there is no shell to run it."""
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                bufsize=0,
                start_new_session=True,
            )
        except OSError:
            return None
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)  # one that was stopped must not stop the harness
        return cls(process)

    def add(self, group: int) -> None:
        """Note a process group that now runs."""
        self._tell(f"+ {group}\n")

    def remove(self, group: int) -> None:
        """Forget a process group: its leader was reaped."""
        self._tell(f"- {group}\n")

    def _tell(self, line: str) -> None:
        stream = self._process.stdin
        if stream is not None:
            with contextlib.suppress(OSError):  # a watchdog that is gone must not fail a decision
                os.write(stream.fileno(), line.encode())
