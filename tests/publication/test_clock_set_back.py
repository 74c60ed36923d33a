"""A clock that is set back makes no paid run unpublishable."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

from discovercall.contract.ledger import read_ledger
from discovercall.foundation.clocks import iso_milliseconds
from discovercall.publication.verification import verify_pair
from tests.capability.loopback import Reply, Seen
from tests.publication.runs import one_task, policy, prepared, private_run
from tests.publication.test_unpublishable import good, publish, run

START = 1_790_000_000.0


def answer(request: Seen) -> Reply:
    return Reply(good(request.target.split("?")[0].rsplit("/", 1)[1]))


def test_no_trial_ends_before_it_starts(tmp_path: Path) -> None:
    """Each trial looks at the clock when it starts, before its call, and at its end."""
    times: Iterator[float] = iter([START, START - 2, START - 1, START - 9, START + 5, START - 3, 0, 1, 2])
    records = asyncio.run(run(tmp_path, answer, clock=lambda: next(times)))
    assert [(record["started_at"], record["finished_at"]) for record in records] == [
        (iso_milliseconds(START), iso_milliseconds(START)),
        (iso_milliseconds(START - 9), iso_milliseconds(START - 3)),
        (iso_milliseconds(0), iso_milliseconds(2)),
    ]
    drafts = read_ledger(next(tmp_path.glob("*.journal.jsonl"))).drafts.values()
    assert [draft["finished_at"] for draft in drafts] == [
        iso_milliseconds(START),
        iso_milliseconds(START + 5),
        iso_milliseconds(1),
    ]
    publish(tmp_path, records)


def test_a_summary_is_not_older_than_its_records(tmp_path: Path) -> None:
    records = private_run(task_set=one_task())
    newest = max(record["finished_at"] for record in records)
    for given, expected in (("2020-01-01T00:00:00.000Z", newest), ("2099-01-01T00:00:00.000Z", None)):
        files = prepared(tmp_path, 2, records, tasks=one_task(), generated_at=given)
        assert json.loads(files.summary)["generated_at"] == (expected or given)
        assert not verify_pair(files, policy(2), one_task()).differences
