import json
import os
import re
import stat
from typing import Any

from discovercall.contract.journal import read_journal
from discovercall.contract.record import catalog_observation_sha256
from discovercall.foundation.json_text import compact_bytes
from tests.support.bench import MARK, essence
from tests.support.catalog_api import KEY, Reply, Request, tool
from tests.support.records import constraint, task

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def test_a_whole_run(bench):
    bench.api.tools = {"a.tool": tool(), "b.tool": tool()}
    bench.api.headers = {"x-qveris-api-version": "api-7", "x-qveris-catalog-version": "cat-3"}
    bench.script["log"] = str(bench.folder / "payloads.jsonl")
    bench.use_tasks(task("t1"), task("t2", discover_query="other query"))
    done = bench.run(trials=2)
    assert done.code == 0, done.err
    assert done.out == f"Wrote {bench.output}\n"
    assert "4 of 4 trials; 4 billed calls; 12 requests (4 discover, 4 inspect, 4 call)" in done.err
    assert "Limit: at most 4 billed calls" in done.err

    records = bench.records()
    assert [(r["task_id"], r["trial"]) for r in records] == [("t1", 1), ("t1", 2), ("t2", 1), ("t2", 2)]
    first = records[0]
    expected = {
        "schema_version": 1,
        "benchmark_version": "v2",
        "model": "model-1",
        "metadata": {
            "lane": "configured-model",
            "model_revision": "unreported",
            "adapter_revision": "adapter-1",
            "toolkit_revision": first["metadata"]["toolkit_revision"],
            "task_set_sha256": first["metadata"]["task_set_sha256"],
            "api_base_url": bench.api.base_url,
            "api_revision": "api-7",
            "catalog_revision": "cat-3",
            "catalog_observation_sha256": catalog_observation_sha256(records),
            "runtime": first["metadata"]["runtime"],
            "discovery_limit": 10,
            "execute": True,
        },
        "task_id": "t1",
        "trial": 1,
        "status": "completed",
        "discovery": {"result_tool_ids": ["a.tool", "b.tool"]},
        "selection": {"tool_id": "a.tool"},
        "inspection": {"returned_tool_ids": ["a.tool"], "required_parameters": ["city"]},
        "parameters": {"city": "London"},
        "call": {"attempted": True, "success": True, "result_nonempty": True},
    }
    assert {name: first[name] for name in expected} == expected
    assert set(first["metadata"]["runtime"]) == {"python", "platform", "arch"}
    assert all(r["metadata"] == first["metadata"] for r in records)
    assert all(re.fullmatch(UUID, r["run_id"]) for r in records)
    assert len({r["run_id"] for r in records}) == 4
    assert all(re.fullmatch(TIME, r["started_at"]) for r in records)
    assert all(r["started_at"] <= r["finished_at"] for r in records)
    assert stat.S_IMODE(bench.output.stat().st_mode) == 0o600
    assert stat.S_IMODE(bench.journal.stat().st_mode) == 0o600
    assert bench.output.read_bytes() == b"".join(compact_bytes(r) + b"\n" for r in records)
    assert [e.content["kind"] for e in read_journal(bench.journal)].count("trial_finished") == 4
    assert bench.nothing_left_within()

    sessions: dict[str, list[Request]] = {}
    for request in bench.api.requests:
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert request.headers["content-type"] == "application/json"
        sessions.setdefault(request.body["session_id"], []).append(request)
    assert len(sessions) == 4
    assert not set(sessions) & {r["run_id"] for r in records}
    for session, (discover, inspect, call) in sessions.items():
        search_id = f"search-{session[:8]}"
        query = discover.body["query"]
        assert query in ("t1 query", "other query")
        assert discover.body == {"query": query, "limit": 10, "session_id": session, "view": "routing"}
        assert inspect.body == {
            "tool_ids": ["a.tool"],
            "search_id": search_id,
            "session_id": session,
            "view": "lean",
        }
        assert call.query == {"tool_id": ["a.tool"]}
        assert call.body == {
            "parameters": {"city": "London"},
            "search_id": search_id,
            "session_id": session,
            "model": "model-1",
            "respond_with": "full",
        }
    logged = (bench.folder / "payloads.jsonl").read_text()
    assert not any(session in logged for session in sessions)
    assert "search-" not in logged


