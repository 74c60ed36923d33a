"""A plan over MCP servers names which servers it reaches, and runs over no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from discovercall.cli.sandbox import connected
from discovercall.contract.lane_options import LaneOptions
from discovercall.contract.options import RunOptions, prepare_run
from discovercall.foundation.errors import InputError
from discovercall.foundation.revision import UNKNOWN_REVISION
from tests.support.bench import Bench, Done, assert_refused
from tests.support.one_server import SERVER, configure, digest
from tests.support.records import lines, task


def test_servers_that_change_after_the_plan_are_not_reached(tmp_path: Path, bench: Bench) -> None:
    path = configure(tmp_path)
    lane = LaneOptions(output=tmp_path / "o.jsonl", model="m", lane="configured-model", adapter="reference")
    options = RunOptions(
        (lane,),
        tasks=bench.tasks,
        gateway=path,
        api_definition_sha256=digest(path),
        allow_tracked_output=True,
    )
    prepared = prepare_run(options, {}, UNKNOWN_REVISION)
    configure(tmp_path, SERVER | {"command": "/bin/two"})
    with (
        pytest.raises(InputError, match="changed since the plan was made"),
        connected(prepared, options, {}),
    ):
        pass


def over(bench: Bench, path: Path, **changes: Any) -> Done:
    """`run --gateway` without one call."""
    bench.tasks.write_text(lines(task()))
    return bench.run(api_base_url=None, gateway=path, max_billed_calls=0, **changes)


def test_neither_an_approved_plan_nor_a_resumed_run_reaches_other_servers(bench: Bench) -> None:
    path = configure(bench.folder)
    shown = over(bench, path, plan_only=True, format="json")
    assert shown.code == 0, shown
    approved = json.loads(shown.out)
    assert approved["plan"]["api_definition_sha256"] == digest(path)
    assert over(bench, path, plan_digest=approved["plan_digest"]).code == 3, "the limit of no call"
    configure(bench.folder, SERVER | {"command": "/bin/two"})
    other = over(bench, path, plan_digest=approved["plan_digest"], resume=True)
    assert_refused(other, "approved was", code=1)
    resumed = over(bench, path, resume=True)
    assert resumed.code == 2, resumed
    assert "this is another run: api_definition_sha256 was " in resumed.err
    configure(bench.folder)
    assert over(bench, path, resume=True).code == 3


def test_a_plan_without_a_gateway_says_nothing_of_one(bench: Bench) -> None:
    shown = bench.run(plan_only=True, format="json")
    assert "api_definition_sha256" not in json.loads(shown.out)["plan"]
