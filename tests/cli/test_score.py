import json
import stat
import subprocess

import pytest

from discovercall import score_records
from discovercall.contract.tasks import load_task_set
from discovercall.foundation.json_text import pretty
from tests.support.bench import PROGRAM, assert_refused
from tests.support.records import failed, lines, metadata, record, run, task

TASKS = [task("t1"), task("t2")]


@pytest.fixture
def files(tmp_path):
    """A task set and records made with it."""
    tasks, runs = tmp_path / "tasks.jsonl", tmp_path / "runs.jsonl"
    tasks.write_text(lines(*TASKS))
    own = metadata(task_set_sha256=load_task_set(tasks).sha256)
    records = run(TASKS, 2, metadata=own)
    records[3] = failed("t2", 2, metadata=own)
    runs.write_text(lines(*records))
    return tasks, runs


def expected(files):
    tasks, runs = files
    task_set = load_task_set(tasks)
    records = [json.loads(line) for line in runs.read_text().splitlines()]
    return score_records(task_set.raw, records, task_set_sha256=task_set.sha256)


def test_json_is_the_summary_of_the_api_in_ecmascripts_form(command, files):
    done = command("score", "--tasks", files[0], "--runs", files[1], "--format", "json")
    assert (done.code, done.err) == (0, "")
    summary = json.loads(done.out)
    assert summary.pop("generated_at").endswith("Z")
    wanted = expected(files)
    del wanted["generated_at"]
    assert summary == json.loads(json.dumps(wanted))
    assert '\n  "schema_version": 1,\n' in done.out
    assert '"pre_result_gate_workflow_success_rate": 0.75,\n' in done.out
    assert '"constraint_accuracy": 1,\n' in done.out


def test_the_output_file_is_public_indented_and_ends_with_a_newline(command, files, tmp_path):
    output = tmp_path / "summary.json"
    output.write_text("an older one")
    done = command("score", "--tasks", files[0], "--runs", files[1], "--output", output, "--format", "json")
    assert done.code == 0
    assert output.read_text("utf-8") == done.out
    assert output.read_text("utf-8") == pretty(json.loads(done.out)) + "\n"
    assert stat.S_IMODE(output.stat().st_mode) == 0o644


def test_json_on_a_terminal_is_not_steered_by_a_record(command, files):
    text = files[1].read_text().replace('"model-1"', '"m\\u202e\\u009b2J"')
    files[1].write_text(text)
    done = command("score", "--tasks", files[0], "--runs", files[1], "--format", "json")
    assert json.loads(done.out)["models"][0]["model"] == "m\u202e\x9b2J"
    assert "\u202e" not in done.out
    assert "\x9b" not in done.out


def test_a_person_gets_tables(command, files, tmp_path):
    output = tmp_path / "summary.json"
    done = command("score", "--tasks", files[0], "--runs", files[1], "--output", output)
    assert done.code == 0
    for text in ("model-1", "Strict success", "75.0%", "2 × 2", "missing_tool_id", f"Wrote {output}"):
        assert text in done.out


def test_the_records_of_a_real_run_are_scored(bench, command):
    bench.use_tasks(*TASKS)
    bench.script["t2/select"] = {"answer": {}}
    assert bench.run().code == 0
    done = command("score", "--tasks", bench.tasks, "--runs", bench.output, "--format", "json")
    (entry,) = json.loads(done.out)["models"]
    assert entry["workflow_success_rate"] == 0.5
    assert entry["failures_by_reason"] == {"missing_tool_id": 1}


@pytest.mark.parametrize("name", ["tasks.jsonl", "runs.jsonl", "link", "hard", "x/../runs.jsonl"])
def test_an_input_is_never_overwritten(command, files, tmp_path, name):
    (tmp_path / "x").mkdir()
    (tmp_path / "link").symlink_to(files[1])
    (tmp_path / "hard").hardlink_to(files[0])
    before = [path.read_bytes() for path in files]
    done = command("score", "--tasks", files[0], "--runs", files[1], "--output", tmp_path / name)
    assert_refused(done, f"--output: .*{name} is also an input; name another file$")
    assert [path.read_bytes() for path in files] == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"--format": "yaml"}, "--format: 'yaml' is not one of"),
        ({"--format": "JSON"}, "--format"),
        ({"--tasks": None}, "--tasks: is required; see discovercall score --help$"),
        ({"--runs": None}, "--runs: is required; see discovercall score --help$"),
        ({"--runs": "none.jsonl"}, r"none\.jsonl: cannot be read \(No such file or directory\)$"),
        ({"--runs": "broken.jsonl"}, r"broken\.jsonl:3: not valid JSON"),
        ({"--runs": "list.jsonl"}, r"list\.jsonl:1: must be a JSON object$"),
        ({"--runs": "empty.jsonl"}, r"empty\.jsonl: there is no record to score$"),
        ({"--runs": "other.jsonl"}, r"other\.jsonl: record .*: made with task set .*, not .*; score it with"),
        ({"--runs": "odd.jsonl"}, "record r-odd: trial must be a whole number from 1$"),
        ({"--tasks": "invalid.jsonl"}, r"invalid\.jsonl:1: id: field required$"),
        ({"--output": "no/folder/x.json"}, "--output: the folder no/folder does not exist; create it$"),
        ({"--output": "folder"}, "--output: folder is no regular file; name another file$"),
        ({"--output": "other.jsonl"}, r"other\.jsonl may be a run's records or ledger; name another file$"),
        ({"--surprise": "x"}, "--surprise: no such option"),
    ],
)
def test_bad_input_is_one_line(command, files, tmp_path, changes, message):
    (tmp_path / "folder").mkdir()
    (tmp_path / "invalid.jsonl").write_text("{}\n")
    (tmp_path / "broken.jsonl").write_text('{"a": 1}\n\n{"a": \n')
    (tmp_path / "list.jsonl").write_text("[]\n")
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "other.jsonl").write_text(lines(*run(TASKS, 1)))
    (tmp_path / "odd.jsonl").write_text(lines(record("t1", 0, run_id="r-odd")))
    flags = {"--tasks": files[0], "--runs": files[1], **changes}
    words = [word for flag, value in flags.items() if value is not None for word in (flag, value)]
    assert_refused(command("score", *words), message)


def test_a_reader_that_stops_early_is_no_crash(files):
    words = [PROGRAM, "score", "--tasks", str(files[0]), "--runs", str(files[1]), "--format", "json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode in (0, 1)


def test_of_several_mistakes_a_broken_line_comes_first(command, files):
    records = files[1].read_text().splitlines()
    files[1].write_text("\n".join([records[0], records[0], *records[1:], "{"]) + "\n")
    done = command("score", "--tasks", files[0], "--runs", files[1])
    assert_refused(done, r"runs\.jsonl:6: not valid JSON")


def test_records_may_come_through_a_pipe(files):
    words = [PROGRAM, "score", "--tasks", str(files[0]), "--runs", "/dev/stdin", "--format", "json"]
    done = subprocess.run(words, input=files[1].read_bytes(), capture_output=True, check=True)
    assert len(json.loads(done.stdout)["records"]) == 4
