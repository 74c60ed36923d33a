"""A run is found by whatever name a person has for it, and so is its task set."""

from __future__ import annotations

from pathlib import Path

import pytest

from discovercall.contract.pairs import find_runs, read_run, task_set_of
from discovercall.contract.tasks import load_task_set
from discovercall.foundation.errors import InputError
from tests.support.records import lines, metadata, record, task


@pytest.mark.parametrize("name", ["a-v4", "a-v4.runs.jsonl", "a-v4.summary.json"])
def test_every_name_of_a_pair_is_its_records(tmp_path: Path, name: str) -> None:
    runs = tmp_path / "a-v4.runs.jsonl"
    runs.write_text(lines(record()))
    assert find_runs(tmp_path / name) == runs
    assert len(read_run(tmp_path / name)) == 1


def test_private_records_are_named_by_their_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(lines(record()))
    assert find_runs(path) == path


@pytest.mark.parametrize("name", ["none", "none.summary.json", "."])
def test_what_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError) as error:
        find_runs(tmp_path / name)
    assert str(error.value) == (
        f"{tmp_path / name}: no such run; give a stem, its .runs.jsonl or .summary.json, or private records"
    )


def test_a_run_without_a_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text("")
    with pytest.raises(InputError) as error:
        read_run(path)
    assert str(error.value) == f"{path}: holds no record"


def test_the_task_set_is_that_of_the_digest(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"v{number}.jsonl").write_text(lines(task(f"t{number}")))
    second = load_task_set(tmp_path / "v2.jsonl")
    made = record(metadata=metadata(task_set_sha256=second.sha256))
    assert task_set_of([made], None, tmp_path) == second
    first = tmp_path / "v1.jsonl"
    assert task_set_of([made], first, tmp_path).path == first
    for other in (record(), {**record(), "metadata": None}):
        with pytest.raises(InputError, match=r"^--tasks: made with a task set that is not among ours \("):
            task_set_of([other], None, tmp_path)
