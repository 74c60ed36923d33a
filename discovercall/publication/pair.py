"""The two files of a published result: `<stem>.runs.jsonl` and `<stem>.summary.json`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from discovercall.foundation.artifacts import RUNS_SUFFIX, SUMMARY_SUFFIX
from discovercall.foundation.errors import InputError, RefusedError
from discovercall.foundation.files import same_file

_STEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}-v(?P<version>[1-9][0-9]{0,5})\Z")
_REHEARSAL_STEM = re.compile(r".+-rehearsal-v[0-9]+\Z")
_TASK_FILE = re.compile(r"v(?P<version>[1-9][0-9]*)\.jsonl\Z")
_FIX = (
    f"name them <stem>{RUNS_SUFFIX} and <stem>{SUMMARY_SUFFIX}; the stem ends in -vN, the task set's version"
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A pair by its folder and stem."""

    folder: Path
    stem: str

    @property
    def runs(self) -> Path:
        """The public records."""
        return self.folder / f"{self.stem}{RUNS_SUFFIX}"

    @property
    def summary(self) -> Path:
        """The summary."""
        return self.folder / f"{self.stem}{SUMMARY_SUFFIX}"

    @property
    def version(self) -> int:
        """The task set's version, as the stem says."""
        found = _STEM.match(self.stem)
        return int(found["version"]) if found else 0

    @property
    def named_rehearsal(self) -> bool:
        """Whether the stem says that this is a rehearsal."""
        return bool(_REHEARSAL_STEM.match(self.stem))


def pair_of(runs: Path, summary: Path) -> Pair:
    """The pair that two paths name.

    Raises:
        InputError: they are not the two files of one pair in one folder.
    """
    stem = runs.name.removesuffix(RUNS_SUFFIX)
    if not runs.name.endswith(RUNS_SUFFIX) or not _STEM.match(stem):
        raise InputError("is no name for public records", where=str(runs), fix=_FIX)
    pair = Pair(runs.parent, stem)
    if summary.name != pair.summary.name or summary.parent.resolve() != runs.parent.resolve():
        raise InputError(
            "does not belong to these records", where=str(summary), fix=f"the summary is {pair.summary}"
        )
    return pair


def check_outputs(pair: Pair, inputs: Iterable[Path]) -> None:
    """Refuse outputs that are an input, each other, or no plain file.

    Args:
        pair: where the outputs go.
        inputs: every file that is read.

    Raises:
        InputError: says which file is what.
    """
    if not pair.folder.is_dir():
        raise InputError(f"the folder {pair.folder} does not exist", where="--output-runs", fix="create it")
    outputs = (pair.runs, pair.summary)
    for output in outputs:
        for path in inputs:
            if same_file(output, path):
                raise InputError(
                    f"is also the input {path}", where=str(output), fix="name another file for the output"
                )
        if output.is_symlink() or (output.exists() and not output.is_file()):
            raise InputError("exists and is no plain file", where=str(output), fix="name another file")
    if same_file(*outputs):
        raise InputError("are one file", where=f"{pair.runs} and {pair.summary}", fix="remove the link")


def check_version(pair: Pair, tasks: Path) -> None:
    """Refuse a stem whose version is not that of the task file `vN.jsonl`.

    Raises:
        RefusedError: the versions differ, or the stem has none.
    """
    if not pair.version:
        raise RefusedError("is no stem of a pair, or too long for one", where=f"stem {pair.stem}", fix=_FIX)
    found = _TASK_FILE.match(tasks.name)
    if found and int(found["version"]) != pair.version:
        raise RefusedError(
            f"ends in -v{pair.version}, but the task set is {tasks.name}", where=f"stem {pair.stem}"
        )


def check_rehearsal_name(pair: Pair, *, rehearsal: bool) -> None:
    """Refuse a stem that hides a rehearsal, or claims one.

    Raises:
        RefusedError: says which.
    """
    if rehearsal and not pair.named_rehearsal:
        raise RefusedError(
            "names no rehearsal, but the records are of one",
            where=f"stem {pair.stem}",
            fix=f"end it in -rehearsal-v{pair.version}",
        )
    if pair.named_rehearsal and not rehearsal:
        raise RefusedError("names a rehearsal, but the records are of none", where=f"stem {pair.stem}")


def pairs_in(folder: Path) -> list[Pair]:
    """All pairs of a folder, by stem.

    Raises:
        RefusedError: half of a pair without the other, or a stem that is none.
    """
    stems: dict[str, set[str]] = {}
    for path in sorted(folder.iterdir()):
        for suffix in (RUNS_SUFFIX, SUMMARY_SUFFIX):
            if path.name.endswith(suffix) and not path.name.startswith("."):
                stems.setdefault(path.name.removesuffix(suffix), set()).add(suffix)
    for stem, suffixes in stems.items():
        for missing in {RUNS_SUFFIX, SUMMARY_SUFFIX} - suffixes:
            raise RefusedError(
                f"is half of a pair: {stem}{missing} is missing",
                where=str(folder / f"{stem}{next(iter(suffixes))}"),
            )
        if not _STEM.match(stem):
            raise RefusedError("is no stem of a pair", where=str(folder / stem), fix=_FIX)
    return [Pair(folder, stem) for stem in sorted(stems)]
