"""What adapters may use, who they run as, and what they can't see."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discovercall.adapter.failures import AdapterFailure
from discovercall.adapter.isolation import AdapterUser, check_reachable, find_user, isolation_level
from discovercall.adapter.process import AdapterLimits, run_adapter
from discovercall.foundation.errors import InputError

MIB = 2**20
ENVIRONMENT = {"PATH": os.environ["PATH"]}
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may start processes of another user")


def run_python(
    code: str, limits: AdapterLimits, user: AdapterUser | None = None, program: str = sys.executable
) -> str:
    result = run_adapter(
        [program, "-c", code], b"{}", env=ENVIRONMENT, timeout_s=20, limits=limits, user=user
    )
    return asyncio.run(result).stdout.decode()


@pytest.mark.parametrize(
    "code",
    [
        "import time; hold = bytearray(300 << 20); time.sleep(15)",
        "import subprocess, sys; subprocess.run([sys.executable, '-c',"
        " 'import time; hold = bytearray(300 << 20); time.sleep(15)'])",
    ],
    ids=["the adapter", "its child"],
)
def test_memory_of_the_whole_tree_is_limited(code: str) -> None:
    started = time.monotonic()
    with pytest.raises(AdapterFailure) as failure:
        run_python(code, AdapterLimits(memory_bytes=150 * MIB))
    assert failure.value.code == "process_exit"
    assert time.monotonic() - started < 10


def test_a_decision_within_its_memory_is_left_alone() -> None:
    code = "import time; hold = bytearray(100 << 20); time.sleep(1.2); print('{}')"
    assert run_python(code, AdapterLimits(memory_bytes=400 * MIB)) == "{}\n"


def test_files_cannot_grow_beyond_the_limit() -> None:
    code = (
        "import os, signal, time; time.sleep(.2); signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "written = 0\n"
        "try:\n"
        "    with open('big', 'wb', 0) as stream:\n"
        "        for _ in range(64): written += stream.write(b'x' * 65536)\n"
        "except OSError: pass\n"
        "print(written)"
    )
    assert int(run_python(code, AdapterLimits(file_bytes=MIB))) == MIB


def test_open_files_are_limited() -> None:
    code = (
        "import os, time; time.sleep(.2)\n"
        "count = 0\n"
        "try:\n"
        "    while True: os.dup(0); count += 1\n"
        "except OSError: print(count)"
    )
    assert 0 < int(run_python(code, AdapterLimits(open_files=40))) < 40


def test_the_path_of_a_key_file_disappears_from_the_command_line() -> None:
    code = (
        "import json, sys\n"
        "from discovercall.adapter.isolation import hide_memory, mask_argument\n"
        "hide_memory(); mask_argument(sys.argv[1])\n"
        "print(json.dumps(open('/proc/self/cmdline').read().split(chr(0))))"
    )
    secret = "/somewhere/secret.key"
    command = [sys.executable, "-c", code, secret, "other", f"--api-key-file={secret}"]
    shown = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    masked = "x" * len(secret)
    assert shown[3:] == [masked, "other", f"--api-key-file={masked}", ""]


def test_the_level_of_isolation_says_what_holds() -> None:
    other = AdapterUser("other", os.geteuid() + 1, 1, "/")
    assert isolation_level(other) == "user"
    code = (
        "from discovercall.adapter.isolation import hide_memory, isolation_level\n"
        "before = isolation_level(None); hide_memory(); print(before, isolation_level(None))"
    )
    unprivileged = ["setpriv", "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"]
    prefix = unprivileged if os.geteuid() == 0 else []
    done = subprocess.run([*prefix, sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["none", "same-user"]
    if os.geteuid() == 0:
        assert isolation_level(None) == "none"


def test_users_that_do_not_serve_are_refused() -> None:
    with pytest.raises(InputError, match="there is no user"):
        find_user("no-such-user-here")
    with pytest.raises(InputError, match="root can read everything"):
        find_user("root")


@as_root
def test_adapters_run_as_the_user_that_was_named(tmp_path: Path) -> None:
    user = find_user("nobody")
    code = "id -u; id -G; pwd; echo $HOME; touch scratch && echo writable"
    result = run_adapter(["/bin/sh", "-c", code], b"{}", env=ENVIRONMENT, timeout_s=10, user=user)
    uid, groups, folder, home, writable = asyncio.run(result).stdout.decode().splitlines()
    assert (int(uid), groups, home, writable) == (user.uid, str(user.gid), user.home, "writable")
    assert not os.path.exists(folder)


@as_root
def test_files_that_the_user_cannot_read_are_refused_beforehand(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.write_text("x")
    hidden.chmod(0o600)
    with pytest.raises(InputError, match=f"nobody cannot read {hidden}"):
        check_reachable(find_user("nobody"), ["/bin/sh", str(hidden)])
    check_reachable(find_user("nobody"), ["/bin/sh"])
