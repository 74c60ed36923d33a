"""Verification of a pair as anybody can do it: records, official rules, summary re-scored, digests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discovercall.contract.tasks import TaskSet
from discovercall.foundation.ecma_json import JsonError, decode
from discovercall.foundation.errors import DiscovercallError, InputError, RefusedError
from discovercall.foundation.files import read_input
from discovercall.foundation.json_text import compact
from discovercall.foundation.jsonl import dump_lines, parse_lines
from discovercall.foundation.models import check
from discovercall.publication.fields import is_timestamp
from discovercall.publication.pair import Pair, check_rehearsal_name, check_version
from discovercall.publication.policy import Policy
from discovercall.publication.rescoring import differences
from discovercall.publication.run_names import check_named
from discovercall.publication.summary import publication_summary
from discovercall.publication.summary_model import Summary
from discovercall.publication.transaction import interrupted, journal_of, locked
from discovercall.publication.validation import (
    check_public_records,
    is_rehearsal_run,
    validate_official_run,
)

MIN_TRIALS = 3
_STRING_OR_SPACE = re.compile(r'("(?:[^"\\]|\\.)*")|[ \t\r\n]+')


@dataclass(frozen=True, slots=True)
class PairFiles:
    """The bytes of a pair, read together."""

    pair: Pair
    runs: bytes
    summary: bytes


@dataclass(frozen=True, slots=True)
class VerifiedPair:
    """What a pair was found to be; `differences` is empty where the summary is that of the records."""

    pair: Pair
    records: list[dict[str, Any]]
    rehearsal: bool
    differences: tuple[str, ...]


def read_pair(pair: Pair) -> PairFiles:
    """Read both files of a pair while no publication can replace them.

    Raises:
        InputError: a file can't be read.
        RefusedError: a publication of this pair was cut off.
    """
    try:
        with locked(pair.folder, shared=True):
            if any(found.stem == pair.stem for found in interrupted(pair.folder)):
                raise RefusedError(
                    "a publication of this pair was cut off, so its files may not belong together",
                    where=str(journal_of(pair)),
                    fix="finish it with `discovercall validate --repair`, or publish it again",
                )
            return PairFiles(pair, _read(pair.runs), _read(pair.summary))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", where=str(pair.folder)) from None


def _read(path: Path) -> bytes:
    try:
        return read_input(path)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", where=str(path)) from None


def verify_pair(files: PairFiles, policy: Policy, task_set: TaskSet) -> VerifiedPair:
    """Check a pair against the policy and the task set.

    Raises:
        InputError: a file is no JSON.
        RefusedError: the records can't be public or are not official, or a file was not written by the
            rules; a summary that differs is told in the result.
    """
    pair = files.pair
    records = _parse_records(files)
    check_version(pair, task_set.path)
    rehearsal = is_rehearsal_run(records)
    check_rehearsal_name(pair, rehearsal=rehearsal)
    where = str(pair.runs)
    with _located(where):
        if not records:
            raise RefusedError("holds no record")
        check_public_records(records, policy, rehearsal=rehearsal)
        validate_official_run(records, task_set_sha256=task_set.sha256, min_trials_per_task=MIN_TRIALS)
        check_named(pair.stem, records)
    summary = _parse_summary(files)
    generated_at = summary.get("generated_at") if isinstance(summary, dict) else None
    _check_time(generated_at, records, str(pair.summary))
    with _located(where):
        recomputed = publication_summary(
            task_set, records, files.runs, generated_at=str(generated_at), rehearsal=rehearsal
        )
    found = tuple(differences(summary, recomputed, digests_required=policy.keyed))
    if not found:
        with _located(str(pair.summary)):
            check(Summary, summary, "summary")
    return VerifiedPair(pair, records, rehearsal, found)


class _located:
    """Turns what is wrong with a value into a refusal of the file that holds it."""

    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, DiscovercallError):
            inner = f"{self.where}: {error.where}" if error.where else self.where
            raise RefusedError(error.what, where=inner, fix=error.fix) from None


def _parse_records(files: PairFiles) -> list[dict[str, Any]]:
    path = str(files.pair.runs)
    try:
        text = files.runs.decode()
    except UnicodeDecodeError:
        raise InputError("not valid UTF-8", where=path) from None
    records = []
    for line in parse_lines(text, path):
        if not isinstance(line.value, dict):
            raise RefusedError("must be a JSON object", where=f"{path}:{line.number}")
        records.append(line.value)
    if dump_lines(records) != files.runs:
        raise RefusedError(
            "is not written as compact JSON, one record a line",
            where=path,
            fix="publish it with `discovercall publish`; published files are not edited",
        )
    return records


def _parse_summary(files: PairFiles) -> Any:
    path = str(files.pair.summary)
    try:
        text = files.summary.decode()
        summary = decode(files.summary)
    except UnicodeDecodeError:
        raise InputError("not valid UTF-8", where=path) from None
    except JsonError as error:
        raise InputError(f"not valid JSON ({error})", where=path) from None
    # Of a field that is there twice, another reader may take the other value.
    if _STRING_OR_SPACE.sub(lambda found: found.group(1) or "", text) != compact(summary):
        raise RefusedError("names a field twice, or writes values as no summary does", where=path)
    return summary


def _check_time(generated_at: Any, records: list[dict[str, Any]], path: str) -> None:
    if not is_timestamp(generated_at):
        raise RefusedError("is no time", where=f"{path}: generated_at")
    if any(record["finished_at"] > generated_at for record in records):
        raise RefusedError("is before a record was finished", where=f"{path}: generated_at")
