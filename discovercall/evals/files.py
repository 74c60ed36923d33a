"""Where results are kept: a file per run, the baseline, and the scoreboard made from it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from discovercall.evals.documents import to_bytes
from discovercall.evals.scoreboard import scoreboard
from discovercall.evals.soundness import read_sound_result
from discovercall.foundation.checkout import is_checkout
from discovercall.foundation.errors import InputError
from discovercall.foundation.files import write_atomic

_MODE = 0o644  # results are made to be read and committed


@dataclass(frozen=True, slots=True)
class ResultFolder:
    """A folder of results."""

    path: Path

    @property
    def baseline(self) -> Path:
        """What later runs are compared with."""
        return self.path / "snapshots" / "baseline.json"

    @property
    def scoreboard(self) -> Path:
        """The baseline for people."""
        return self.path / "BENCHMARKS.md"

    def read_baseline(self) -> dict[str, Any] | None:
        """The baseline; None where there is none yet.

        Raises:
            InputError: the file is there and is no result, or one that contradicts itself.
        """
        return read_sound_result(self.baseline) if os.path.lexists(self.baseline) else None

    def prepare(self) -> None:
        """Make sure, before anything is measured, that results can be written.

        Raises:
            InputError: the folder can't be made or written.
        """
        snapshots = self.baseline.parent
        try:
            snapshots.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be made ({error.strerror})", where=f"--out {self.path}") from None
        if not os.access(snapshots, os.W_OK) or not os.access(self.path, os.W_OK):
            raise InputError("cannot be written", where=f"--out {self.path}", fix="name another folder")

    def write(self, result: Mapping[str, Any], *, as_baseline: bool) -> list[Path]:
        """Write a run's file; as the baseline, also that and the scoreboard. Returns what was written.

        Args:
            result: the result document.
            as_baseline: whether later runs are compared with it.
        """
        stamp = str(result["generatedAt"])[:19].replace("-", "").replace(":", "") + "Z"
        data = to_bytes(result)
        replaced = {self.baseline: data, self.scoreboard: scoreboard(result).encode()} if as_baseline else {}
        written = [_write_new(self.baseline.parent, f"run-{stamp}", data)]
        for path, content in replaced.items():
            write_atomic(path, content, mode=_MODE)
        return [*written, *replaced]


def _write_new(folder: Path, stem: str, data: bytes) -> Path:
    """Write a file of its own: runs may end in the same second, also in two processes."""
    for number in count(1):
        path = folder / (f"{stem}.json" if number == 1 else f"{stem}-{number}.json")
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            continue
        try:
            write_atomic(path, data, mode=_MODE)
        except BaseException:
            path.unlink()
            raise
        return path
    raise AssertionError("count never ends")


def default_folder(start: Path) -> ResultFolder | None:
    """`results/gateway` of the checkout that a folder lies in; None outside of one."""
    root = next((folder for folder in (start, *start.parents) if is_checkout(folder)), None)
    return ResultFolder(root / "results" / "gateway") if root else None


def becomes_baseline(result: Mapping[str, Any], *, all_families: bool, passed: bool, forced: bool) -> bool:
    """Whether a run replaces the baseline: a full one that passes, or when told to.

    A run without the model measures less than one with it, and so never replaces it unasked. Nor does one
    without a gate, or with a gate that no case was held to, for nothing says that it is as good.

    Args:
        result: the result document.
        all_families: whether all of them were asked for.
        passed: whether the run's answer is yes; a result that passes its gates may still be a regression.
        forced: whether it was asked for in so many words.
    """
    complete = all_families and result["provenance"]["semanticRan"]
    held = bool(result["gates"]) and all(gate["pass"] for gate in result["gates"])
    return forced or (complete and passed and held and result["verdict"] == "pass")
