"""The journal of a run: a spend ledger that outlives a crash.

One JSON object a line; each ends with `chain`, the SHA-256 of the line before it and of its own text, so
that a changed line shows. Lines that money or finished work depends on are synced before anything else
happens; the others may be lost in a crash without harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discovercall.foundation.digests import sha256_hex
from discovercall.foundation.ecma_json import JsonError, compact_bytes, decode
from discovercall.foundation.errors import InputError
from discovercall.foundation.jsonl import AppendFile

SUFFIX = ".journal.jsonl"
_CHAIN = re.compile(rb',"chain":"([0-9a-f]{64})"\}\Z')
_SYNCED = frozenset({"plan", "call_intent", "trial_finished"})


def journal_path(output: Path) -> Path:
    """The journal that belongs to an output file."""
    return output.with_name(output.name + SUFFIX)


@dataclass(frozen=True, slots=True)
class TrialKey:
    """Names one trial of one lane inside a run."""

    lane: int
    task_id: str
    trial: int

    def to_json(self) -> dict[str, Any]:
        """The key as the journal writes it."""
        return {"lane": self.lane, "task_id": self.task_id, "trial": self.trial}


class Journal:
    """Appends to a run's journal.

    Args:
        file: the open journal.
        chain: the chain value of its last line, empty for a new one.
    """

    def __init__(self, file: AppendFile, chain: str = "") -> None:
        self._file = file
        self._chain = chain

    @classmethod
    def create(cls, path: Path, plan_header: dict[str, Any], plan_digest: str) -> Journal:
        """Start a journal with the plan header; an existing file is refused with FileExistsError."""
        journal = cls(AppendFile.create(path))
        journal._write("plan", {"plan": plan_header, "plan_digest": plan_digest})
        return journal

    def trial_started(self, key: TrialKey) -> None:
        """A lane starts a trial."""
        self._write("trial_started", key.to_json())

    def call_intent(self, key: TrialKey) -> None:
        """A billed request is about to leave; returns only when this is on disk."""
        self._write("call_intent", key.to_json())

    def call_outcome(self, key: TrialKey, outcome: str) -> None:
        """What became of the billed request: `answered` or a reason code."""
        self._write("call_outcome", key.to_json() | {"outcome": outcome})

    def revisions(self, api: str | None, catalog: str | None) -> None:
        """Revision headers of one answer; None where the header was absent."""
        self._write("revisions", {"api": api, "catalog": catalog})

    def trial_finished(self, key: TrialKey, record: dict[str, Any]) -> None:
        """A trial's record; returns only when it is on disk."""
        self._write("trial_finished", key.to_json() | {"record": record})

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, kind: str, payload: dict[str, Any]) -> None:
        body = compact_bytes({"kind": kind, **payload})[:-1]
        chain = sha256_hex(self._chain.encode() + body)
        line = body + b',"chain":"' + chain.encode() + b'"}\n'
        try:
            self._file.append(line, sync=kind in _SYNCED)
        except OSError as error:
            raise InputError(
                f"the journal can't be written ({error.strerror}); nothing more is started",
                fix="free space on the disk, then continue with --resume",
            ) from None
        self._chain = chain


@dataclass(frozen=True, slots=True)
class Entry:
    """One verified journal line: its 1-based number, kind, content and chain value."""

    number: int
    kind: str
    content: dict[str, Any]
    chain: str


def read_journal(path: Path) -> Iterator[Entry]:
    """The verified lines of a journal; a torn last line, cut by a crash, is left out.

    Raises:
        InputError: a line is no journal line or was changed; names its number.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(path)) from None
    lines = data.split(b"\n")
    lines.pop()  # empty, or a line that a crash cut short
    chain = ""
    for number, line in enumerate(lines, 1):
        found = _CHAIN.search(line)
        body = line[: found.start()] if found else line
        expected = sha256_hex(chain.encode() + body)
        try:
            content = decode(line)
        except JsonError:
            content = None
        if not found or found.group(1).decode() != expected or not isinstance(content, dict):
            raise InputError(
                "this journal line is damaged or was changed",
                where=f"{path}:{number}",
                fix="restore the journal from a copy, or start the run anew with another --output",
            )
        chain = expected
        yield Entry(number, str(content.get("kind")), content, chain)