def test_a_model_adapter_sees_the_task_and_nothing_that_scores_it(bench):
    bench.script["log"] = str(bench.folder / "payloads.jsonl")
    bench.use_tasks(
        task(
            "t1",
            constraints=[constraint(value="Hidden value")],
            reference={"candidates": [{"tool_id": "secret.candidate", "parameters": {}}]},
        )
    )
    bench.environment |= {"GITHUB_TOKEN": "gh-token", "OTHER": "other-value", "LC_TIME": "C"}
    assert bench.run(adapter_env=[MARK]).code == 0
    select, parameterize = bench.payloads()
    assert select["request"]["input"] == {
        "task_id": "t1",
        "prompt": "Do t1.",
        "discovery": {"results": [{"tool_id": "a.tool", "capability": "text"}]},
    }
    assert parameterize["request"]["input"]["selected_tool"] == {
        "tool_id": "a.tool",
        **bench.api.tools["a.tool"],
    }
    for payload in (select, parameterize):
        assert payload["request"]["adapter_protocol_version"] == 1
        assert payload["request"]["trial"] == 1
        assert "Hidden value" not in json.dumps(payload)
        assert "secret.candidate" not in json.dumps(payload)
        assert str(bench.tasks) not in json.dumps(payload)
        names = set(payload["environment"]) - {"PWD", "SHLVL", "_", "OLDPWD"}
        assert names == {"PATH", "HOME", "LANG", "LC_TIME", MARK}


def test_a_dry_run_calls_nothing(bench):
    done = bench.run(execute=False)
    assert done.code == 0
    assert "Limit: no billed call (no --execute)" in done.err
    (record,) = bench.records()
    assert record["status"] == "completed"
    assert record["call"] == {"attempted": False, "success": None}
    assert record["metadata"]["execute"] is False
    assert record["parameters"] == {"city": "London"}
    assert [r.operation for r in bench.api.requests] == ["discover", "inspect"]


GATES: dict[str, tuple[dict[str, Any], dict[str, Any], str, int]] = {
    # reason code: (what the API answers, what the adapter does, stage, requests sent)
    "missing_search_id": ({"discover": {"search_id": " ", "results": []}}, {}, "discover", 1),
    "missing_tool_id": ({}, {"select": {"answer": {"tool_id": "\ufeff"}}}, "select", 1),
    "ungrounded_tool_id": ({}, {"select": {"answer": {"tool_id": "no.tool"}}}, "select", 1),
    "selected_tool_not_returned": ({"inspect": {"results": [{"tool_id": "b"}]}}, {}, "inspect", 2),
    "unsupported_parameter_schema": (
        {"inspect": {"results": [{"tool_id": "a.tool", "params": [{"name": "x", "required": True}]}]}},
        {},
        "parameterize",
        2,
    ),
    "invalid_parameters": ({}, {"parameterize": {"answer": [1]}}, "parameterize", 2),
    "invalid_parameter_values": (
        {},
        {"parameterize": {"answer": {"parameters": {"city": 7, "x": None}}}},
        "parameterize",
        2,
    ),
    "failure_envelope": ({"discover": {"status": "failure", "data": None}}, {}, "api", 1),
    "invalid_response": ({"discover": b"{"}, {}, "api", 1),
    "http_500": ({"call": Reply({}, status=500)}, {}, "api", 3),
    "network_failure": ({"call": Reply(reset=True)}, {}, "api", 3),
    "timeout": ({}, {"select": {"sleep_s": 600}}, "adapter", 1),
    "invalid_json": ({}, {"select": {"raw": "{"}}, "adapter", 1),
    "stdout_limit": ({}, {"select": {"raw": "x" * 1_000_001}}, "adapter", 1),
    "stderr_limit": ({}, {"parameterize": {"stderr": "x" * 100_001}}, "adapter", 2),
    "process_exit": ({}, {"select": {"exit": 3}}, "adapter", 1),
    "rate_limited": (
        {},
        {"select": {"stderr": "DISCOVERCALL_ADAPTER_ERROR=rate_limited\n", "exit": 1}},
        "adapter",
        1,
    ),
}


