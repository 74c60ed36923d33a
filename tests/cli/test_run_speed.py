import time

import pytest

from tests.support.bench import essence
from tests.support.records import task

ADAPTER = """#!/bin/sh
request=$(cat)
sleep 0.3
case $request in
  *'"stage":"select"'*) printf '{"tool_id":"a.tool"}' ;;
  *) printf '{"parameters":{"city":"London"}}' ;;
esac
"""
SEQUENTIAL_S = 18 * 3 * (3 * 0.1 + 2 * 0.3)


@pytest.mark.slow
@pytest.mark.part("speed of a run")
def test_eight_trials_at_once_take_at_most_a_sixth_of_the_time_of_one_by_one(bench):
    bench.api.seconds = 0.1
    bench.use_tasks(*(task(f"t{i}") for i in range(18)))
    bench.adapter.write_text(ADAPTER)
    seconds: list[float] = []
    while (
        len(seconds) < 3 and min(seconds, default=SEQUENTIAL_S) > SEQUENTIAL_S / 6
    ):  # a busy machine only adds
        bench.output = bench.folder / f"run-{len(seconds)}.jsonl"
        start = time.monotonic()
        done = bench.run(trials=3, concurrency=8)
        seconds.append(time.monotonic() - start)
        assert done.code == 0, done.err
        assert len(bench.records()) == 54
        assert len({str(essence(record)["call"]) for record in bench.records()}) == 1
    assert min(seconds) <= SEQUENTIAL_S / 6, seconds
