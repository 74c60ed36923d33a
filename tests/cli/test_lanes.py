"""Fair lanes: one discovery per task and trial, whatever the number of lanes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.bench import Bench, Done, assert_refused, read_lines
from tests.support.catalog_api import Reply, tool
from tests.support.records import task

TASKS = ("t1", "t2", "t3")


def lane_file(bench: Bench, *lanes: dict[str, Any]) -> Path:
    """A lane file; each lane uses the bench's adapter unless it says otherwise."""
    path = bench.folder / "lanes.toml"
    tables = []
    for lane in lanes:
        table = {
            "adapter": str(bench.adapter),
            "adapter_revision": "1",
            "adapter_env": ["DISCOVERCALL_TEST_MARK"],
        }
        tables.append(
            "[[lane]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in {**table, **lane}.items())
        )
    path.write_text("\n".join(tables))
    return path


def run_lanes(bench: Bench, lanes: Path, **changes: Any) -> Done:
    """`run --lanes`, without the flags of a single lane."""
    (bench.folder / "out").mkdir(exist_ok=True)
    single = dict.fromkeys(("model", "lane", "adapter", "adapter_env", "adapter_revision", "output"))
    return bench.run(**{**single, "lanes": lanes, "out": bench.folder / "out", **changes})


@pytest.fixture
def three(bench: Bench) -> Path:
    bench.use_tasks(*(task(name) for name in TASKS))
    bench.script = {"log": str(bench.folder / "log.jsonl")}
    second = Path(str(bench.adapter) + "-last")  # takes the last result, the others take the first
    second.write_text(
        "#!/bin/sh\nread -r request\ncase $request in\n"
        '  *\'"stage":"select"\'*) printf \'{"tool_id":"b.tool"}\' ;;\n'
        '  *) printf \'{"parameters":{"city":"London"}}\' ;;\nesac\n'
    )
    second.chmod(0o755)
    bench.api.tools = {"a.tool": tool(), "b.tool": tool()}
    return lane_file(
        bench,
        {"name": "reference", "model": "one", "model_revision": "r-1"},
        {"name": "configured-model", "model": "two"},
        {"name": "current-model", "model": "three", "adapter": str(second)},
    )


def test_lanes_share_one_discovery_and_one_inspection_per_tool(bench: Bench, three: Path) -> None:
    done = run_lanes(bench, three, trials=2, concurrency=4)
    assert done.code == 0, done
    trials = len(TASKS) * 2
    assert bench.api.count("discover") == trials
    assert bench.api.count("inspect") == trials * 2, "two of the three lanes selected the same tool"
    assert bench.api.count("call") == trials * 3
    sessions = Counter(request.body["session_id"] for request in bench.api.requests)
    assert len(sessions) == trials
    assert set(sessions.values()) == {1 + 2 + 3}


def test_lanes_have_an_output_each_and_equal_catalogs(bench: Bench, three: Path) -> None:
    assert run_lanes(bench, three, trials=2).code == 0
    outputs = {
        name: read_lines(bench.folder / "out" / f"{name}.jsonl")
        for name in ("reference", "configured-model", "current-model")
    }
    assert {record["model"] for record in outputs["reference"]} == {"one"}
    assert {record["model"] for record in outputs["current-model"]} == {"three"}
    observed = {r["metadata"]["catalog_observation_sha256"] for records in outputs.values() for r in records}
    assert len(observed) == 1
    assert "pending" not in observed
    for position in range(len(TASKS) * 2):
        rows = [records[position] for records in outputs.values()]
        assert len({(row["task_id"], row["trial"]) for row in rows}) == 1
        assert len({row["pairing"]["id"] for row in rows}) == 1
        assert len({row["run_id"] for row in rows}) == 3
    assert len({r["pairing"]["id"] for r in outputs["reference"]}) == len(TASKS) * 2


def test_no_id_of_the_session_reaches_an_adapter(bench: Bench, three: Path) -> None:
    assert run_lanes(bench, three, trials=1).code == 0
    seen = (bench.folder / "log.jsonl").read_text()
    for request in bench.api.requests:
        assert request.body["session_id"] not in seen
        assert request.body.get("search_id", "search-") == "search-" or request.body["search_id"] not in seen
    record = read_lines(bench.folder / "out" / "reference.jsonl")[0]
    assert record["pairing"]["id"] not in seen


def test_a_failed_discovery_fails_all_lanes(bench: Bench, three: Path) -> None:
    bench.api.before = lambda request: (
        Reply({}, status=500)
        if request.operation == "discover" and request.body["query"] == "t2 query"
        else None
    )
    assert run_lanes(bench, three, trials=1).code == 0
    for name in ("reference", "configured-model", "current-model"):
        records = {r["task_id"]: r for r in read_lines(bench.folder / "out" / f"{name}.jsonl")}
        assert records["t2"]["error"]["reason_code"] == "http_500"
        assert records["t1"]["status"] == records["t3"]["status"] == "completed"
    assert bench.api.count("discover") == len(TASKS)


def test_the_limit_of_calls_covers_all_lanes_and_what_is_left_is_resumed(bench: Bench, three: Path) -> None:
    done = run_lanes(bench, three, trials=1, max_billed_calls=4)
    assert done.code == 3, done
    assert bench.api.count("call") == 3, "a second trial would need three more"
    done = run_lanes(bench, three, trials=1, max_billed_calls=9, resume=True)
    assert done.code == 0, done
    assert bench.api.count("call") == 9
    assert bench.api.count("discover") == len(TASKS)


@pytest.mark.parametrize(
    ("lanes", "message"),
    [
        ([], "lanes.toml: lane: field required"),
        ([{"name": "oracle", "model": "m"}], r"lane\[0\]: name: 'oracle' is no lane"),
        (
            [{"name": "reference", "model": "m"}],
            r"lane\[0\]: model_revision: is required for the lane reference",
        ),
        ([{"name": "current-model", "model": "m"}] * 2, "current-model.jsonl is taken by another lane"),
        ([{"name": "current-model", "model": "m", "surprise": 1}], r"lane\[0\].surprise"),
        (
            [{"name": "current-model", "model": "m", "output": "../x"}],
            r"lane\[0\].output: must be a plain file name",
        ),
        (
            [
                {"name": "current-model", "model": "m", "output": "run.journal.jsonl"},
                {"name": "configured-model", "model": "m"},
            ],
            "is the run's journal",
        ),
    ],
)
def test_wrong_lane_files_are_refused_before_anything_is_sent(
    bench: Bench, lanes: list[dict[str, Any]], message: str
) -> None:
    assert_refused(run_lanes(bench, lane_file(bench, *lanes)), message)
    assert bench.api.requests == []
    assert list((bench.folder / "out").iterdir()) == []


def test_a_lane_file_may_begin_with_a_byte_order_mark(bench: Bench, three: Path) -> None:
    three.write_bytes("\ufeff".encode() + three.read_bytes())
    done = run_lanes(bench, three, trials=1)
    assert done.code == 0, done


def test_flags_of_one_lane_and_a_lane_file_exclude_each_other(bench: Bench, three: Path) -> None:
    assert_refused(run_lanes(bench, three, model="m"), "--model: is said in the lane file")
    assert_refused(run_lanes(bench, three, out=None), "--out: names the folder of the outputs")
    assert_refused(run_lanes(bench, three, out=""), "--out: names the folder of the outputs")
    assert_refused(bench.run(out="x"), "--out: goes with --lanes")
    assert bench.api.requests == []