def reply_with(changes):
    def reply(request):
        change = changes.get(request.operation)
        return change if change is None or isinstance(change, Reply) else Reply(change)

    return reply


def test_every_gate_has_its_stage_and_reason_code_and_goes_no_further(bench):
    """One run with a task for each gate, so that one start serves them all."""
    bench.use_tasks(*(task(f"{name}-task", discover_query=name) for name in GATES))
    sessions = {}
    for name, (_, script, _, _) in GATES.items():
        bench.script |= {f"{name}-task/{stage}": act for stage, act in script.items()}

    def reply(request):
        if request.operation == "discover":
            sessions[request.body["session_id"]] = request.body["query"]
        return reply_with(GATES[sessions[request.body["session_id"]]][0])(request)

    bench.api.before = reply
    done = bench.run(adapter_timeout_ms=3000, concurrency=8)
    assert done.code == 0, done.err
    by_task = {record["task_id"]: record for record in bench.records()}
    sent = [sessions[request.body["session_id"]] for request in bench.api.requests]
    for name, (_, _, stage, requests) in GATES.items():
        record = by_task[f"{name}-task"]
        assert record["status"] == "failed", name
        assert (record["error"]["stage"], record["error"]["reason_code"]) == (stage, name)
        assert 0 < len(record["error"]["message"]) <= 500
        assert record["call"]["attempted"] is (requests == 3), name
        assert record["call"]["success"] is None, name
        assert "result_nonempty" not in record["call"], name
        assert sent.count(name) == requests, name
    assert by_task["ungrounded_tool_id-task"]["selection"] == {"tool_id": "no.tool"}
    assert by_task["missing_tool_id-task"]["selection"] == {"tool_id": None}
    assert by_task["invalid_parameter_values-task"]["parameters"] == {"city": 7}
    assert by_task["invalid_parameters-task"]["inspection"]["required_parameters"] == ["city"]
    assert by_task["unsupported_parameter_schema-task"]["inspection"]["required_parameters"] == ["x"]
    assert by_task["selected_tool_not_returned-task"]["inspection"]["returned_tool_ids"] == ["b"]
    assert by_task["http_500-task"]["error"]["message"] == "API request failed"
    assert bench.nothing_left_within()


DEEP = b'{"success":true,"result":' + b'{"data":' * 50_000 + b"1" + b"}" * 50_001
ANSWERS: dict[str, tuple[Any, bool, bool]] = {
    # name: (answer to the call, success, whether the result counts as non-empty)
    "refused": ({"success": False, "result": {"a": 1}}, False, False),
    "only true is true": ({"success": "true", "result": 1}, False, False),
    "null": ({"success": True, "result": None}, True, False),
    "missing": ({"success": True}, True, False),
    "zero": ({"success": True, "result": {"data": 0}}, True, True),
    "deep": (DEEP, True, True),
}


def test_an_answered_call_completes_the_trial_whatever_the_answer(bench):
    bench.use_tasks(*(task(name, discover_query=name) for name in ANSWERS))
    bench.api.results = {name: [name] for name in ANSWERS}
    bench.api.tools = {name: tool() for name in ANSWERS}
    bench.api.before = lambda r: Reply(ANSWERS[r.query["tool_id"][0]][0]) if r.operation == "call" else None
    assert bench.run().code == 0
    for record in bench.records():
        _, success, nonempty = ANSWERS[record["task_id"]]
        assert record["status"] == "completed"
        assert "error" not in record
        assert record["call"] == {"attempted": True, "success": success, "result_nonempty": nonempty}


def mixed(request):
    """Failures that depend on the request alone, so that the order of requests cannot matter."""
    if request.operation == "call" and request.body["parameters"]["city"] == "Rome":
        return Reply({"success": False})
    return None


