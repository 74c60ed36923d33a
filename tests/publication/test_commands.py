"""`publish` and `validate` as a user runs them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from discovercall.cli.main import main
from discovercall.foundation.jsonl import dump_lines
from discovercall.publication.pair import Pair
from discovercall.publication.repository import check_repository
from discovercall.publication.transaction import journal_of
from tests.docs.test_commands import lines_of, words_of
from tests.publication.runs import (
    LOOPBACK_URL,
    PRIVATE_TOOL,
    ROOT,
    SANDBOX_URL,
    policy_json,
    prepared,
    private_run,
)
from tests.publication.test_transaction import kill_with_journal
from tests.support.output_schemas import checked

PROGRAM = str(Path(sys.executable).parent / "discovercall")
TASKS = ROOT / "tasks" / "v4.jsonl"
KEY_TEXT = bytes(range(32)).hex()
STEM = "2026-11-30-model-a-configured-v4"


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


class Desk:
    """A folder with private records, a policy and a place for results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = folder / "out"
        self.results.mkdir()
        self.private = folder / "private.jsonl"
        self.policy = folder / "policy.json"
        self.write(private_run())
        self.policy.write_text(json.dumps(policy_json(2)))
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}

    def write(self, records: list[dict[str, Any]]) -> None:
        self.private.write_bytes(dump_lines(records))

    def run(self, *arguments: Any, **environment: str) -> Done:
        """A command inside this process, for starting one takes longer than what it does."""
        out, err = io.StringIO(), io.StringIO()
        with (
            mock.patch.dict(os.environ, self.environment | environment, clear=True),
            mock.patch.object(sys, "argv", [PROGRAM, *map(str, arguments)]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as ended,
        ):
            main()
        return Done(int(str(ended.value.code)), out.getvalue(), err.getvalue())

    def start(self, *arguments: Any) -> subprocess.Popen[bytes]:
        """A command as a process of its own."""
        return subprocess.Popen([PROGRAM, *map(str, arguments)], env=self.environment)

    def outputs(self, stem: str = STEM) -> list[Any]:
        pair = Pair(self.results, stem)
        return ["--output-runs", pair.runs, "--output-summary", pair.summary]

    def publish(self, *more: Any, stem: str = STEM, **environment: str) -> Done:
        arguments = ["--tasks", TASKS, "--runs", self.private, "--policy", self.policy, *self.outputs(stem)]
        return self.run("publish", *arguments, *more, **environment)

    def validate(self, *more: Any, stem: str = STEM) -> Done:
        pair = Pair(self.results, stem)
        paths = ["--runs", pair.runs, "--summary", pair.summary, "--policy", self.policy]
        return self.run("validate", "--tasks", TASKS, *paths, *more)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_run_is_published_and_anybody_can_validate_it(desk: Desk) -> None:
    done = desk.publish("--format", "json", DISCOVERCALL_PUBLICATION_KEY=KEY_TEXT)
    assert done.returncode == 0, done.stderr
    assert checked("publish", done.stdout)["published"][0]["records"] == 54
    valid = desk.validate()
    assert (valid.returncode, valid.stderr) == (0, "")
    assert "official pair" in valid.stdout
    runs, summary = (path.read_text() for path in sorted(desk.results.iterdir()))
    assert PRIVATE_TOOL not in runs + summary
    assert KEY_TEXT not in runs + summary
    assert json.loads(summary)["discovercall"]["rehearsal"] is False


def test_a_changed_summary_is_explained_field_by_field(desk: Desk) -> None:
    assert desk.publish().returncode == 0
    path = Pair(desk.results, STEM).summary
    summary = json.loads(path.read_text())
    rate = summary["models"][0]["result_nonempty_rate"]
    assert rate == 0.75
    path.write_text(
        path.read_text().replace('"result_nonempty_rate": 0.75', '"result_nonempty_rate": 0.8824')
    )
    done = desk.validate()
    assert done.returncode == 1
    assert "models[0].result_nonempty_rate: published 0.8824, recomputed 0.75" in done.stderr
    report = checked("validate", desk.validate("--format", "json").stdout)
    assert report["ok"] is False
    assert any("result_nonempty_rate" in line for line in report["refused"])


def test_both_lanes_of_a_run_share_one_key_that_is_not_kept(desk: Desk) -> None:
    other = desk.folder / "other.jsonl"
    records = private_run()
    for record in records:
        record |= {"run_id": f"other-{record['run_id']}", "model": "model-b"}
    other.write_bytes(dump_lines(records))
    second = ["--runs", other, *desk.outputs("2026-11-30-model-b-configured-v4")]
    assert desk.publish(*second).returncode == 0
    digests = [
        json.loads(path.read_text().splitlines()[1])["selection"]["tool_id_sha256"]
        for path in sorted(desk.results.glob("*.runs.jsonl"))
    ]
    assert digests[0] == digests[1]
    assert desk.publish().returncode == 0
    again = json.loads(Pair(desk.results, STEM).runs.read_text().splitlines()[1])["selection"][
        "tool_id_sha256"
    ]
    assert again != digests[0]


@pytest.mark.parametrize("url", [SANDBOX_URL, LOOPBACK_URL])
def test_a_rehearsal_needs_its_stem_and_says_what_it_is(desk: Desk, url: str) -> None:
    desk.write(private_run(api_base_url=url))
    refused = desk.publish()
    assert refused.returncode == 1
    assert "-rehearsal-v4" in refused.stderr
    stem = "2026-11-30-model-a-rehearsal-v4"
    assert desk.publish(stem=stem).returncode == 0
    summary = json.loads(Pair(desk.results, stem).summary.read_text())
    assert summary["discovercall"]["rehearsal"] is True
    assert "rehearsal pair" in desk.validate(stem=stem).stdout


REFUSALS: list[tuple[str, Any, int]] = [
    ("toolkit_revision", "unversioned", 1),
    ("api_base_url", "https://elsewhere.example/v1", 1),
    ("api_revision", "mixed:1,2", 1),
    ("api_revision", "pending", 1),
    ("adapter_revision", "sk-ant-" + "api03-" + "Xy9" * 12, 1),
]


@pytest.mark.parametrize(("field", "value", "code"), REFUSALS)
def test_a_run_that_can_not_be_published_is_refused_in_one_line(
    desk: Desk, field: str, value: Any, code: int
) -> None:
    records = private_run()
    for record in records:
        record["metadata"][field] = value
    desk.write(records)
    done = desk.publish()
    assert done.returncode == code
    assert field in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Xy9Xy9" not in done.stderr
    assert not list(desk.results.iterdir())


def test_secrets_of_the_environment_and_of_a_file_are_looked_for(desk: Desk) -> None:
    records = private_run()
    for record in records:
        record["metadata"]["model_revision"] = "built with orchid-piano-77"
    desk.write(records)
    assert desk.publish().returncode == 0
    for name in ("QVERIS_API_KEY", "MY_TOKEN", "db_password"):
        done = desk.publish(**{name: "orchid-piano-77"})
        assert (done.returncode, "orchid" in done.stderr) == (1, False)
        assert "model_revision" in done.stderr
    key_file = desk.folder / "key"
    key_file.write_text("orchid-piano-77\n")
    key_file.chmod(0o600)
    assert desk.publish("--api-key-file", key_file).returncode == 1


def test_outputs_that_would_touch_an_input_are_refused(desk: Desk) -> None:
    before = desk.private.read_bytes()
    pair = Pair(desk.results, STEM)
    os.link(desk.private, pair.runs)
    done = desk.publish()
    assert done.returncode == 2
    assert "is also the input" in done.stderr
    assert desk.private.read_bytes() == before
    pair.runs.unlink()
    done = desk.publish("--runs", desk.private, *desk.outputs())
    assert (done.returncode, "named twice" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "damage", ["missing", "not json", "not a record", "no policy", "bad key", "bad stem", "no folder"]
)
def test_bad_input_is_one_line_and_exit_2(desk: Desk, damage: str) -> None:
    environment = {}
    stem = STEM
    if damage == "missing":
        desk.private.unlink()
    elif damage == "not json":
        desk.private.write_text('{"a":\n')
    elif damage == "not a record":
        desk.private.write_text("5\n")
    elif damage == "no policy":
        desk.policy.write_text("{}")
    elif damage == "bad key":
        environment["DISCOVERCALL_PUBLICATION_KEY"] = "hunter2hunter2"
    elif damage == "bad stem":
        stem = "results"
    else:
        desk.results.rmdir()
    done = desk.publish(stem=stem, **environment)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_inputs_are_regular_files(desk: Desk, kind: str) -> None:
    odd = desk.folder / "odd"
    if kind == "pipe":
        os.mkfifo(odd)
    else:
        odd.symlink_to("/dev/zero")
    rest = ["--tasks", TASKS, "--runs", desk.private, "--policy", desk.policy, *desk.outputs()]
    pair = Pair(desk.folder, STEM)
    pair.runs.symlink_to(odd)
    for words in (
        ["publish", *rest, "--policy", odd],
        ["publish", *rest[:2], "--runs", odd, *rest[4:]],
        ["publish", *rest, "--tasks", odd],
        ["validate", "--policy", odd],
        ["validate", "--tasks", odd],
        ["validate", *rest[:2], "--policy", desk.policy, "--runs", pair.runs, "--summary", pair.summary],
    ):
        done = desk.run(*words)
        assert done.returncode in (1, 2), words
        assert "no regular file" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_lone_surrogate_is_not_published(desk: Desk) -> None:
    records = json.loads(json.dumps(private_run()).replace('"model-a"', '"m\\ud800x"'))
    desk.write(records)
    done = desk.publish()
    assert (done.returncode, list(desk.results.iterdir())) == (1, [])
    assert "without control or format characters" in done.stderr


@pytest.mark.parametrize("name", ["\x1b]0;pwned\x07\u202e", "x" * 50_000, "sk-proj-Ab12Cd34Ef56Gh78Ij90"])
def test_an_unknown_name_in_a_summary_is_cut_and_steers_nothing(desk: Desk, name: str) -> None:
    assert desk.publish().returncode == 0
    path = Pair(desk.results, STEM).summary
    value = json.loads(path.read_bytes())
    value[name] = value["models"][0][name] = 1
    path.write_text(json.dumps(value))
    done = desk.validate()
    assert done.returncode == 1
    assert name not in done.stderr
    assert len(done.stderr) < 3000
    assert not any(sign in done.stderr for sign in "\x1b\x07\u202e")


def test_validate_needs_all_four_of_a_pair(desk: Desk) -> None:
    done = desk.run("validate", "--runs", desk.private)
    assert done.returncode == 2
    assert "--tasks" in done.stderr
    assert desk.run("validate", "--policy", desk.policy).returncode == 0
    assert desk.run("validate", "--tasks", TASKS, "--policy", desk.policy).returncode == 0
    desk.policy.write_text("{}")
    assert desk.run("validate", "--policy", desk.policy).returncode == 2
    assert desk.validate().returncode == 2


def test_the_examples_of_publishing_work_as_the_page_has_them(desk: Desk) -> None:
    page = (ROOT / "results" / "README.md").read_text("utf-8")
    desk.write(private_run(api_base_url=SANDBOX_URL))
    one, two = (words_of(line) for line in lines_of(page) if words_of(line)[0] == "publish")
    assert (one.count("--runs"), two.count("--runs")) == (1, 2)
    for words in (one, two):
        for path in ("/tmp/my-reference.jsonl", "/tmp/my-first-result.jsonl"):
            words = [str(desk.private) if word == path else word for word in words]
        own = [word.replace("results/", f"{desk.results}/") for word in words]
        done = desk.run(*(str(TASKS) if word == "tasks/v4.jsonl" else word for word in own))
        assert done.returncode == 0, done.stderr
    assert len(list(desk.results.iterdir())) == 4


def test_a_publication_that_was_cut_off_is_named_and_can_be_finished(desk: Desk) -> None:
    assert desk.publish().returncode == 0
    pair = Pair(desk.results, STEM)
    kill_with_journal(pair)
    done = desk.validate()
    assert done.returncode == 1
    assert "cut off" in done.stderr
    assert "--repair" in done.stderr
    assert pair.runs.stat().st_size > 100
    assert desk.publish().returncode == 0  # publishing again finishes it and goes on
    assert not journal_of(pair).exists()
    assert desk.validate().returncode == 0
    kill_with_journal(pair)
    repaired = desk.validate("--repair")
    assert "repaired" in repaired.stdout
    assert repaired.returncode in (1, 2)  # what was staged is no pair, and now it is seen
    assert not journal_of(pair).exists()


# --- the repository's own files ---


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A copy of the files that are checked, with a published pair."""
    root = tmp_path / "repository"
    shutil.copytree(ROOT / "tasks", root / "tasks", ignore=shutil.ignore_patterns("gateway", "invocation"))
    shutil.copy(ROOT / "publication-policy.json", root)
    (root / "results").mkdir()
    files = prepared(root / "results", 2)
    files.pair.runs.write_bytes(files.runs)
    files.pair.summary.write_bytes(files.summary)
    return root


def test_the_committed_files_are_valid() -> None:
    findings = check_repository(ROOT)
    assert not findings.refused
    kinds = {entry["kind"] for entry in findings.checked}
    assert kinds >= {"task set", "policy", "synthetic fixture", "results"}


def broken(root: Path) -> list[str]:
    return check_repository(root).refused


def test_every_kind_of_damage_is_named(repository: Path) -> None:
    root = repository
    assert broken(root) == []
    pair = Pair(root / "results", STEM)
    damages = {
        root / "tasks" / "v3.jsonl": "published was",
        root / "tasks" / "SHA256SUMS": "",
        root / "publication-policy.json": "",
        root / "tasks" / "fixtures" / "sample.runs.jsonl": "",
        pair.runs: "",
        pair.summary: "",
    }
    for path, word in damages.items():
        data = path.read_bytes()
        path.write_bytes(data.replace(b"a", b"b", 1))
        refused = broken(root)
        assert refused, path
        assert word in refused[0]
        path.write_bytes(data)
        path.unlink()
        assert broken(root), path
        path.write_bytes(data)
    assert broken(root) == []
    orphan = root / "results" / "x-v4.runs.jsonl"
    orphan.write_text("")
    assert "half of a pair" in broken(root)[0]
    orphan.rename(root / "results" / "x-v9.runs.jsonl")
    (root / "results" / "x-v9.summary.json").write_text("{}")
    assert "no valid task set v9" in broken(root)[0]


def test_a_fixture_that_does_not_say_it_is_synthetic_is_refused(repository: Path) -> None:
    root = repository
    path = root / "tasks" / "fixtures" / "sample.runs.jsonl"
    path.write_text(path.read_text().replace('"synthetic":true,', "", 1))
    assert "synthetic" in broken(root)[0]


def test_every_refusal_is_listed_not_only_the_first(repository: Path) -> None:
    root = repository
    (root / "publication-policy.json").write_text("{")
    (root / "tasks" / "v1.jsonl").write_text("{")
    assert len(broken(root)) >= 2


@pytest.mark.slow
def test_a_publication_killed_at_any_moment_is_whole_or_named(desk: Desk) -> None:
    """The real command, killed at moments spread over its life; then validate, then publish again."""
    assert desk.publish().returncode == 0
    arguments = ["--tasks", TASKS, "--runs", desk.private, "--policy", desk.policy, *desk.outputs()]
    started = time.monotonic()
    assert desk.start("publish", *arguments).wait() == 0
    life = time.monotonic() - started
    for step in range(60):
        process = desk.start("publish", *arguments)
        time.sleep(life * step / 60)
        process.send_signal(signal.SIGKILL)
        process.wait()
        checked = desk.validate()
        assert checked.returncode == 0 or "cut off" in checked.stderr, checked.stderr
        if checked.returncode:
            assert desk.validate("--repair").returncode == 0
    assert desk.publish().returncode == 0
    assert len(list(desk.results.iterdir())) == 2
