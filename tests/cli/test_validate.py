import json
import os
import subprocess
import sys

from tests.foundation.sources import copy_sources
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


def test_a_published_task_file_that_changed_is_refused(tmp_path):
    copy = copy_sources(tmp_path / "project")
    path = copy / "tasks" / "v3.jsonl"
    path.write_bytes(path.read_bytes().replace(b"London", b"Leeds"))
    program = "import sys; sys.argv[0] = 'discovercall'; from discovercall.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "validate"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done
    assert f"{path}: has the digest " in done.stderr
    assert "Traceback" not in done.stderr
