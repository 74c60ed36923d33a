"""What a journal says: the plan it belongs to, what is finished, what was billed, what nobody knows."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discovercall.contract.journal import Entry, Journal, TrialKey, plan_line, read_journal
from discovercall.contract.plan import RunPlan
from discovercall.contract.record import recovered_record
from discovercall.contract.spend import credit_amount
from discovercall.foundation.ecmascript import is_finite_number, is_integer
from discovercall.foundation.errors import InputError
from discovercall.foundation.jsonl import AppendFile, read_objects


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
        dearest: the highest of all these amounts, also of those that another took the place of.
        observations: revision headers, in order of appearance.
        chain: the chain value of the last line, to which a resumed run adds its lines.
        end: bytes up to the end of the last whole line; what follows was cut off while it was written.
    """

    plan: dict[str, Any]
    limits: dict[str, Any]
    records: dict[TrialKey, dict[str, Any]] = field(default_factory=dict)
    drafts: dict[TrialKey, dict[str, Any]] = field(default_factory=dict)
    outcomes: dict[TrialKey, dict[str, Any]] = field(default_factory=dict)
    prices: dict[TrialKey, float] = field(default_factory=dict)
    dearest: float | None = None
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
    number = 1
    try:
        entries = read_journal(path)
        first = next(entries, None)
        if first is None or first.content.get("kind") != "plan":
            raise InputError("holds no plan", where=f"{path}:1", fix="it is no journal of a run; remove it")
        plan, limits = _object(first.content["plan"]), _limits(first.content["limits"])
        ledger = Ledger(plan, limits, chain=first.chain, end=first.end)
        if ledger.planned < 1:
            raise ValueError
        for entry in entries:
            number = entry.number
            _take_in(ledger, entry)
            ledger.chain, ledger.end = entry.chain, entry.end
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError("is no line that a run writes", where=f"{path}:{number}") from None
    return ledger


def _take_in(ledger: Ledger, entry: Entry) -> None:
    content = entry.content
    match content["kind"]:
        case "resumed":
            ledger.limits = _limits(content["limits"])
        case "call_intent":
            ledger.drafts[_typed(entry.key)] = _object(content["draft"])
            _note_price(ledger, entry.key, content["price"])
        case "call_withdrawn":
            ledger.drafts.pop(entry.key, None)
            ledger.prices.pop(entry.key, None)
        case "call_outcome":
            ledger.outcomes[entry.key] = {
                name: content[name] for name in ("outcome", "success", "result_nonempty", "cost")
            }
            _note_price(ledger, entry.key, content["cost"])
        case "trial_finished":
            ledger.records[entry.key] = _object(content["record"])
        case "revisions":
            ledger.observations.append((content["api"], content["catalog"]))


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _typed(key: TrialKey) -> TrialKey:
    if not isinstance(key.task_id, str) or not is_integer(key.trial) or not is_integer(key.lane):
        raise TypeError
    return key


def _limits(value: Any) -> dict[str, Any]:
    limits = _object(value)
    if not is_integer(limits["max_billed_calls"]):
        raise TypeError
    credits = limits.get("max_credits")
    if credits is not None and not is_finite_number(credits):
        raise TypeError
    return limits


def _note_price(ledger: Ledger, key: TrialKey, credits: object) -> None:
    if credits is not None and not is_finite_number(credits):
        raise ValueError
    amount = credit_amount(credits)
    if amount is not None:
        ledger.prices[key] = amount
        ledger.dearest = max(amount, ledger.dearest or 0)


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
        raise InputError(f"{path} cannot be opened ({error.strerror})", where="--resume") from None
    try:
        if _broke_off_before_its_plan(path, plan):
            file.truncate(0)
            return Journal.begin(file, plan.header(), plan.limits(), plan.digest), Ledger(
                plan.header(), plan.limits()
            )
        ledger = read_ledger(path)
        check_outputs_are_own(plan, ledger)
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
        if (trouble := journal.trouble) is not None:
            raise trouble
    except BaseException:
        file.close()
        raise
    return journal, ledger


def _broke_off_before_its_plan(path: Path, plan: RunPlan) -> bool:
    """True for what a crash leaves before the first line was whole: nothing was sent yet.

    Raises:
        InputError: no whole line, but it is not that either.
    """
    data = path.read_bytes()
    if b"\n" in data:
        return False
    expected = plan_line(plan.header(), plan.limits(), plan.digest)
    if not expected.startswith(data) or any(os.path.lexists(lane.output) for lane in plan.lanes):
        raise InputError(
            "this is not the beginning of this run's journal",
            where=f"{path}:1",
            fix="restore it from a copy, or start the run anew with another --output",
        )
    return True


def check_outputs_are_own(plan: RunPlan, ledger: Ledger) -> None:
    """Refuse to resume over an output that this run has not written.

    Raises:
        InputError: an output holds anything but records of the journal.
    """
    own = {record["run_id"] for record in ledger.records.values()}
    for lane in plan.lanes:
        if not os.path.lexists(lane.output):
            continue
        written = None
        if lane.output.is_file() and not lane.output.is_symlink():
            with contextlib.suppress(InputError):
                written = {record.get("run_id") for record in read_objects(lane.output)}
        if written is None or not written <= own:
            raise InputError(
                f"{lane.output} is not this run's and would be overwritten",
                where="--resume",
                fix="move it away",
            )


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
