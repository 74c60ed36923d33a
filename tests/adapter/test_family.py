"""What only the whole process can promise, so each test runs a harness process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.adapter.running import MARK, Bench, gone_within, marked

PRELUDE = """
import asyncio, json, os, subprocess, sys, time
from discovercall.adapter.failures import AdapterFailure
from discovercall.adapter.family import become_subreaper
from discovercall.adapter.isolation import hide_memory
from discovercall.adapter.process import run_adapter

async def decide(source, timeout_s=20.0):
    try:
        result = await run_adapter(
            [sys.executable, "-c", source], b"{}", env=dict(os.environ), timeout_s=timeout_s
        )
        return result.stdout.decode()
    except AdapterFailure as failure:
        return failure.code

TWICE_FORKED = '''
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        time.sleep(300)
    os._exit(0)
os.wait()
'''

def others():
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and parent(pid) == os.getpid()]

def parent(pid):
    try:
        return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
    except OSError:
        return 0
"""


@pytest.fixture
def mark():
    bench = Bench()
    yield bench.mark
    for pid in marked(bench.mark):
        os.kill(pid, signal.SIGKILL)


def harness(source: str, mark: str, scratch: Path | None = None, **options) -> subprocess.Popen:
    code = PRELUDE + textwrap.dedent(source)
    env = {**os.environ, MARK: mark}
    if scratch is not None:
        env["TMPDIR"] = str(scratch)
    return subprocess.Popen(
        [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True, **options
    )


def outcome(source: str, mark: str, **options):
    process = harness(source, mark, **options)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return json.loads(output)


def test_twice_forked_daemon_does_not_survive_the_decision(mark):
    source = """
    become_subreaper()
    watchdog = others()
    answers = [
        asyncio.run(decide(TWICE_FORKED + "print('done')")),
        asyncio.run(decide(TWICE_FORKED + "time.sleep(300)", timeout_s=0.6)),
    ]
    print(json.dumps([answers, others() == watchdog]))
    """
    assert outcome(source, mark) == [["done\n", "timeout"], True]
    assert gone_within(mark, 2)


def test_other_children_are_left_alone(mark):
    source = """
    before = subprocess.Popen(["sleep", "300"], start_new_session=True)
    nursery = become_subreaper()
    ours = subprocess.Popen(["sleep", "300"])
    kept = subprocess.Popen(["sleep", "300"], start_new_session=True)
    nursery.keep(kept.pid)
    asyncio.run(decide(TWICE_FORKED))
    children = [before, ours, kept]
    print(json.dumps([child.poll() for child in children]))
    for child in children:
        child.kill()
        child.wait()
    """
    assert outcome(source, mark) == [None, None, None]
    assert gone_within(mark, 2)


def test_running_adapters_and_their_helpers_are_left_alone(mark):
    source = """
    become_subreaper()
    helper = '''
    import os, subprocess, time
    shell = ["sh", "-c", "sleep 5 >/dev/null 2>&1 & echo $!"]
    orphan = int(subprocess.run(shell, capture_output=True).stdout)
    time.sleep(1.2)
    print(open(f"/proc/{orphan}/comm").read().strip())
    '''
    import textwrap
    async def both():
        slow = asyncio.create_task(decide(textwrap.dedent(helper)))
        await asyncio.sleep(0.5)
        quick = await decide(TWICE_FORKED + "print('done')")
        return [quick, await slow]
    print(json.dumps(asyncio.run(both())))
    """
    assert outcome(source, mark) == ["done\n", "sleep\n"]
    assert gone_within(mark, 2)


def test_no_dead_process_piles_up(mark):
    source = """
    become_subreaper()
    count = len(others())
    for _ in range(5):
        asyncio.run(decide(TWICE_FORKED))
    print(json.dumps(len(others()) - count))
    """
    assert outcome(source, mark) == 0


def test_killed_harness_takes_its_adapters_along(mark, tmp_path):
    source = """
    become_subreaper()
    async def two():
        await decide("print(1)")
        source = "import os, time; os.makedirs('a/b'); open('a/b/c', 'w').close(); time.sleep(300)"
        await asyncio.gather(decide(source), decide(source))
    asyncio.run(two())
    """
    process = harness(source, mark, scratch=tmp_path)
    deadline = time.monotonic() + 20
    while len(marked(mark)) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(marked(mark)) == 3  # the harness and two adapters; the watchdog carries no mark
    while len(list(tmp_path.glob("decision-*/a/b/c"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.communicate()
    assert gone_within(mark, 5)
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not list(tmp_path.iterdir())


PROGRAM_STARTER = r"""
import os, subprocess, sys, time
os.makedirs("closed/inner")
os.chmod("closed", 0)
program = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'a) S 1\\n(b'); time.sleep(300)"
for _ in range(2):
    subprocess.Popen([sys.executable, "-c", program], process_group=0)
