"""Puts both files of a pair in place as one transaction that survives a kill at any step.

Both files are staged and synced first. A journal beside them then says that they are to be put in place;
from then on a crash leaves a folder from which the next `repair` finishes, and which `interrupted` names.
After an error the journal is turned round, and the previous pair comes back.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from discovercall.foundation.digests import sha256_hex
from discovercall.foundation.ecma_json import JsonError, decode
from discovercall.foundation.errors import DiscovercallError, RefusedError
from discovercall.foundation.files import read_input, sync_folder, write_atomic
from discovercall.foundation.json_text import compact_bytes
from discovercall.foundation.models import StrictModel, check
from discovercall.publication.fields import SchemaOne, Sha256
from discovercall.publication.pair import Pair

_MODE = 0o644
_JOURNAL_LIMIT = 1 << 20
_JOURNAL_SUFFIX = ".publication.json"
_GENERATION = r"[0-9a-f]{16}"


class _File(StrictModel):
    name: str
    sha256: Sha256
    previous_sha256: Sha256 | None


class _Journal(StrictModel):
    schema_version: SchemaOne
    generation: Annotated[str, Field(pattern=rf"^{_GENERATION}$")]
    direction: Literal["forward", "back"]
    files: Annotated[list[_File], Field(min_length=2, max_length=2)]


@dataclass(frozen=True, slots=True)
class _Step:
    """One file's part: where it goes, the new content beside it, and the old one where there was any."""

    target: Path
    staged: Path
    previous: Path
    sha256: str
    previous_sha256: str | None


