"""A disk that fails while money is spent."""

import shlex
import subprocess
import threading
from collections import Counter

import pytest

from discovercall.contract.journal import read_journal
from tests.support.bench import PROGRAM, finish
from tests.support.catalog_api import Reply
from tests.support.records import task


def calls(bench):
    """Calls at the API by city, which names the task."""
    return Counter(r.body["parameters"]["city"] for r in bench.api.requests if r.operation == "call")


def limited(bench, blocks, **changes):
    """`run` where no file grows beyond so many blocks of 512 bytes."""
    bench.start(trials=0).communicate()  # writes the script, and is refused
    command = f"ulimit -f {blocks}; exec {shlex.join([PROGRAM, *bench.arguments(**changes)])}"
    return finish(
        subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=bench.folder,
            env=bench.environment
            | {"PYTHONDONTWRITEBYTECODE": "1"},  # a cached module would be cut short too
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    )


@pytest.fixture
def names(bench):
    """Eight tasks whose calls name them."""
    names = [f"t{i}" for i in range(8)]
    bench.use_tasks(*(task(name) for name in names))
    bench.script = {f"{name}/parameterize": {"answer": {"parameters": {"city": name}}} for name in names}
    return names


FULL = (
    "discovercall: the journal cannot be written (File too large); nothing more is started; mend the cause, "
)


def test_a_full_disk_ends_the_run_in_one_line_and_the_journal_stays_whole(bench, names):
    done = limited(bench, 24, concurrency=2)
    assert done.code == 2, done
    assert "Traceback" not in done.err
    assert done.err.splitlines()[-1].startswith(FULL)
    kinds = Counter(entry.content["kind"] for entry in read_journal(bench.journal))
    assert 0 < kinds["trial_finished"] < 8
    assert calls(bench).total() == kinds["call_intent"]
    assert bench.nothing_left_within()

    bench.output.unlink(missing_ok=True)
    assert bench.run(resume=True).code == 0
    assert [r["task_id"] for r in bench.records()] == names
    assert set(calls(bench).values()) == {1}, "a call was billed twice"


@pytest.mark.parametrize("room", [True, False])
def test_answers_that_the_journal_does_not_take_are_in_the_outputs_or_said_to_be_lost(bench, names, room):
    everyone_calls = threading.Barrier(8)

    def wait(request):
        if request.operation == "call":
            everyone_calls.wait(60)
            if not room:
                bench.output.mkdir(exist_ok=True)  # whose place no file can take

    bench.api.before = wait
    done = limited(bench, 36, concurrency=8)
    assert done.code == 2, done
    journaled = {
        e.content["task_id"] for e in read_journal(bench.journal) if e.content["kind"] == "call_outcome"
    }
    missing = 8 - len(journaled)
    assert 0 < missing < 8
    place = "are in the outputs only (move them away first)" if room else "are lost"
    unknown = f"which counts {missing} finished calls as unknown: their records {place}"
    assert done.err.splitlines()[-1] == f"{FULL}then continue with --resume, {unknown}"
    if room:
        assert [(r["task_id"], r["call"]["success"]) for r in bench.records()] == [(n, True) for n in names]
        bench.output.rename(bench.folder / "moved.jsonl")
    else:
        bench.output.rmdir()
    assert bench.run(resume=True).code == 0
    assert {r["task_id"] for r in bench.records() if r["call"]["success"]} == journaled
    assert len(bench.records()) == bench.api.count("call") == 8


def test_a_journal_that_is_removed_while_the_disk_is_full_is_lost(bench, names):
    everyone_calls = threading.Barrier(8, lambda: bench.journal.unlink())

    def wait(request):
        if request.operation == "call":
            everyone_calls.wait(60)

    bench.api.before = wait
    done = limited(bench, 36, concurrency=8)
    assert done.code == 2, done
    assert "the journal is lost" in done.err.splitlines()[-1]
    assert [(r["task_id"], r["call"]["success"]) for r in bench.records()] == [(n, True) for n in names]
    bench.api.before = lambda _: None
    assert bench.run(resume=True).code == 2
    assert bench.api.count("call") == 8, "what the lost journal knew of was billed again"


def test_an_output_that_cannot_be_written_is_one_line_and_nothing_is_lost(bench):
    folder = bench.folder / "out"
    folder.mkdir()
    bench.output = folder / "run.jsonl"

    def rename(request):
        if request.operation == "call":
            folder.rename(bench.folder / "moved")

    bench.api.before = rename
    done = bench.run()
    assert done.code == 2, done
    assert "Traceback" not in done.err
    assert "cannot be written (No such file or directory)" in done.err.splitlines()[-1]
    (bench.folder / "moved").rename(folder)
    bench.api.before = lambda _: None
    assert bench.run(resume=True).code == 0
    assert len(bench.records()) == bench.api.count("call") == 1


@pytest.mark.parametrize("names", [("t1",), ("t1", "t2", "t3", "t4")])
@pytest.mark.parametrize("harm", ["removed", "changed"])
def test_a_run_whose_journal_is_lost_says_so_and_keeps_what_is_finished(bench, harm, names):
    bench.use_tasks(*(task(name) for name in names))

    def harms(request):
        if request.operation == "call" and bench.api.count("call") == 1:
            if harm == "removed":
                bench.journal.unlink()
            else:
                bench.journal.write_bytes(bench.journal.read_bytes() + b"x")

    bench.api.before = harms
    done = bench.run(concurrency=1)
    assert done.code == 2, done
    assert "Traceback" not in done.err
    account, last = done.err.splitlines()[-2:]
    assert account.startswith(f"1 of {len(names)} trials; 1 billed calls; ")
    assert "somebody removed, replaced or changed it during the run" in last
    assert f"Wrote {bench.output}" in done.out
    assert [r["call"]["success"] for r in bench.records()] == [True]
    assert bench.api.count("call") == 1
    assert bench.run(resume=True).code == 2
    assert bench.api.count("call") == 1, "what the lost journal knew of was billed again"


def test_where_neither_the_journal_nor_an_output_holds_the_records_that_is_said(bench):
    def harms(request):
        if request.operation == "call":
            bench.journal.unlink()
            bench.output.mkdir()

    bench.api.before = harms
    done = bench.run()
    assert done.code == 2, done
    assert done.err.splitlines()[-1] == (
        f"discovercall: --output: {bench.output} cannot be written (Is a directory), and the journal is lost:"
        " the records of this run are nowhere else"
    )


def test_a_journal_that_is_lost_before_the_key_is_refused_is_one_line(bench):
    def refuse(_):
        bench.journal.unlink(missing_ok=True)
        return Reply({}, status=401)

    bench.api.before = refuse
    done = bench.run()
    assert done.code == 2, done
    assert "Traceback" not in done.err