time.sleep(300)
"""


def test_killed_harness_takes_along_what_left_its_adapters_group(mark, tmp_path):
    """As model command lines do, which run in a group of their own; these have odd names, too."""
    process = harness(f"become_subreaper()\nasyncio.run(decide({PROGRAM_STARTER!r}))", mark, scratch=tmp_path)
    deadline = time.monotonic() + 20
    while len(marked(mark)) < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(marked(mark)) == 4  # the harness, the adapter and two programs
    process.kill()
    process.communicate()
    assert gone_within(mark, 5)
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not list(tmp_path.iterdir())


def test_decisions_go_on_without_the_watchdog(mark):
    source = """
    import signal
    become_subreaper()
    for pid in others():
        os.kill(pid, signal.SIGKILL)
    print(json.dumps([asyncio.run(decide("print(1)")) for _ in range(2)]))
    """
    assert outcome(source, mark) == ["1\n", "1\n"]


def test_interrupted_harness_takes_its_adapters_along(mark):
    process = harness(
        "become_subreaper()\nasyncio.run(decide(TWICE_FORKED + 'time.sleep(300)'))", mark, stderr=-3
    )
    deadline = time.monotonic() + 20
    while len(marked(mark)) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert gone_within(mark, 1)


def test_memory_is_hidden(mark):
    source = """
    import ctypes
    get_dumpable = 3
    found = [ctypes.CDLL(None).prctl(get_dumpable)]
    hide_memory()
    print(json.dumps([*found, ctypes.CDLL(None).prctl(get_dumpable)]))
    """
    assert outcome(source, mark) == [1, 0]


CHAIN = """
import os, time
end = time.monotonic() + {seconds}
for _ in range({count}):
    if os.fork() == 0:
        os.setsid()
        while time.monotonic() < end:
            if os.fork():
                os._exit(0)
            os.setsid()
        os._exit(0)
print("done", flush=True)
{then}
"""


@pytest.mark.parametrize("count", [1, 4])
def test_chain_of_forks_does_not_outlive_its_decision(mark, count):
    source = f"""
    nursery = become_subreaper()
    watchdog = others()
    found = []
    def left():
        return len(list(nursery.orphans()))
    start = time.monotonic()
    for then, timeout_s in (("", 20.0), ("time.sleep(300)", 0.6)):
        source = {CHAIN!r}.format(seconds=20, count={count}, then=then)
        found += [asyncio.run(decide(source, timeout_s)), left(), others() == watchdog]
    print(json.dumps([*found, time.monotonic() - start < 15]))
    """
    assert outcome(source, mark) == ["done\n", 0, True, "timeout", 0, True, True]
    assert not marked(mark)


def test_chain_of_forks_does_not_outlive_the_run(mark):
    source = f"""
    nursery = become_subreaper()
    source = {CHAIN!r}.format(seconds=8, count=3, then="")
    subprocess.run([sys.executable, "-c", source], stdout=subprocess.DEVNULL, start_new_session=True)
    print(json.dumps([nursery.sweep(5), len(list(nursery.orphans())), nursery.sweep(0)]))
    """
    assert outcome(source, mark) == [True, 0, True]
    assert not marked(mark)


def test_a_child_that_this_program_starts_itself_is_no_orphan(tmp_path):
    code = (
        "import subprocess, time\n"
        "from discovercall.adapter.family import become_subreaper, starting_own_child\n"
        "nursery = become_subreaper()\n"
        "sleep = lambda: subprocess.Popen(['sleep', '30'], start_new_session=True)\n"
        "with starting_own_child():\n"
        "    own = sleep()\n"
        "    nursery.sweep(0.3)\n"
        "stray = sleep()\n"
        "time.sleep(0.05)\n"
        "swept = nursery.sweep(2)\n"
        "print(swept, own.poll(), stray.poll())\n"
        "own.kill()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    swept, own, stray = done.stdout.split()
    assert (swept, own) == ("True", "None")
    assert stray != "None"


def test_an_orphan_that_arrives_while_a_child_is_started_is_still_an_orphan():
    code = (
        "import os, signal, subprocess, sys, time\n"
        "from discovercall.adapter.family import become_subreaper, starting_own_child\n"
        "nursery = become_subreaper()\n"
        "inner = 'import subprocess, time;'\n"
        'inner += \'p = subprocess.Popen(["sleep", "30"], start_new_session=True);\'\n'
        "inner += 'print(p.pid, flush=True); time.sleep(30)'\n"
        "middle = subprocess.Popen([sys.executable, '-c', inner], stdout=subprocess.PIPE, text=True)\n"
        "stray = int(middle.stdout.readline())\n"
        "with starting_own_child():\n"
        "    own = subprocess.Popen(['sleep', '30'], start_new_session=True)\n"
        "    middle.kill()\n"
        "    middle.wait()\n"
        "    time.sleep(0.1)\n"
        "nursery.sweep(2)\n"
        "try:\n"
        "    os.kill(stray, 0)\n"
        "    left = True\n"
        "except ProcessLookupError:\n"
        "    left = False\n"
        "print(own.poll(), left)\n"
        "own.kill()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.split() == ["None", "False"]
