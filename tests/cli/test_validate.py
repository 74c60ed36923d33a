import json
import os
import subprocess
import sys

import pytest

from tests.foundation.sources import copy_sources
from tests.support.bench import Done
from tests.support.records import lines, task


def test_the_committed_files_are_valid_and_named(command):
    done = command("validate")
    assert done.code == 0, done
    for name, count in (("v1", 6), ("v2", 18), ("v3", 18), ("v4", 18)):
        assert any(f"{name}.jsonl" in line and str(count) in line for line in done.out.splitlines())
    report = json.loads(command("validate", "--format", "json").out)
    assert report["schema_version"] == 1
    assert report["ok"] is True
    files = [entry["file"] for entry in report["checked"]]
    assert [name for name in files if "/tasks/v" in name] == sorted(n for n in files if "/tasks/v" in n)


def test_one_task_set_can_be_checked_alone(command, tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text(lines(task("a"), task("b")))
    done = command("validate", "--tasks", path)
    assert done.code == 0
    assert str(path) in done.out
    path.write_text(lines(task("a"), task("a")))
    done = command("validate", "--tasks", path)
    assert (done.code, done.out) == (2, "")
    assert "mine.jsonl:2: id: 'a' is taken by" in done.err
    assert done.err.count("\n") == 1


def test_an_unknown_format_is_a_mistake_of_usage(command):
    done = command("validate", "--format", "yaml")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("discovercall: ")
    assert done.err.count("\n") == 1


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return copy_sources(tmp_path_factory.mktemp("copy") / "project")


def validate(copy, *words):
    """Run the copy's own command."""
    program = "import sys; sys.argv[0] = 'discovercall'; from discovercall.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "validate", *words],
        cwd=copy,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("change", ["a word", "a line end", "a file more", "a file less"])
def test_a_published_task_file_that_changed_is_refused(copy, change):
    path = copy / "tasks" / "v3.jsonl"
    original = path.read_bytes()
    more = copy / "tasks" / "v99.jsonl"
    try:
        if change == "a word":
            path.write_bytes(original.replace(b"London", b"Leeds"))
        elif change == "a line end":
            path.write_bytes(original.replace(b"\n", b"\r\n"))
        elif change == "a file more":
            more.write_bytes(original)
        else:
            path.unlink()
        done = validate(copy)
    finally:
        path.write_bytes(original)
        more.unlink(missing_ok=True)
    assert done.code == 1, done
    assert "Traceback" not in done.err
    name = "v99.jsonl" if change == "a file more" else "v3.jsonl"
    assert name in done.err
