"""What a journal says: the plan it belongs to, what is finished, what was billed, what nobody knows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discovercall.contract.journal import Entry, Journal, TrialKey, read_journal
from discovercall.contract.plan import RunPlan
from discovercall.contract.record import recovered_record
from discovercall.foundation.errors import InputError
from discovercall.foundation.jsonl import AppendFile


@dataclass(slots=True)
class Ledger:
    """The content of a verified journal.

    Args:
        plan: the plan header.
        limits: the newest spend limits.
        records: finished records by trial.
        drafts: records as they stood when the trial's call was sent.
        outcomes: what became of calls, where the journal says so.
        prices: what calls cost or were to cost, in credits, where that is known.
        observations: revision headers, in order of appearance.
    """

    plan: dict[str, Any]
    limits: dict[str, Any]
    records: dict[TrialKey, dict[str, Any]] = field(default_factory=dict)
    drafts: dict[TrialKey, dict[str, Any]] = field(default_factory=dict)
    outcomes: dict[TrialKey, dict[str, Any]] = field(default_factory=dict)
    prices: dict[TrialKey, float] = field(default_factory=dict)
    observations: list[tuple[str | None, str | None]] = field(default_factory=list)
    chain: str = ""
    end: int = 0

    @property
    def planned(self) -> int:
        """Records that the complete run has."""
        return len(self.plan["tasks"]) * int(self.plan["trials"]) * len(self.plan["lanes"])

    @property
    def unknown(self) -> list[TrialKey]:
        """Trials whose call was sent and whose outcome nobody knows."""
        lost = [key for key in self.drafts if key not in self.records and key not in self.outcomes]
        recorded = [
            key
            for key, record in self.records.items()
            if record.get("error", {}).get("reason_code") == "outcome_unknown"
        ]
        return lost + recorded

    def broken_off(self) -> dict[TrialKey, dict[str, Any]]:
        """Records to be made for trials that were sent to be billed and never finished."""
        return {
            key: recovered_record(draft, self.outcomes.get(key))
            for key, draft in self.drafts.items()
            if key not in self.records
        }


def read_ledger(path: Path) -> Ledger:
    """Read and verify a journal.

    Raises:
        InputError: unreadable, damaged or changed; names the line.
    """
    entries = read_journal(path)
    first = next(entries, None)
    if first is None or first.content.get("kind") != "plan":
        raise InputError("holds no plan", where=f"{path}:1", fix="it is no journal of a run; remove it")
    ledger = Ledger(first.content["plan"], first.content["limits"], chain=first.chain, end=first.end)
    for entry in entries:
        _take_in(ledger, entry)
        ledger.chain, ledger.end = entry.chain, entry.end
    return ledger


def _take_in(ledger: Ledger, entry: Entry) -> None:
    content = entry.content
    match content["kind"]:
        case "resumed":
            ledger.limits = content["limits"]
        case "call_intent":
            ledger.drafts[entry.key] = content["draft"]
            _note_price(ledger, entry.key, content["price"])
        case "call_outcome":
            ledger.outcomes[entry.key] = {
                name: content[name] for name in ("outcome", "success", "result_nonempty", "cost")
            }
            _note_price(ledger, entry.key, content["cost"])
        case "trial_finished":
            ledger.records[entry.key] = content["record"]
        case "revisions":
            ledger.observations.append((content["api"], content["catalog"]))


def _note_price(ledger: Ledger, key: TrialKey, credits: float | None) -> None:
    if credits is not None:
        ledger.prices[key] = credits


def resume_journal(path: Path, plan: RunPlan) -> tuple[Journal, Ledger]:
    """Open the journal of a run that ended early, for exactly the same plan; spend limits may differ.

    Raises:
        InputError: another process has it open, it is damaged, or it belongs to another plan.
    """
    try:
        file = AppendFile.reopen(path)
    except BlockingIOError:
        raise InputError(f"{path} is in use by a run", where="--resume", fix="wait for it to end") from None
    except OSError as error:
        raise InputError(f"{path} can't be opened ({error.strerror})", where="--resume") from None
    try:
        if next(read_journal(path), None) is None:  # it broke off before its first line: nothing was sent
            file.truncate(0)
            return Journal.begin(file, plan.header(), plan.limits(), plan.digest), Ledger(
                plan.header(), plan.limits()
            )
        ledger = read_ledger(path)
        difference = first_difference(ledger.plan, plan.header())
        if difference is not None:
            raise InputError(
                f"this is another run: {difference}",
                where="--resume",
                fix="give the same options as before, or another --output",
            )
        file.truncate(ledger.end)
        journal = Journal(file, ledger.chain)
        journal.resumed(plan.limits(), plan.digest)
        for key, record in ledger.broken_off().items():
            journal.trial_finished(key, record)
            ledger.records[key] = record
    except BaseException:
        file.close()
        raise
    return journal, ledger


def first_difference(before: Any, now: Any, at: str = "") -> str | None:
    """Where two plain values differ first, in words; None where they are equal."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in sorted({*before, *now}):
            path = f"{at}.{name}" if at else name
            found = first_difference(before.get(name), now.get(name), path)
            if found is not None:
                return found
        return None
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        found_items = (
            first_difference(b, n, f"{at}[{i}]") for i, (b, n) in enumerate(zip(before, now, strict=True))
        )
        return next((found for found in found_items if found is not None), None)
    return None if before == now else f"{at} was {before!r} and is now {now!r}"
