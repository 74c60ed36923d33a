"""What is wrong is told in one line, before anything is sent or written."""

import os
import subprocess

import pytest

from tests.support.bench import assert_refused, finish
from tests.support.catalog_api import KEY
from tests.support.records import lines, task

SECRET = "p4ssw0rd-in-the-address"
NAME = "must have 1 to 256 characters, not blank, no control or format characters"


@pytest.fixture
def refused(bench, command):
    """Runs the command and checks that nothing was sent, written or changed."""
    bench.environment["GIT_CONFIG_GLOBAL"] = os.devnull

    def refuse(message, **changes):
        before = snapshot(bench.folder)
        done = command(*bench.arguments(**changes), **bench.environment)
        assert_refused(done, message)
        assert KEY not in done.err
        assert bench.api.requests == []
        assert snapshot(bench.folder) == before
        return done

    return refuse


def snapshot(folder):
    return {
        str(path): (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
        for path in folder.rglob("*")
        if ".git/" not in f"{path}/"
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": None}, "--tasks: is required; name a task set, as tasks/v4.jsonl$"),
        ({"model": None}, "--model: is required; say what"),
        ({"lane": None}, "--lane: is required; one of reference, "),
        ({"adapter": None}, "--adapter: is required; name a program"),
        ({"output": None}, "--output: is required; name a new file"),
        ({"adapter_revision": None}, "--adapter-revision: is required for an adapter of your own; name its"),
        ({"lane": "model"}, "--lane: 'model' is no lane; the lanes are reference, configured-model, pinned-"),
        ({"lane": "Reference"}, "--lane: 'Reference' is no lane"),
        ({"lane": "reference"}, "--model-revision: is required for the lane reference$"),
        ({"lane": "pinned-model"}, "--model-revision: is required for the lane pinned-model$"),
        ({"model": " "}, f"--model: {NAME}$"),
        ({"model": "a" * 257}, f"--model: {NAME}$"),
        ({"model": "a\x1b[31m"}, f"--model: {NAME}$"),
        ({"model_revision": "a\u200db"}, f"--model-revision: {NAME}$"),
        ({"adapter_revision": ""}, f"--adapter-revision: {NAME}$"),
        ({"toolkit_revision": "main"}, "--toolkit-revision: is no commit; give 40 or 64 "),
        ({"trials": 0}, "--trials: must be 1 to 100, not 0$"),
        ({"trials": 101}, "--trials: must be 1 to 100, not 101$"),
        ({"trials": "three"}, "--trials: must be a whole number"),
        ({"limit": 0}, "--limit: must be 1 to 100, not 0$"),
        ({"limit": 101}, "--limit: must be 1 to 100, not 101$"),
        ({"concurrency": 0}, "--concurrency: must be 1 to "),
        ({"adapter_timeout_ms": 0}, "--adapter-timeout-ms: must be "),
        ({"adapter_timeout_ms": "9" * 400}, "--adapter-timeout-ms: must be "),
        ({"max_billed_calls": -1}, "--max-billed-calls: must not be negative$"),
        ({"requests_per_minute": 0}, "--requests-per-minute: must be a number above 0$"),
        ({"requests_per_minute": "nan"}, "--requests-per-minute: must be a number above 0$"),
        ({"requests_per_minute": "inf"}, "--requests-per-minute: must be a number above 0$"),
        ({"adapter_env": ["QVERIS_API_KEY"]}, "--adapter-env: QVERIS_API_KEY is never passed to an adapter"),
        ({"adapter_env": ["gh_token"]}, "--adapter-env: gh_token is never passed to an adapter"),
        ({"adapter_env": ["HOME=x"]}, "--adapter-env: not the name of an environment variable"),
        ({"unknown_flag": "x"}, "--unknown-flag: no such option"),
        ({"adapter": "no-such-command"}, "--adapter: no-such-command: no such command"),
        ({"adapter": "./nothing"}, "--adapter: ./nothing: no such file$"),
        ({"adapter": "./folder"}, "--adapter: ./folder is a folder"),
        ({"adapter": "./plain"}, r"--adapter: ./plain is not executable; chmod \+x ./plain$"),
        ({"adapter": "./lost"}, "--adapter: .*/lost: its interpreter /no/interpreter cannot be run$"),
        ({"tasks": "missing.jsonl"}, r"missing\.jsonl: cannot be read \(No such file or directory\)$"),
        ({"tasks": "folder"}, r"folder: cannot be read \(Is a directory\)$"),
        ({"tasks": "plain"}, r"plain:1: not valid JSON \("),
        ({"tasks": "latin1.jsonl"}, r"latin1\.jsonl:2: not valid UTF-8"),
        ({"tasks": "invalid.jsonl"}, r"invalid\.jsonl:2: constraints\[0\]\.aliases: should have at"),
        ({"output": "folder/none/run.jsonl"}, "--output: the folder folder/none does not exist; create it$"),
        ({"output": "folder"}, "--output: folder exists and is never overwritten"),
        ({"output": "dangling"}, "--output: dangling exists and is never overwritten; .*--resume$"),
        ({"output": "old.jsonl"}, "--output: old.jsonl exists and is never overwritten; .*--resume$"),
        ({"output": "was.jsonl"}, r"--output: was\.jsonl\.journal\.jsonl exists and is .*--resume$"),
        ({"output": "tasks.jsonl"}, "--output: tasks.jsonl is also an input; name another file$"),
        ({"output": "tasks-link"}, "--output: tasks-link is also an input"),
        ({"output": "tasks-hard"}, "--output: tasks-hard is also an input"),
        ({"output": "adapter"}, "--output: adapter is also an input"),
        ({"output": "key", "api_key_file": "key"}, "--output: key is also an input"),
        ({"api_base_url": ""}, "base URL: .*it is empty"),
        ({"api_base_url": f"https://user:{SECRET}@host.example/v1"}, "base URL: .*it has credentials"),
        ({"api_base_url": f"https://host.example/v1?key={SECRET}"}, "base URL: .*it has a query"),
        ({"api_base_url": f"https://host.example/v1#{SECRET}"}, "base URL: .*it has a query or a fragment"),
        ({"api_base_url": f"http://{SECRET}.example/v1"}, "base URL: .*http is for localhost"),
        ({"api_base_url": f"http://127.0.0.1.{SECRET}.example/"}, "base URL: .*http is for localhost"),
        ({"api_base_url": f"ftp://{SECRET}/v1"}, "base URL: .*it is no https URL"),
        ({"api_base_url": f"https://host.example\\{SECRET}"}, "base URL: .*white space, a backslash"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(bench, refused, changes, message):
    folder = bench.folder
    (folder / "folder").mkdir()
    (folder / "plain").write_text("text\n")
    (folder / "lost").write_text("#!/no/interpreter\n")
    (folder / "lost").chmod(0o755)
    (folder / "latin1.jsonl").write_bytes(lines(task()).encode() + '{"id":"é"}'.encode("latin-1"))
    (folder / "invalid.jsonl").write_text(
        lines(task("a"), task("b", constraints=[{"id": "c", "aliases": [], "value": 1}]))
    )
    (folder / "old.jsonl").write_text("old\n")
    (folder / "was.jsonl.journal.jsonl").write_text("old\n")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "tasks-link").symlink_to("tasks.jsonl")
    (folder / "tasks-hard").hardlink_to(bench.tasks)
    (folder / "key").write_text(KEY)
    (folder / "key").chmod(0o600)
    done = refused(message, **changes)
    assert SECRET not in done.err


def test_the_environment_is_judged_like_the_flags(bench, refused):
    bench.environment["QVERIS_BASE_URL"] = f"https://{SECRET}@host.example"
    assert SECRET not in refused("base URL: .*it has credentials", api_base_url=None).err
    del bench.environment["QVERIS_BASE_URL"]
    bench.environment["GITHUB_SHA"] = "main"
    refused("GITHUB_SHA: is no commit")


def git(folder, *words):
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


@pytest.mark.parametrize("ignored", ["", "*.log\n", "run.jsonl\n", "*.journal.jsonl\n"])
def test_private_records_do_not_get_into_a_repository(bench, refused, ignored):
    inside = bench.folder / "repository" / "deep"
    inside.mkdir(parents=True)
    git(inside.parent, "init", "--quiet")
    (inside.parent / ".gitignore").write_text(ignored)
    refused("--output: .* lies in a git work tree that does not ignore it; .*--allow-tracked-output$",
            output=inside / "run.jsonl")  # fmt: skip


@pytest.mark.parametrize(("ignored", "flag"), [("run.jsonl*\n", None), ("", True)])
def test_an_ignored_output_or_an_allowed_one_is_fine(bench, ignored, flag):
    inside = bench.folder / "repository" / "deep"
    inside.mkdir(parents=True)
    git(inside.parent, "init", "--quiet")
    (inside.parent / ".gitignore").write_text(ignored)
    bench.output = inside / "run.jsonl"
    assert bench.run(allow_tracked_output=flag).code == 0
    assert len(bench.records()) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (None, "QVERIS_API_KEY: no catalog key; set it, or name a file with --api-key-file"),
        ("key", "--api-key-file: key can be read by others; chmod 600 key"),
    ],
)
def test_a_key_that_cannot_be_used_is_refused(bench, name, message):
    del bench.environment["QVERIS_API_KEY"]
    (bench.folder / "key").write_text(KEY)
    (bench.folder / "key").chmod(0o640)
    done = bench.run(api_key_file=name)
    assert_refused(done, message)
    assert KEY not in done.err
    assert bench.api.requests == []
    assert not bench.output.exists()
    assert not bench.journal.exists()


@pytest.mark.parametrize("name", ["-", "pipe"])
def test_a_key_may_come_through_a_pipe(bench, name):
    del bench.environment["QVERIS_API_KEY"]
    if name == "pipe":
        os.mkfifo(bench.folder / "pipe", 0o644)
        process = bench.start(api_key_file="pipe")
        (bench.folder / "pipe").write_text(f"{KEY}\n")
        done = finish(process)
    else:
        done = bench.run(api_key_file=name, stdin=f"{KEY}\n")
    assert done.code == 0, done
    assert bench.api.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_the_program_itself_refuses_in_one_line_too(bench):
    bench.output.write_text("precious")
    assert_refused(
        bench.run(), "--output: .* exists and is never overwritten; name another file, or .*--resume"
    )
    assert bench.output.read_text() == "precious"
    assert not bench.journal.exists()
    assert bench.api.requests == []
