"""Both files or none: errors at every step, and a kill at every step."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from discovercall.foundation.errors import RefusedError
from discovercall.publication import transaction
from discovercall.publication.pair import Pair
from discovercall.publication.transaction import interrupted, journal_of, locked, repair, write_pair

OLD = (b"old runs\n", b"old summary\n")
NEW = (b"new runs\n", b"new summary\n")
# What the writer asks of the system; a fault or a kill comes before the nth of these calls.
CALLS = ("fsync", "replace", "unlink", "open", "fchmod", "write")


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path, "2026-11-30-x-v4")


def contents(pair: Pair) -> tuple[bytes | None, bytes | None]:
    runs, summary = (path.read_bytes() if path.exists() else None for path in (pair.runs, pair.summary))
    return runs, summary


def names(pair: Pair) -> set[str]:
    return {path.name for path in pair.folder.iterdir()}


def put(pair: Pair, generation: tuple[bytes, bytes] | None) -> None:
    if generation is not None:
        pair.runs.write_bytes(generation[0])
        pair.summary.write_bytes(generation[1])


class Steps:
    """Counts the system calls of the writer and does something before the nth."""

    def __init__(self, at: int | None, action: Callable[[str], None]) -> None:
        self.count = 0
        self.at = at
        self.action = action

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        real = {name: getattr(os, name) for name in CALLS}

        def watched(name: str) -> Callable[..., Any]:
            def call(*arguments: Any, **options: Any) -> Any:
                self.count += 1
                if self.count == self.at:
                    self.action(name)
                return real[name](*arguments, **options)

            return call

        for name in CALLS:
            setattr(os, name, watched(name))
        try:
            yield
        finally:
            for name in CALLS:
                setattr(os, name, real[name])


def killed_at(at: int, work: Callable[[], Any]) -> int:
    """Do something in a process that is killed before its nth system call; the wait status."""
    child = os.fork()
    if child == 0:
        try:
            with Steps(at, lambda name: os.kill(os.getpid(), signal.SIGKILL)).watching():
                work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1]


def steps_of(pair: Pair, previous: tuple[bytes, bytes] | None) -> int:
    put(pair, previous)
    steps = Steps(None, lambda name: None)
    with steps.watching():
        write_pair(pair, *NEW)
    return steps.count


@pytest.mark.parametrize("previous", [None, OLD])
def test_a_pair_is_put_in_place_and_nothing_else_is_left(pair: Pair, previous: Any) -> None:
    put(pair, previous)
    write_pair(pair, *NEW)
    assert contents(pair) == NEW
    assert names(pair) == {pair.runs.name, pair.summary.name}
    assert pair.runs.stat().st_mode & 0o777 == 0o644


def test_publishing_the_same_again_changes_nothing(pair: Pair) -> None:
    write_pair(pair, *NEW)
    write_pair(pair, *NEW)
    write_pair(pair, NEW[0], b"only the summary is new\n")
    assert contents(pair) == (NEW[0], b"only the summary is new\n")


@pytest.mark.parametrize("previous", [None, OLD])
def test_after_an_error_at_any_step_the_previous_pair_is_back(tmp_path: Path, previous: Any) -> None:
    pair = Pair(tmp_path, "count-v1")
    total = steps_of(pair, previous)
    assert total > 15
    outcomes = set()

    def fail(name: str) -> None:
        raise OSError(28, "No space left on device", name)

    for at in range(1, total + 1):
        folder = tmp_path / f"{at}"
        folder.mkdir()
        pair = Pair(folder, "x-v4")
        put(pair, previous)
        with Steps(at, fail).watching():
            try:
                write_pair(pair, *NEW)
                outcomes.add("written")
                assert contents(pair) == NEW
            except OSError:
                outcomes.add("refused")
                assert contents(pair) == (previous or (None, None))
        with locked(folder):
            assert not interrupted(folder)
        write_pair(pair, *NEW)
        assert names(pair) == {pair.runs.name, pair.summary.name}
    assert "refused" in outcomes


@pytest.mark.parametrize("previous", [None, OLD])
def test_a_kill_at_any_step_leaves_one_generation_or_a_journal(tmp_path: Path, previous: Any) -> None:
    total = steps_of(Pair(tmp_path, "count-v1"), previous)
    seen = set()
    for at in range(1, total + 1):
        folder = tmp_path / f"{at}"
        folder.mkdir()
        pair = Pair(folder, "x-v4")
        put(pair, previous)
        assert os.WIFSIGNALED(killed_at(at, lambda pair=pair: write_pair(pair, *NEW)))  # type: ignore[misc]
        before = contents(pair)
        with locked(folder):
            cut_off = interrupted(folder)
        generation = {NEW: "new", previous or (None, None): "old"}.get(before, "mixed")
        seen.add((generation, bool(cut_off)))
        assert generation != "mixed" or cut_off == [pair]
        assert repair(pair) == bool(cut_off)
        assert contents(pair) in (NEW, previous or (None, None))
        assert generation != "new" or contents(pair) == NEW  # a finished publication is never undone
        assert names(pair) <= {pair.runs.name, pair.summary.name}
    assert ("mixed", True) in seen


def between_the_files(folder: Path) -> Iterator[Pair]:
    """Pairs of which a kill left one file new and one old, for each step where that happens."""
    for at in range(1, 60):
        pair = Pair(folder / f"{at}", "x-v4")
        pair.folder.mkdir()
        put(pair, OLD)
        killed_at(at, lambda pair=pair: write_pair(pair, *NEW))  # type: ignore[misc]
        if contents(pair) == (NEW[0], OLD[1]):
            yield pair


def test_a_kill_while_repairing_is_repaired(tmp_path: Path) -> None:
    pairs = list(between_the_files(tmp_path))
    assert pairs
    for pair in pairs:
        for again in range(1, 12):
            copy = Pair(tmp_path / f"{pair.folder.name}-{again}", pair.stem)
            shutil.copytree(pair.folder, copy.folder)
            killed_at(again, lambda copy=copy: repair(copy))  # type: ignore[misc]
            repair(copy)
            assert contents(copy) == NEW
            assert names(copy) == {pair.runs.name, pair.summary.name}


def test_the_next_publication_finishes_what_was_cut_off(tmp_path: Path) -> None:
    for pair in between_the_files(tmp_path):
        write_pair(pair, b"third runs\n", b"third summary\n")
        assert contents(pair) == (b"third runs\n", b"third summary\n")
        assert names(pair) == {pair.runs.name, pair.summary.name}


@pytest.mark.parametrize("damage", ["", "{}", "[1]", '{"schema_version":1}', "journal of another pair"])
def test_a_journal_that_can_not_be_followed_is_refused_and_changes_nothing(pair: Pair, damage: str) -> None:
    put(pair, OLD)
    if damage.startswith("journal"):
        other = Pair(pair.folder, "other-v4")
        kill_with_journal(other)
        journal_of(other).rename(journal_of(pair))
    else:
        journal_of(pair).write_text(damage)
    for attempt in (lambda: repair(pair), lambda: write_pair(pair, *NEW)):
        with pytest.raises(RefusedError, match="cannot be finished") as caught:
            attempt()
    assert contents(pair) == OLD
    assert str(caught.value.fix).startswith("remove this file, then publish the pair again")
    journal_of(pair).unlink()  # the advice works
    write_pair(pair, *NEW)
    assert contents(pair) == NEW


def test_a_journal_that_is_a_pipe_is_refused_at_once(pair: Pair) -> None:
    os.mkfifo(journal_of(pair))
    for attempt in (lambda: repair(pair), lambda: write_pair(pair, *NEW)):
        with pytest.raises(RefusedError, match="it is no regular file"):
            attempt()


def kill_with_journal(pair: Pair) -> None:
    for at in range(1, 60):
        killed_at(at, lambda: write_pair(pair, *NEW))
        if journal_of(pair).exists():
            return
    raise AssertionError("no kill left a journal")


def test_staged_files_that_were_changed_are_not_put_in_place(pair: Pair) -> None:
    put(pair, OLD)
    kill_with_journal(pair)
    for staged in pair.folder.glob(".*.staged"):
        staged.write_bytes(b"tampered\n")
    with pytest.raises(RefusedError, match="is gone"):
        repair(pair)
    assert contents(pair) == OLD


def test_an_interrupt_brings_the_previous_pair_back(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    put(pair, OLD)

    def interrupted_forward(steps: Any) -> None:
        os.replace(steps[0].staged, steps[0].target)
        raise KeyboardInterrupt

    monkeypatch.setattr(transaction, "_forward", interrupted_forward)
    with pytest.raises(KeyboardInterrupt):
        write_pair(pair, *NEW)
    assert contents(pair) == OLD
    assert names(pair) == {pair.runs.name, pair.summary.name}


def test_two_publications_at_once_leave_one_of_them_whole(pair: Pair) -> None:
    children = []
    for number in range(4):
        child = os.fork()
        if child == 0:
            try:
                for _ in range(10):
                    write_pair(pair, b"runs %d\n" % number, b"summary %d\n" % number)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    assert all(os.waitpid(child, 0)[1] == 0 for child in children)
    runs, summary = contents(pair)
    assert runs is not None
    assert summary is not None
    assert runs.split()[1] == summary.split()[1]
    assert names(pair) == {pair.runs.name, pair.summary.name}
