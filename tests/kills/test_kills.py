"""A short kill campaign; `make kill-test` runs the long one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from discovercall.contract.journal import Journal, TrialKey
from discovercall.foundation.digests import sha256_of_json
from tests.kills.accounts import Accounts, audit
from tests.kills.campaign import Campaign
from tests.support.records import record


@pytest.mark.slow
@pytest.mark.part("kill campaign")
def test_no_kill_costs_money_twice_or_loses_a_record(tmp_path: Path) -> None:
    tally = Campaign(tmp_path, seed=20, publish_every=4).run(60)
    assert tally.faults == []
    assert tally.published == tally.runs // 4 >= 5
    assert tally.kills >= 60
    assert set(tally.kinds) == {"before", "torn", "after", "random"}


PARAMETERS = {"location": "a/1"}


class TestAudit:
    """The auditor must see each kind of broken promise."""

    def accounts(
        self, tmp_path: Path, *, executes: int, intents: int = 1, outcome: str | None = None
    ) -> tuple[Path, Path, Accounts]:
        key = TrialKey(0, "weather", 1)
        finished = record(trial=1, parameters=PARAMETERS)
        if outcome:
            finished["error"] = {"stage": "call", "reason_code": outcome, "message": ""}
        output, path = tmp_path / "o.jsonl", tmp_path / "o.jsonl.journal.jsonl"
        journal = Journal.create(path, {}, {}, "d")
        for _ in range(intents):
            journal.call_intent(key, None, finished)
        journal.trial_finished(key, finished)
        journal.close()
        output.write_text(json.dumps(finished) + "\n")
        seen = Counter({sha256_of_json(PARAMETERS): executes})
        return output, path, Accounts(1, {key: finished}, seen)

    def test_a_clean_run_has_no_fault(self, tmp_path: Path) -> None:
        assert list(audit(*self.accounts(tmp_path, executes=1))) == []

    def test_a_call_without_outcome_may_never_have_arrived(self, tmp_path: Path) -> None:
        assert list(audit(*self.accounts(tmp_path, executes=0, outcome="outcome_unknown"))) == []

    @pytest.mark.parametrize(
        ("executes", "intents", "fault"),
        [
            (2, 1, "a call was billed 2 times"),
            (1, 0, "a call was billed that the ledger doesn't know"),
            (0, 1, "a record claims a call that the gateway never saw: weather/1"),
        ],
    )
    def test_each_broken_promise_about_money_is_seen(
        self, tmp_path: Path, executes: int, intents: int, fault: str
    ) -> None:
        assert fault in list(audit(*self.accounts(tmp_path, executes=executes, intents=intents)))

    def test_a_lost_and_a_changed_record_are_seen(self, tmp_path: Path) -> None:
        output, journal, accounts = self.accounts(tmp_path, executes=1)
        changed = json.loads(output.read_text())
        changed["status"] = "failed"
        output.write_text(json.dumps(changed) + "\n")
        assert any("was lost or changed" in fault for fault in audit(output, journal, accounts))
        output.write_text("")
        assert any("0 records instead of 1" in fault for fault in audit(output, journal, accounts))
