from __future__ import annotations

import os
import signal
import subprocess
import sys

from discovercall.adapter.process_table import (
    all_processes,
    own_children,
    read_process,
    send,
    ticks_since_boot,
)


def test_own_process():
    me = read_process(os.getpid())
    assert me is not None
    assert (me.pid, me.parent, me.group, me.session) == (
        os.getpid(),
        os.getppid(),
        os.getpgrp(),
        os.getsid(0),
    )
    assert not me.ended
    assert 0 < me.started <= ticks_since_boot()
    assert all_processes()[me.pid] == me


def test_children_by_either_way():
    with subprocess.Popen(["sleep", "60"]) as child:
        slow_way = {p.pid for p in all_processes().values() if p.parent == os.getpid()}
        assert child.pid in {p.pid for p in own_children()} <= slow_way
        child.kill()


def test_command_name_with_parentheses_and_spaces(tmp_path):
    program = tmp_path / ") S 1 ("
    program.symlink_to(sys.executable)
    with subprocess.Popen([str(program), "-c", "input()"], stdin=subprocess.PIPE) as child:
        process = read_process(child.pid)
        assert process is not None
        assert process.parent == os.getpid()
        child.communicate(b"\n")


def test_ended_process_is_told_from_a_living_one():
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    process = read_process(child.pid)
    assert process is not None
    assert process.ended
    child.wait()
    assert read_process(child.pid) is None


def test_signal_reaches_only_the_process_that_was_seen():
    from dataclasses import replace

    with subprocess.Popen(["sleep", "60"]) as child:
        seen = read_process(child.pid)
        assert seen is not None
        send([replace(seen, started=seen.started - 1)], signal.SIGKILL)
        assert child.poll() is None
        send([seen], signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
