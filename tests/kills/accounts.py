"""Compares a finished run with its ledger and with what the gateway saw."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discovercall.contract.journal import TrialKey, read_journal
from discovercall.foundation.digests import sha256_of_json

_PENDING = ("api_revision", "catalog_revision", "catalog_observation_sha256")


@dataclass(frozen=True)
class Accounts:
    """What a run must account for.

    Args:
        planned: records of the whole run.
        kept: records that the journal held as finished at some kill, by trial.
        executes: billed calls at the gateway, counted by the digest of their parameters.
    """

    planned: int
    kept: dict[TrialKey, dict[str, Any]]
    executes: Counter[str]


def finished_in_journal(journal: Path) -> dict[TrialKey, dict[str, Any]]:
    """The finished records of a journal as it stands."""
    if not journal.exists():
        return {}
    return {
        e.key: e.content["record"] for e in read_journal(journal) if e.content["kind"] == "trial_finished"
    }


def audit(output: Path, journal: Path, accounts: Accounts) -> Iterator[str]:
    """Every broken promise, in words."""
    records = [json.loads(line) for line in output.read_text().splitlines()]
    if len(records) != accounts.planned:
        yield f"{len(records)} records instead of {accounts.planned}"
    by_trial = {(record["task_id"], record["trial"]): record for record in records}
    for key, kept in accounts.kept.items():
        if _settled(by_trial.get((key.task_id, key.trial))) != _settled(kept):
            yield f"the finished record of {key} was lost or changed"
    entries = list(read_journal(journal))
    for kind in ("call_intent", "trial_finished"):
        for key, count in Counter(e.key for e in entries if e.content["kind"] == kind).items():
            if count > 1:
                yield f"{count} lines {kind} of {key}"
    intents = {
        sha256_of_json(e.content["draft"]["parameters"])
        for e in entries
        if e.content["kind"] == "call_intent"
    }
    for digest, count in accounts.executes.items():
        if count > 1:
            yield f"a call was billed {count} times"
        if digest not in intents:
            yield "a call was billed that the ledger doesn't know"
    for record in records:
        unknown = record.get("error", {}).get("reason_code") == "outcome_unknown"
        billed = accounts.executes[sha256_of_json(record["parameters"])]
        if not unknown and record["call"]["attempted"] and not billed:
            yield f"a record claims a call that the gateway never saw: {record['task_id']}/{record['trial']}"


def _settled(record: dict[str, Any] | None) -> str | None:
    if record is None:
        return None
    metadata = {name: value for name, value in record["metadata"].items() if name not in _PENDING}
    return json.dumps({**record, "metadata": metadata})