def test_one_trial_at_a_time_or_sixteen_give_the_same_records_in_plan_order(bench):
    tasks = [task(f"t{i}") for i in range(9)]
    bench.use_tasks(*tasks)
    bench.api.before = mixed
    bench.api.headers = {"x-qveris-catalog-version": "cat-1"}
    bench.script = {
        "t1/parameterize": {"answer": {"parameters": {"city": "Rome"}}},
        "t2/1/select": {"answer": {"tool_id": None}},
        "t3/2/select": {"exit": 1},
        "t4/select": {"sleep_s": 0.3},
    }
    found = {}
    for concurrency in (1, 16):
        bench.output = bench.folder / f"run-{concurrency}.jsonl"
        done = bench.run(trials=2, concurrency=concurrency)
        assert done.code == 0, done.err
        found[concurrency] = [essence(record) for record in bench.records()]
    assert found[1] == found[16]
    assert [(r["task_id"], r["trial"]) for r in found[1]] == [(t["id"], n) for t in tasks for n in (1, 2)]
    assert {r["status"] for r in found[1]} == {"completed", "failed"}


def test_the_intent_to_call_is_on_disk_before_the_request_leaves(bench):
    seen = []

    def look(request):
        if request.operation == "call":
            intents = [e for e in bench.entries() if e["kind"] == "call_intent"]
            seen.append(sorted((e["task_id"], e["trial"]) for e in intents))
            os.stat(bench.journal)

    bench.api.before = look
    assert bench.run(trials=3, concurrency=1).code == 0
    assert seen == [[("weather", 1)], [("weather", 1), ("weather", 2)], [("weather", n) for n in (1, 2, 3)]]
    kinds = [e["kind"] for e in bench.entries()]
    assert kinds.count("call_outcome") == kinds.count("trial_finished") == 3
    assert kinds[0] == "plan"


def test_a_retried_call_is_one_billed_call(bench):
    replies = iter([Reply({}, status=429, headers={"retry-after": "0"}), None])
    bench.api.before = lambda request: next(replies) if request.operation == "call" else None
    assert bench.run().code == 0
    assert bench.api.count("call") == 2
    assert [e["kind"] for e in bench.entries()].count("call_intent") == 1
    assert bench.records()[0]["call"]["success"] is True


def test_the_reference_adapter_takes_this_runs_task_file(bench):
    candidates = [
        {"tool_id": "gone.tool", "parameters": {}},
        {"tool_id": "a.tool", "parameters": {"city": "London", "days": 3}},
    ]
    bench.api.tools["a.tool"] = tool(
        {"name": "city", "type": "string", "required": True},
        {"name": "days", "type": "integer", "required": False},
    )
    bench.use_tasks(
        task("t1", reference={"candidates": candidates}),
        task("t2", reference={"candidates": candidates[:1]}),
        task("t3"),
    )
    done = bench.run(adapter="reference", lane="reference", model_revision="r1", adapter_revision=None)
    assert done.code == 0, done.err
    first, second, third = bench.records()
    assert first["parameters"] == {"city": "London", "days": 3}
    assert first["metadata"]["adapter_revision"].endswith("/reference")
    assert second["error"]["reason_code"] == "missing_tool_id"
    assert third["error"]["reason_code"] == "missing_reference"


def test_an_old_line_of_the_environment_can_name_the_api(bench):
    bench.environment["QVERIS_BASE_URL"] = bench.api.base_url.replace("127.0.0.1", "LOCALHOST") + "/"
    assert bench.run(api_base_url=None).code == 0
    assert bench.records()[0]["metadata"]["api_base_url"] == bench.api.base_url.replace(
        "127.0.0.1", "localhost"
    )


def test_adapter_arguments_may_begin_with_dashes(bench):
    bench.script["log"] = str(bench.folder / "payloads.jsonl")
    bench.adapter.write_text(bench.adapter.read_text().rstrip("\n") + ' "$@"\n')
    assert bench.run(adapter_arg=["--effort", "-x", "--key=v"]).code == 0
    assert bench.payloads()[0]["argv"][1:] == ["--effort", "-x", "--key=v"]
