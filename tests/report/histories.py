"""Synthetic histories: valid pairs of several releases, made with the project's own functions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discovercall.contract.plan import Lane
from discovercall.contract.record import Evidence, Failure
from discovercall.contract.tasks import TaskSet, load_task_set
from discovercall.publication.verification import PairFiles
from tests.publication.runs import REAL_URL, SANDBOX_URL, outcomes, prepared, private_run

PASS = "success"
DATE_IN_RUNS = "2026-11-30"


def write_task_set(folder: Path, ids: Sequence[str], version: int = 9) -> TaskSet:
    """A task set of its own, `vN.jsonl` in a folder `tasks` beside the results."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"v{version}.jsonl"
    constraint = {"id": "city", "aliases": ["city"], "value": "London"}
    lines = [
        {"id": name, "prompt": f"Do {name}.", "discover_query": f"{name} query", "constraints": [constraint]}
        for name in ids
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return load_task_set(path)


@dataclass(frozen=True)
class Measured:
    """One lane of one release.

    Attributes:
        release: a commit is made of it.
        kinds: by task id a kind of outcome for all trials, or one for each; tasks that it lacks succeed.
    """

    release: str
    date: str
    lane: str = "configured-model"
    model: str = "model-a"
    kinds: Mapping[str, str | Sequence[str]] | None = None
    api: str = REAL_URL
    effort: str = "high"

    @property
    def commit(self) -> str:
        return (self.release.encode().hex() + "0" * 40)[:40]

    @property
    def stem(self) -> str:
        rehearsal = "-rehearsal" if self.api == SANDBOX_URL else ""
        name = "".join(c if c.isascii() and c.isalnum() else "-" for c in self.model)[:40]
        return f"{self.date}-{name}-{self.lane}-{self.release}{rehearsal}-v9"

    def pair(self, folder: Path, tasks: TaskSet, trials: int = 3) -> PairFiles:
        """The pair, not written."""
        revision = f"{self.commit}/{self.model}" if self.lane == "reference" else "unreported"
        lane = Lane(
            self.lane, self.model, revision, f"{self.commit}/codex/{self.effort}", ("codex",), Path("a.jsonl")
        )
        records = private_run(
            self._outcomes(tasks, trials),
            task_set=tasks,
            lanes=(lane,),
            trials=trials,
            toolkit_revision=self.commit,
            api_base_url=self.api,
        )
        dated: list[dict[str, Any]] = json.loads(json.dumps(records).replace(DATE_IN_RUNS, self.date))
        at = f"{self.date}T12:00:00.000Z"
        return prepared(folder, 2, dated, stem=self.stem, tasks=tasks, generated_at=at)

    def _outcomes(self, tasks: TaskSet, trials: int) -> Iterator[tuple[Evidence, Failure | None]]:
        every, kinds = outcomes(), self.kinds or {}
        for task in tasks.tasks:
            kind = kinds.get(task.id, PASS)
            for trial in range(trials):
                yield every[kind if isinstance(kind, str) else kind[trial]]


@dataclass(frozen=True)
class Folder:
    """A results folder beside its task sets."""

    root: Path
    tasks: TaskSet

    @property
    def results(self) -> Path:
        return self.root / "results"

    def add(self, *measured: Measured) -> None:
        """Write pairs as they are published."""
        self.results.mkdir(parents=True, exist_ok=True)
        for one in measured:
            files = one.pair(self.results, self.tasks)
            files.pair.runs.write_bytes(files.runs)
            files.pair.summary.write_bytes(files.summary)


def results_folder(root: Path, ids: Sequence[str]) -> Folder:
    """An empty results folder with a task set of these ids."""
    return Folder(root, write_task_set(root / "tasks", ids))
