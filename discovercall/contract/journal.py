"""The journal of a run: a spend ledger that outlives a crash.

One JSON object a line; each ends with `chain`, the SHA-256 of the line before it and of its own text, so
that a changed line shows. Lines that money or finished work depends on are synced before anything else
happens; the others may be lost in a crash without harm.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discovercall.foundation.digests import sha256_hex
from discovercall.foundation.ecma_json import JsonError, decode
from discovercall.foundation.errors import InputError
from discovercall.foundation.files import sync_folder
from discovercall.foundation.json_text import compact_bytes
from discovercall.foundation.jsonl import AppendFile

SUFFIX = ".journal.jsonl"
LANES_JOURNAL = f"run{SUFFIX}"
"""Journal of a run of several lanes, in the folder of their outputs."""
_CHAIN = re.compile(rb',"chain":"([0-9a-f]{64})"\}\Z')
_SYNCED = frozenset({"plan", "resumed", "call_intent", "call_outcome", "trial_finished"})
_OWED = frozenset({"revisions", "call_outcome", "call_withdrawn", "trial_finished"})
"""Lines on what has already happened; the others announce something, which must not happen without them."""


def journal_path(output: Path) -> Path:
    """The journal that belongs to an output file."""
    return output.with_name(output.name + SUFFIX)


def find_journal(path: Path) -> Path:
    """The journal of an output file; a journal is its own.

    Raises:
        InputError: there is none.
    """
    if not path.name:
        raise InputError("is no file", where=str(path))
    if path.name.endswith(SUFFIX) and path.is_file():
        return path
    for candidate in (journal_path(path), path.with_name(LANES_JOURNAL)):
        if candidate.is_file() and (candidate.name != LANES_JOURNAL or path.name in _outputs(candidate)):
            return candidate
    raise InputError(f"has no journal {journal_path(path).name} beside it", where=str(path))


def _outputs(journal: Path) -> list[str]:
    first = next(read_journal(journal), None)
    lanes = first.content.get("plan", {}).get("lanes", []) if first is not None else []
    return [lane["output"] for lane in lanes if isinstance(lane, dict) and "output" in lane]


@dataclass(frozen=True, slots=True)
class TrialKey:
    """Names one trial of one lane inside a run."""

    lane: int
    task_id: str
    trial: int

    def to_json(self) -> dict[str, Any]:
        """The key as the journal writes it."""
        return {"lane": self.lane, "task_id": self.task_id, "trial": self.trial}


class JournalLost(InputError):
    """Somebody else removed, replaced or changed the journal of a run that is under way."""

    def __init__(self) -> None:
        super().__init__(
            "the journal is lost (somebody removed, replaced or changed it during the run)",
            fix="the outputs hold what is finished; start what is missing anew, with another --output",
        )


class JournalUnwritable(InputError):
    """The disk does not take the journal of a run that is under way.

    Args:
        why: what the system said.
        missing: calls whose outcome is not in it.
        in_outputs: whether the outputs hold their records.
    """

    def __init__(self, why: str, missing: int = 0, *, in_outputs: bool = False) -> None:
        fix = "mend the cause, then continue with --resume"
        if missing:
            place = "are in the outputs only (move them away first)" if in_outputs else "are lost"
            fix += f", which counts {missing} finished calls as unknown: their records {place}"
        self.why = why
        super().__init__(f"the journal cannot be written ({why}); nothing more is started", fix=fix)


class Journal:
    """Appends to a run's journal, which stays locked as long as it is open.

    Args:
        file: the open journal.
        chain: the chain value of its last line, empty for a new one.
    """

    def __init__(self, file: AppendFile, chain: str = "") -> None:
        self._file = file
        self._chain = chain
        self._whole = file.size
        self._owed: list[tuple[str, bytes]] = []
        self._failure: str | None = None
        self._lost = False

    @classmethod
    def create(cls, path: Path, plan: dict[str, Any], limits: dict[str, Any], plan_digest: str) -> Journal:
        """Start a journal with the plan header; an existing file is refused with FileExistsError."""
        journal = cls.begin(AppendFile.create(path), plan, limits, plan_digest)
        sync_folder(path.parent)
        return journal

    @classmethod
    def begin(
        cls, file: AppendFile, plan: dict[str, Any], limits: dict[str, Any], plan_digest: str
    ) -> Journal:
        """Write the plan header into an empty file."""
        journal = cls(file)
        journal._write("plan", {"plan": plan, "limits": limits, "plan_digest": plan_digest})
        return journal

    def resumed(self, limits: dict[str, Any], plan_digest: str) -> None:
        """The run goes on after an early end, with these limits."""
        self._write("resumed", {"limits": limits, "plan_digest": plan_digest})

    def trial_started(self, key: TrialKey) -> None:
        """A lane starts a trial."""
        self._write("trial_started", key.to_json())

    def call_intent(self, key: TrialKey, price: float | None, draft: dict[str, Any]) -> None:
        """A billed request is about to leave; returns only when this is on disk.

        Args:
            key: which trial.
            price: credits that the tool names for a call, where it does.
            draft: the trial's record as it stands now, for the case that nothing more is ever known.
        """
        self._write("call_intent", key.to_json() | {"price": price, "draft": draft})

    def call_outcome(self, key: TrialKey, outcome: dict[str, Any]) -> None:
        """What became of the billed request: `outcome` ("answered" or a reason code), `success`,
        `result_nonempty`, `cost`."""
        self._write("call_outcome", key.to_json() | outcome)

    def revisions(self, api: str | None, catalog: str | None) -> None:
        """Revision headers of one answer; None where the header was absent."""
        self._write("revisions", {"api": api, "catalog": catalog})

    def call_withdrawn(self, key: TrialKey) -> None:
        """The API turned the call away (429) and the run ended before another try: nothing was billed."""
        self._write("call_withdrawn", key.to_json())

    def trial_finished(self, key: TrialKey, record: dict[str, Any]) -> None:
        """A trial's record; on disk when this returns, unless there is `trouble`."""
        self._write("trial_finished", key.to_json() | {"record": record})

    @property
    def intact(self) -> bool:
        """Whether the file was there all along and nobody else made it longer or shorter."""
        return self._file.intact and not self._lost

    @property
    def trouble(self) -> InputError | None:
        """Why nothing more can start: a `JournalLost` or a `JournalUnwritable`; None while all is well."""
        if not self.intact:
            return JournalLost()
        return None if self._failure is None else JournalUnwritable(self._failure)

    def catch_up(self) -> int:
        """Try once more to write what the disk did not take.

        Returns:
            Calls whose outcome is still not in the journal.
        """
        with contextlib.suppress(OSError):
            self._file.truncate(self._whole)
            while self._owed:
                line = self._owed[0][1]
                self._file.append(line, sync=True)
                self._whole += len(line)
                del self._owed[0]
        return sum(kind == "call_outcome" for kind, _ in self._owed)

    def check(self, path: Path) -> None:
        """Make sure that the file, which should be at `path`, holds what was written.

        Raises:
            JournalLost: it does not, or did not at some time.
        """
        if not self.intact or last_chain(path) != self._chain:
            self._lost = True
            raise JournalLost

    def close(self) -> None:
        """Close and unlock the file."""
        self._file.close()

    def _write(self, kind: str, payload: dict[str, Any]) -> None:
        line, chain = _line(self._chain, kind, payload)
        if self._failure is None and not self.intact:
            self._lost = True
        if self._lost and kind == "call_intent":
            raise JournalLost
        if self._failure is None:  # a lost one too is written on: it may only have been moved
            try:
                self._file.append(line, sync=kind in _SYNCED)
                self._whole += len(line)
            except OSError as error:
                self._failure = error.strerror or str(error)
        if self._failure is not None:  # also later: a line behind a torn one could not be read
            if kind not in _OWED:
                raise JournalLost() if self._lost else JournalUnwritable(self._failure)
            self._owed.append((kind, line))
        self._chain = chain


