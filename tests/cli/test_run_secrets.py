import base64
import os
import time
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.bench import MARK, finish
from tests.support.catalog_api import KEY, Reply
from tests.support.planted import files, found
from tests.support.records import task

API_KEY = "catalog/key+with=marks-4f8a1c"
PLANTED = {
    "OPENAI_API_KEY": "sk-planted-openai-90871234",
    "GITHUB_TOKEN": "ghp_planted5567GithubToken",
    "INPUT_API_KEY": "planted-action-input-7781",
    "QVERIS_OTHER": "planted-qveris-other-2231",
    "AWS_SECRET_ACCESS_KEY": "planted/aws+secret=3391",
    "PATHOLOGICAL": "planted-plain-variable-6612",
}
PROVIDER = "provider-body-secret-1180"
ADAPTER = "adapter-output-secret-5529"
SECRETS = [API_KEY, *PLANTED.values(), PROVIDER, ADAPTER]


def echoing(request):
    """An API that sends the key back wherever it can, beside a secret of its own."""
    texts = [API_KEY, quote(API_KEY, safe=""), base64.b64encode(API_KEY.encode()).decode(), PROVIDER]
    body = {"message": " ".join(texts), "error": {API_KEY: PROVIDER}, "authorization": f"Bearer {API_KEY}"}
    headers = {"x-echo": " ".join(texts), "www-authenticate": f"Bearer {API_KEY}"}
    trouble = {
        "t1/discover": Reply({"status": "failure", **body}, headers=headers),
        "t2/discover": Reply(body, status=500, headers=headers),
        "t3/inspect": Reply({"status": 500, "data": body, "message": API_KEY}, headers=headers),
        "t4/call": Reply(body, status=502, headers=headers),
        "t5/call": Reply(
            {"success": False, "error_message": " ".join(texts), "result": body}, headers=headers
        ),
        "t6/discover": Reply(b"{" + API_KEY.encode(), headers=headers),
        "t7/discover": Reply({}, status=302, headers={"location": f"http://127.0.0.1:1/?key={API_KEY}"}),
        "t8/inspect": Reply(
            {"results": [{"tool_id": "a.tool", "params": [{"name": "x", "type": API_KEY, "required": True}]}]}
        ),
    }
    session = request.body["session_id"]
    if request.operation == "discover":
        echoing.tasks[session] = request.body["query"].split(" ")[0]  # type: ignore[attr-defined]
    return trouble.get(f"{echoing.tasks[session]}/{request.operation}")  # type: ignore[attr-defined]


@pytest.fixture
def planted(bench):
    """A run in which everything that may leak does what it can."""
    echoing.tasks = {}  # type: ignore[attr-defined]
    bench.environment |= PLANTED | {"QVERIS_API_KEY": API_KEY}
    bench.api.before = echoing
    noise = f"Traceback: {ADAPTER} {base64.b64encode(ADAPTER.encode()).decode()}\n"
    coded = {"stderr": f"{noise}DISCOVERCALL_ADAPTER_ERROR=model_failed\n{noise}", "exit": 1}
    bench.script = {
        "log": str(bench.folder / "payloads.jsonl"),
        "t0/select": {"stderr": noise},
        "t9/select": {"stderr": noise, "exit": 1},
        "t10/select": coded,
        "t11/parameterize": {"raw": f"{{ {ADAPTER}"},
        "t12/select": {"raw": f'{{"tool_id": null, "note": "{ADAPTER}"}}'},
        "t13/parameterize": {"raw": f'["{ADAPTER}"]'},
        "t14/select": {"stderr": f"DISCOVERCALL_ADAPTER_ERROR={ADAPTER}\n", "exit": 1},
    }
    bench.use_tasks(*(task(f"t{i}") for i in range(15)))
    return bench


def everything(bench, done):
    own = (bench.folder / "script.json",)  # what the test itself wrote
    return {**files(bench.folder, but=own), "stdout": done.out.encode(), "stderr": done.err.encode()}


def test_no_secret_gets_into_records_journal_output_or_adapters(planted):
    done = planted.run(adapter_env=[MARK], concurrency=8)
    assert done.code == 0, done.err
    assert len(planted.records()) == 15
    assert {r.headers["authorization"] for r in planted.api.requests} == {f"Bearer {API_KEY}"}
    (quoted,) = (r["error"]["message"] for r in planted.records() if r["task_id"] == "t8")
    assert "[redacted]" in quoted  # the one message that quotes the API
    outcomes = {r["task_id"]: r.get("error", {}).get("reason_code") for r in planted.records()}
    assert outcomes["t0"] is None
    assert outcomes["t10"] == "model_failed"
    assert outcomes["t14"] == "process_exit"
    assert found(SECRETS, everything(planted, done)) == []


def test_the_search_finds_what_is_there(tmp_path):
    for number, text in enumerate([API_KEY, quote(API_KEY, safe=""), f"xx{API_KEY}yy"]):
        data = base64.b64encode(text.encode()) if number == 2 else text.encode()
        (tmp_path / "file").write_bytes(b"before " + data + b" after")
        assert found([API_KEY], files(tmp_path)), number
    for offset in range(4):
        (tmp_path / "file").write_bytes(base64.b64encode(b"y" * offset + API_KEY.encode() + b"z" * offset))
        assert found([API_KEY], files(tmp_path)), offset


def test_an_adapter_gets_a_secret_only_by_its_name(planted):
    planted.use_tasks(task("t0"))
    assert planted.run(adapter_env=[MARK, "OPENAI_API_KEY"]).code == 0
    for payload in planted.payloads():
        assert payload["environment"]["OPENAI_API_KEY"] == PLANTED["OPENAI_API_KEY"]
    everywhere = files(
        planted.folder, but=[planted.folder / "payloads.jsonl", planted.folder / "script.json"]
    )
    assert found(SECRETS, everywhere) == []


@pytest.mark.parametrize("trouble", ["refused key", "interrupt"])
def test_no_secret_gets_into_messages_when_a_run_ends_early(planted, trouble):
    if trouble == "refused key":
        planted.api.before = lambda _: Reply({"message": API_KEY}, status=401, headers={"x-echo": API_KEY})
        done = planted.run()
        assert done.code == 2
    else:
        planted.script["t0/select"] = {"sleep_s": 600}
        process = planted.start(concurrency=1)
        planted.api.wait_for("discover", process)
        process.terminate()
        done = finish(process)
        assert done.code == 130
    assert found(SECRETS, everything(planted, done)) == []


def test_the_key_is_in_no_process_list_while_adapters_run(planted):
    planted.use_tasks(task("t0"))
    planted.script = {"t0/select": {"sleep_s": 600}}
    process = planted.start()
    planted.api.wait_for("discover", process)
    deadline = time.monotonic() + 30
    while not planted.left_behind():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    lists = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) not in (process.pid, os.getpid()):
            try:
                lists[folder.name] = (folder / "cmdline").read_bytes()
                if int(folder.name) in planted.left_behind():
                    lists[f"{folder.name} environ"] = (folder / "environ").read_bytes()
            except OSError:
                continue
    lists["the command itself"] = Path(f"/proc/{process.pid}/cmdline").read_bytes()
    process.terminate()
    assert finish(process).code == 130
    assert found([API_KEY, KEY], lists) == []
