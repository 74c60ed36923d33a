"""Makes a task set and the private records of a whole run over it, of any size.

    python -m benchmarks.workload FOLDER TASKS TRIALS

Writes FOLDER/v4.jsonl, the committed tasks over and over under new ids, and FOLDER/records.jsonl, in which
every kind of outcome comes up in turn. Public records allow 100 trials of a task at the most.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from discovercall.contract.tasks import load_task_set
from discovercall.foundation.jsonl import dump_lines
from tests.publication.runs import ROOT, private_run

FIRST = datetime(2026, 11, 1, tzinfo=UTC)


def make(folder: Path, tasks: int, trials: int) -> None:
    """Write both files."""
    committed = [
        json.loads(line) for line in (ROOT / "tasks" / "v4.jsonl").read_text("utf-8").splitlines() if line
    ]
    made = []
    for number in range(tasks):
        task = committed[number % len(committed)]
        made.append({**task, "id": f"{task['id']}-{number:04d}"})
    path = folder / "v4.jsonl"
    path.write_bytes(dump_lines(made))
    records = private_run(task_set=load_task_set(path), trials=trials)
    for number, record in enumerate(records):
        started = FIRST + timedelta(seconds=number)
        record["run_id"] = f"run-{number:06d}"
        record["started_at"] = f"{started:%Y-%m-%dT%H:%M:%S}.000Z"
        record["finished_at"] = f"{started + timedelta(seconds=5):%Y-%m-%dT%H:%M:%S}.500Z"
    (folder / "records.jsonl").write_bytes(dump_lines(records))


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
