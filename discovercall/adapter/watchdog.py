"""A tiny process that clears up after running adapters when the harness itself was killed and could not."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile

SCRATCH_PREFIX = "decision-"
"""How the names of scratch folders begin."""

# Reads "+ ENTRY" and "- ENTRY", where an entry is an adapter's process group, which is its session too, or
# the name of a scratch folder in the folder for temporary files. At the end of its input the harness is gone:
# ends and removes what is still noted. A model command line has a group of its own in the session, so on
# Linux the session is looked through as well, again while something living is found: it may just have forked.
# The name of a process, in parentheses, may hold anything. What was just killed may write for a while, so
# that a folder is not empty at once.
_SCRIPT = f"""
trap '' INT TERM HUP
noted=" "
while read -r sign entry; do
  case $sign in
    +) noted="$noted$entry " ;;
    -) noted="${{noted%% $entry *}} ${{noted#* $entry }}" ;;
  esac
done
folders=
sessions=" "
for entry in $noted; do
  case $entry in
    {SCRATCH_PREFIX}*) folders="$folders $entry" ;;
    *) sessions="$sessions$entry "; kill -s KILL -- "-$entry" ;;
  esac
done
for look in 1 2 3 4 5 6 7 8 9 10; do
  found=
  for process in /proc/[0-9]*; do
    line=
    while read -r part; do line=$part; done < $process/stat || continue
    set -- ${{line##*) }}
    case "$1 $sessions" in
      [ZX]*) ;;
      *" $4 "*) kill -s KILL "${{process#/proc/}}" && found=1 ;;
    esac
  done
  [ "$found" ] || break
done
for pause in 0.01 0.1 1; do
  rm -rf -- $folders && break
  chmod -R u+rwx -- $folders
  sleep $pause
done
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
        """Start one; None where there is no shell to run it, or no folder for temporary files."""
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=tempfile.gettempdir(),
                env={"PATH": os.defpath},
                bufsize=0,
                start_new_session=True,
            )
        except OSError:
            return None
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)  # one that was stopped must not stop the harness
        return cls(process)

    def add(self, entry: int | str) -> None:
        """Note a process group and session that now runs, or a scratch folder's name."""
        self._tell(f"+ {entry}\n")

    def remove(self, entry: int | str) -> None:
        """Forget a process group whose leader was reaped, or a scratch folder that was removed."""
        self._tell(f"- {entry}\n")

    def _tell(self, line: str) -> None:
        stream = self._process.stdin
        if stream is not None:
            with contextlib.suppress(OSError):  # a watchdog that is gone must not fail a decision
                os.write(stream.fileno(), line.encode())