def _line(chain: str, kind: str, payload: dict[str, Any]) -> tuple[bytes, str]:
    body = compact_bytes({"kind": kind, **payload})[:-1]
    chain = sha256_hex(chain.encode() + body)
    return body + b',"chain":"' + chain.encode() + b'"}\n', chain


def plan_line(plan: dict[str, Any], limits: dict[str, Any], plan_digest: str) -> bytes:
    """The first line of a plan's journal."""
    return _line("", "plan", {"plan": plan, "limits": limits, "plan_digest": plan_digest})[0]


@dataclass(frozen=True, slots=True)
class Entry:
    """One verified journal line: its 1-based number, its content, its chain value, and where it ends."""

    number: int
    content: dict[str, Any]
    chain: str
    end: int

    @property
    def key(self) -> TrialKey:
        """The trial that the line is about."""
        return TrialKey(self.content["lane"], self.content["task_id"], self.content["trial"])


def last_chain(path: Path) -> str | None:
    """The chain value of a journal's last line; None for a file that is not one unbroken chain."""
    chain = ""
    try:
        with path.open("rb") as stream:
            for line in stream:
                found = _CHAIN.search(line.removesuffix(b"\n"))
                if not found:
                    return None
                chain = sha256_hex(chain.encode() + line[: found.start()])
                if found.group(1).decode() != chain:
                    return None
    except OSError:
        return None
    return chain


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
    chain, end = "", 0
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
        chain, end = expected, end + len(line) + 1
        yield Entry(number, content, chain, end)
