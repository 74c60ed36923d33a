"""The limits and the account of adapters that `run` was told, as an adapter meets them."""

from __future__ import annotations

import json
import os
import pwd
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from discovercall.contract.lane_options import LaneOptions
from discovercall.contract.options import RunOptions, prepare_run
from discovercall.foundation.revision import UNKNOWN_REVISION
from tests.support.bench import Bench

LIMITS = """#!{python} -IS
import json, resource, sys
sys.stdin.read()
limits = [resource.getrlimit(kind) for kind in (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)]
with open({file!r}, "w") as stream:
    json.dump(limits, stream)
"""
HUNGRY = """#!{python} -IS
import sys, time
sys.stdin.read()
held = b"x" * (200 << 20)
time.sleep(2)
open({file!r}, "w").close()
"""


def write_adapter(bench: Bench, text: str, **values: str) -> None:
    bench.adapter.write_text(text.format(python=sys.executable, **values))


def test_adapters_are_limited_as_promised(bench: Bench, tmp_path: Path) -> None:
    write_adapter(bench, LIMITS, file=str(tmp_path / "limits.json"))
    assert bench.run().code == 0
    mib = 2**20
    assert json.loads((tmp_path / "limits.json").read_text()) == [[64 * mib, 64 * mib], [1024, 1024]]


@pytest.mark.parametrize(("limit_mib", "ends"), [(100, True), (400, False)])
def test_memory_is_limited_as_it_was_said(bench: Bench, tmp_path: Path, limit_mib: int, ends: bool) -> None:
    write_adapter(bench, HUNGRY, file=str(tmp_path / "outlived"))
    assert bench.run(adapter_memory_mib=limit_mib).code == 0
    [record] = bench.records()
    assert record["error"]["stage"] == "adapter"
    assert (record["error"]["reason_code"] == "process_exit") == ends
    assert (tmp_path / "outlived").exists() != ends


def test_memory_is_limited_without_a_word_too(bench: Bench) -> None:
    lane = LaneOptions(output=bench.output, model="m", lane="configured-model", adapter="reference")
    options = RunOptions((lane,), tasks=bench.tasks, sandbox=True, allow_tracked_output=True)
    assert prepare_run(options, {}, UNKNOWN_REVISION).plan.adapter_memory_mib == 2048


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start adapters as another user")
def test_adapters_run_as_the_user_that_was_named(bench: Bench) -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        Path(folder).chmod(0o777)
        script = f"cat >/dev/null; id -u >{folder}/seen"
        ended = bench.run(adapter="/bin/sh", adapter_arg=["-c", script], adapter_user="nobody")
        assert ended.code == 0, ended
        assert Path(folder, "seen").read_text().split() == [str(pwd.getpwnam("nobody").pw_uid)]
    assert [record["isolation"] for record in bench.records()] == ["user"]
    assert "keeps adapters" not in ended.err


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"adapter_memory_mib": 100}, "adapter_memory_mib was None and is now 100"),
        (
            {"adapter_env": ["OTHER"]},
            "lanes[0].environment[0] was 'DISCOVERCALL_TEST_MARK' and is now 'OTHER'",
        ),
        pytest.param(
            {"adapter": "/bin/sh", "adapter_user": "nobody"},
            "adapter_user was None and is now 'nobody'",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can name another user"),
        ),
    ],
)
def test_what_changes_a_measurement_is_part_of_its_plan(
    bench: Bench, changes: dict[str, Any], difference: str
) -> None:
    base = {"adapter": changes.get("adapter", bench.adapter), "max_billed_calls": 0}
    first, other = (
        json.loads(bench.run(**base | more, plan_only=True, format="json").out)["plan_digest"]
        for more in ({}, changes)
    )
    assert first != other
    assert bench.run(**base).code == 3
    assert bench.run(**base, resume=True).code == 3
    refused = bench.run(**base | changes, resume=True)
    assert refused.code == 2
    assert "this is another run: " in refused.err
    assert difference in refused.err