@contextlib.contextmanager
def locked(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a folder against publications; `shared` for reading. Ends with the process in any case."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # a file system without locks: then nothing can be held
            fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def journal_of(pair: Pair) -> Path:
    """The journal that a publication of this pair keeps while it is under way."""
    return pair.folder / f".{pair.stem}{_JOURNAL_SUFFIX}"


def interrupted(folder: Path) -> list[Pair]:
    """Pairs of a folder whose publication was cut off; call it with the folder locked."""
    names = (path.name for path in folder.glob(f".*{_JOURNAL_SUFFIX}"))
    return [Pair(folder, name.removeprefix(".").removesuffix(_JOURNAL_SUFFIX)) for name in sorted(names)]


def write_pair(pair: Pair, runs: bytes, summary: bytes) -> None:
    """Put a pair in place, replacing a previous one; the folder must exist.

    A publication of the same stem that was cut off earlier is finished first. After an error the
    previous pair is back.

    Args:
        pair: where it goes.
        runs: content of the records file.
        summary: content of the summary file.

    Raises:
        OSError: a file can't be written.
        RefusedError: an earlier publication can't be finished.
    """
    with locked(pair.folder):
        _repair(pair)
        _remove_leftovers(pair)
        steps, journal = _prepare(pair, runs, summary)
        try:
            _stage(steps, (runs, summary))
            _write_journal(pair, journal)
            _forward(steps)
            journal_of(pair).unlink()
        except BaseException:
            _turn_back(pair, steps, journal)
            raise
        with contextlib.suppress(OSError):  # the pair is in place; leftovers go with the next publication
            sync_folder(pair.folder)
            _remove_leftovers(pair)


def repair(pair: Pair) -> bool:
    """Finish a publication that was cut off; True when there was one.

    Raises:
        RefusedError: the files are not those that the journal names; says what to do.
    """
    with locked(pair.folder):
        found = _repair(pair)
        _remove_leftovers(pair)
        return found


def _prepare(pair: Pair, runs: bytes, summary: bytes) -> tuple[list[_Step], _Journal]:
    files = [
        _File(name=path.name, sha256=sha256_hex(data), previous_sha256=_digest(path))
        for path, data in ((pair.runs, runs), (pair.summary, summary))
    ]
    journal = _Journal(schema_version=1, generation=secrets.token_hex(8), direction="forward", files=files)
    return _steps(pair, journal), journal


def _steps(pair: Pair, journal: _Journal) -> list[_Step]:
    steps = []
    for target, file in zip((pair.runs, pair.summary), journal.files, strict=True):
        if file.name != target.name:
            raise _unusable(pair, "it names other files")
        hidden = f".{target.name}.{journal.generation}"
        steps.append(
            _Step(
                target,
                pair.folder / f"{hidden}.staged",
                pair.folder / f"{hidden}.previous",
                file.sha256,
                file.previous_sha256,
            )
        )
    return steps


def _digest(path: Path) -> str | None:
    try:
        return sha256_hex(read_input(path))
    except FileNotFoundError:
        return None


def _stage(steps: list[_Step], contents: tuple[bytes, bytes]) -> None:
    for step, data in zip(steps, contents, strict=True):
        write_atomic(step.staged, data, mode=_MODE)
        if step.previous_sha256 is not None:
            write_atomic(step.previous, read_input(step.target), mode=_MODE)


def _write_journal(pair: Pair, journal: _Journal) -> None:
    write_atomic(journal_of(pair), compact_bytes(journal.model_dump()) + b"\n", mode=_MODE)


def _forward(steps: list[_Step]) -> None:
    for step in steps:
        if _digest(step.target) != step.sha256:
            os.replace(step.staged, step.target)
    sync_folder(steps[0].target.parent)


def _back(steps: list[_Step]) -> None:
    for step in steps:
        if _digest(step.target) == step.previous_sha256:
            continue
        if step.previous_sha256 is None:
            step.target.unlink()
        else:
            os.replace(step.previous, step.target)
    sync_folder(steps[0].target.parent)


def _turn_back(pair: Pair, steps: list[_Step], journal: _Journal) -> None:
    """Bring the previous pair back; where even that fails, the journal stays for the next repair."""
    with contextlib.suppress(OSError):
        if any(_digest(step.target) != step.previous_sha256 for step in steps):
            with contextlib.suppress(OSError):  # a full disk must not keep the previous pair away
                _write_journal(pair, journal.model_copy(update={"direction": "back"}))
            _back(steps)
        journal_of(pair).unlink(missing_ok=True)
        _remove_leftovers(pair)


def _repair(pair: Pair) -> bool:
    path = journal_of(pair)
    try:
        data = read_input(path, _JOURNAL_LIMIT)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EFBIG, errno.EISDIR):
            raise
        raise _unusable(pair, f"it is {error.strerror}") from None
    try:
        journal = check(_Journal, decode(data), str(path))
    except (JsonError, DiscovercallError):
        raise _unusable(pair, "it cannot be read") from None
    steps = _steps(pair, journal)
    for step in steps:
        wanted = step.sha256 if journal.direction == "forward" else step.previous_sha256
        source = step.staged if journal.direction == "forward" else step.previous
        if wanted not in (_digest(step.target), _digest(source)):
            raise _unusable(pair, f"what {step.target.name} should hold is gone")
    (_forward if journal.direction == "forward" else _back)(steps)
    path.unlink()
    sync_folder(pair.folder)
    return True


def _unusable(pair: Pair, why: str) -> RefusedError:
    return RefusedError(
        f"a publication was cut off here and cannot be finished: {why}",
        where=str(journal_of(pair)),
        fix="remove this file, then publish the pair again, or restore both its files from version control",
    )


def _remove_leftovers(pair: Pair) -> None:
    """Remove staged and set aside files of this pair; call it only where no journal needs them."""
    if journal_of(pair).exists():
        return
    names = "|".join(re.escape(path.name) for path in (pair.runs, pair.summary))
    leftover = re.compile(rf"\.(?:{names})\.{_GENERATION}\.(?:staged|previous)\Z")
    temporary = re.compile(rf"\.\.?(?:{names}|{re.escape(pair.stem)}{re.escape(_JOURNAL_SUFFIX)}).*\.tmp\Z")
    for path in pair.folder.iterdir():
        if leftover.match(path.name) or temporary.match(path.name):
            path.unlink(missing_ok=True)
