"""Reports are published whole or not at all, and never over others."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from discovercall.invocation.benchmark import read_report
from discovercall.invocation.bundle import Bundle, BundleError
from tests.invocation.running import PROGRAM, bundles, environment

FILES = {"report.json": b"{}", "report.md": b"#"}


def public(out: Path) -> list[str]:
    return sorted(path.name for path in out.iterdir() if path.is_symlink())


def test_a_bundle_is_a_relative_link_to_a_whole_folder(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    with Bundle(out) as bundle:
        assert public(out) == []
        path = bundle.publish("t", FILES)
    assert path == out / "t"
    assert not os.path.isabs(os.readlink(path))
    assert {file.name: file.read_bytes() for file in path.iterdir()} == FILES
    (tmp_path / "a").rename(tmp_path / "moved")
    assert (tmp_path / "moved" / "b" / "t" / "report.md").read_bytes() == b"#"


def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    names = []
    for _ in range(3):
        with Bundle(tmp_path) as bundle:
            names.append(bundle.publish("t", FILES).name)
    assert names == ["t-2", "t-3", "t-4"]
    assert list((tmp_path / "t").iterdir()) == []


def test_many_at_once_do_not_meet(tmp_path: Path) -> None:
    def publish(number: int) -> None:
        with Bundle(tmp_path) as bundle:
            bundle.publish("t", {"report.json": str(number).encode()})

    threads = [threading.Thread(target=publish, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(public(tmp_path)) == 16
    assert {int((tmp_path / name / "report.json").read_bytes()) for name in public(tmp_path)} == set(
        range(16)
    )


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), Bundle(tmp_path):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_an_error_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BundleError, match="cannot be written"):
        Bundle(tmp_path / "file" / "x")


STEPS = ("mkdtemp", "write_atomic 1", "write_atomic 2", "sync 1", "sync 2", "symlink", "sync 3")

KILLED = """
import os, signal, sys
from pathlib import Path
from discovercall.invocation import bundle
at, after, out = sys.argv[1], sys.argv[2] == "after", Path(sys.argv[3])
counts = {}
def die(name, original):
    def call(*arguments, **more):
        counts[name] = counts.get(name, 0) + 1
        here = at in (name, f"{name} {counts[name]}")
        if here and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*arguments, **more)
        if here:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return call
bundle.tempfile.mkdtemp = die("mkdtemp", bundle.tempfile.mkdtemp)
bundle.write_atomic = die("write_atomic", bundle.write_atomic)
bundle.sync_folder = die("sync", bundle.sync_folder)
bundle.os.symlink = die("symlink", bundle.os.symlink)
with bundle.Bundle(out) as one:
    one.publish("t", {"report.json": b"{}", "report.md": b"#"})
print("survived")
"""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_there_is_no_bundle_or_a_whole_one(tmp_path: Path, step: str, moment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, step, moment, str(tmp_path)], check=False, capture_output=True
    )
    assert done.returncode == -signal.SIGKILL
    published = public(tmp_path)
    assert published == (
        ["t"] if (step, moment) in (("symlink", "after"), ("sync 3", "before"), ("sync 3", "after")) else []
    )
    for name in published:
        assert {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} == FILES


def test_the_steps_are_all_there_are(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, "never", "before", str(tmp_path)]
    assert subprocess.run(command, check=True, capture_output=True).stdout == b"survived\n"


def test_a_whole_run_killed_at_odd_moments(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    for number in range(3):
        with subprocess.Popen(
            [*PROGRAM, "run", "--mock"],
            cwd=tmp_path,
            env=environment(TMPDIR=str(tmp_path / "tmp")),
            stdout=subprocess.DEVNULL,
        ) as process:
            # From the start of the runs on, spread over the time that they take.
            wait_for_folder(tmp_path, number + 1)
            time.sleep(number * 0.3)
            process.kill()
    for path in bundles(tmp_path):
        assert read_report(path).runs_planned == 12
        assert (path / "report.md").read_text().startswith("# Agent invocation benchmark")


def wait_for_folder(folder: Path, count: int) -> None:
    for _ in itertools.repeat(None, 2000):
        if len(list((folder / "outputs" / "benchmarks").glob(".bundle-*"))) >= count:
            return
        time.sleep(0.01)
    raise AssertionError("the run did not start")
