import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from discovercall.contract.journal import read_journal
from tests.support.bench import finish
from tests.support.catalog_api import Reply
from tests.support.records import task


def kinds(bench):
    """Kinds of the verified journal lines by task."""
    found: dict[str, list[str]] = {}
    for entry in read_journal(bench.journal):
        if "task_id" in entry.content:
            found.setdefault(entry.content["task_id"], []).append(entry.content["kind"])
    return found


def until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def send(process, number):
    """As a terminal does: to the whole foreground group."""
    os.killpg(process.pid, number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_an_interrupt_ends_hanging_adapters_and_keeps_what_is_finished(bench, number):
    bench.use_tasks(task("quick"), task("stuck"), task("stubborn"), task("never"))
    bench.script = {
        "stuck/select": {"sleep_s": 600, "spawn": True},
        "stubborn/parameterize": {"sleep_s": 600, "spawn": True, "ignore_term": True},
    }
    process = bench.start(concurrency=2)
    until(lambda: bench.api.count("discover") == 3 and bench.api.count("inspect") == 2)
    until(lambda: len(bench.left_behind()) >= 4)
    send(process, number)
    done = finish(process)
    assert done.code == 130, done
    assert "Traceback" not in done.err
    assert "Interrupted. What is finished is kept" in done.err
    assert [r["task_id"] for r in bench.records()] == ["quick"]
    assert bench.records()[0]["call"]["success"] is True
    assert bench.records()[0]["metadata"]["catalog_observation_sha256"] == "pending"
    assert set(kinds(bench)) == {"quick", "stuck", "stubborn"}
    assert bench.nothing_left_within()


def test_the_outcome_of_a_call_that_was_sent_is_awaited_and_recorded(bench):
    bench.use_tasks(task("t1"), task("t2"))
    bench.api.hold("call")
    process = bench.start(concurrency=1)
    bench.api.wait_for("call", process)
    send(process, signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None, "did not wait for the answer"
    bench.api.released.set()
    done = finish(process)
    assert done.code == 130, done
    (record,) = bench.records()
    assert (record["task_id"], record["status"]) == ("t1", "completed")
    assert record["call"] == {"attempted": True, "success": True, "result_nonempty": True}
    assert kinds(bench) == {"t1": ["trial_started", "call_intent", "call_outcome", "trial_finished"]}
    assert bench.api.count("call") == 1


def test_a_failure_after_an_interrupt_is_no_second_interrupt(bench):
    bench.use_tasks(task("t1"), task("t2"))
    bench.script = {
        f"{name}/parameterize": {"answer": {"parameters": {"city": name}}} for name in ("t1", "t2")
    }
    released = {"t1": threading.Event(), "t2": threading.Event()}

    def hold(request):
        if request.operation == "call":
            released[request.body["parameters"]["city"]].wait(60)

    bench.api.before = hold
    process = bench.start(concurrency=2)
    until(lambda: bench.api.count("call") == 2)
    send(process, signal.SIGINT)
    time.sleep(0.5)
    bench.journal.unlink()
    released["t1"].set()
    time.sleep(1)
    assert process.poll() is None, "did not wait for the other answer"
    released["t2"].set()
    done = finish(process)
    assert done.code == 2, done
    assert "the journal is lost" in done.err
    assert [(r["task_id"], r["call"]["success"]) for r in bench.records()] == [("t1", True), ("t2", True)]


def test_a_second_interrupt_ends_at_once_and_the_ledger_knows_of_the_call(bench):
    bench.use_tasks(task("t1"), task("t2"))
    bench.script = {"t2/select": {"sleep_s": 600}}
    bench.api.hold("call")
    process = bench.start(concurrency=2)
    bench.api.wait_for("call", process)
    until(lambda: bench.api.count("discover") == 2)
    send(process, signal.SIGINT)
    time.sleep(0.3)
    send(process, signal.SIGINT)
    done = finish(process)  # the answer is still held back
    assert done.code == 130, done
    assert "Traceback" not in done.err
    assert bench.records() == []
    assert kinds(bench)["t1"] == ["trial_started", "call_intent"]
    assert bench.nothing_left_within()


def test_a_run_that_an_interrupt_no_longer_cuts_short_is_complete(bench):
    bench.api.hold("call")
    process = bench.start()
    bench.api.wait_for("call", process)
    send(process, signal.SIGINT)
    time.sleep(0.2)
    bench.api.released.set()
    done = finish(process)
    assert done.code == 0, done
    assert bench.records()[0]["metadata"]["catalog_observation_sha256"] != "pending"


def test_an_interrupt_while_the_api_turns_a_call_away_bills_nothing(bench):
    replies = iter([Reply({}, status=429, headers={"retry-after": "30"})])
    bench.api.before = lambda request: next(replies, None) if request.operation == "call" else None
    process = bench.start()
    bench.api.wait_for("call", process)
    time.sleep(0.3)  # the answer is on its way; the next try comes half a minute later
    send(process, signal.SIGINT)
    started = time.monotonic()
    done = finish(process)
    assert time.monotonic() - started < 10
    assert done.code == 130, done
    assert bench.records() == []
    assert next(iter(kinds(bench).values())) == ["trial_started", "call_intent", "call_withdrawn"]
    assert bench.api.count("call") == 1
    done = finish(bench.start(resume=True))
    assert done.code == 0, done
    assert bench.records()[0]["call"]["success"] is True
    assert bench.api.count("call") == 2


def test_an_interrupt_while_the_program_loads_leaves_no_traceback():
    code = (
        "import builtins\n"
        "from discovercall.__main__ import main\n"
        "load = builtins.__import__\n"
        "def interrupted(name, *rest, **more):\n"
        "    if name == 'typer':\n"
        "        raise KeyboardInterrupt\n"
        "    return load(name, *rest, **more)\n"
        "builtins.__import__ = interrupted\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
