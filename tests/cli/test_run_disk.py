"""A disk that fails while money is spent."""

import shlex
import subprocess
from collections import Counter

from discovercall.contract.journal import read_journal
from tests.support.bench import PROGRAM, finish
from tests.support.records import task


def calls(bench):
    """Calls at the API by city, which names the task."""
    return Counter(r.body["parameters"]["city"] for r in bench.api.requests if r.operation == "call")


def test_a_full_disk_ends_the_run_in_one_line_and_the_journal_stays_whole(bench):
    names = [f"t{i}" for i in range(8)]
    bench.use_tasks(*(task(name) for name in names))
    bench.script = {f"{name}/parameterize": {"answer": {"parameters": {"city": name}}} for name in names}
    arguments = bench.arguments(concurrency=2)
    bench.start(trials=0).communicate()  # writes the script, and is refused
    environment = bench.environment | {
        "PYTHONDONTWRITEBYTECODE": "1"
    }  # a cached module would be cut short too
    limited = f"ulimit -f 24; exec {shlex.join([PROGRAM, *arguments])}"  # 512-byte blocks
    done = finish(
        subprocess.Popen(
            ["/bin/sh", "-c", limited],
            cwd=bench.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    )
    assert done.code == 2, done
    assert "Traceback" not in done.err
    last = done.err.splitlines()[-1]
    assert last.startswith(
        "discovercall: the journal can't be written (File too large); nothing more is started"
    )
    kinds = Counter(entry.content["kind"] for entry in read_journal(bench.journal))
    assert 0 < kinds["trial_finished"] < 8
    assert calls(bench).total() == kinds["call_intent"]
    assert bench.nothing_left_within()

    assert bench.run(resume=True).code == 0
    assert [r["task_id"] for r in bench.records()] == names
    assert set(calls(bench).values()) == {1}, "a call was billed twice"


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
    assert "can't be written (No such file or directory)" in done.err.splitlines()[-1]
    (bench.folder / "moved").rename(folder)
    bench.api.before = lambda _: None
    assert bench.run(resume=True).code == 0
    assert len(bench.records()) == bench.api.count("call") == 1
