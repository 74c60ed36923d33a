"""Resuming touches only what is its own, and bills nothing that was billed before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from discovercall.contract.journal import (
    Journal,
    JournalLost,
    TrialKey,
    find_journal,
    journal_path,
    plan_line,
)
from discovercall.contract.ledger import read_ledger, resume_journal
from discovercall.contract.plan import Lane, RunPlan
from discovercall.contract.tasks import load_task_set
from discovercall.foundation.errors import InputError
from tests.support.records import lines, record, task

KEY = TrialKey(0, "weather", 1)
SECOND = TrialKey(0, "weather", 2)


@pytest.fixture
def plan(tmp_path: Path) -> RunPlan:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(lines(task()))
    output = tmp_path / "out.jsonl"
    lane = Lane("configured-model", "m", "unreported", "a-1", ("/bin/true",), output)
    return RunPlan(
        task_set=load_task_set(tasks),
        lanes=(lane,),
        trials=2,
        discovery_limit=10,
        execute=True,
        api_base_url="http://127.0.0.1:1",
        toolkit_revision="unversioned",
        adapter_timeout_ms=1000,
        max_billed_calls=2,
        max_credits=None,
        journal=journal_path(output),
    )


def start(plan: RunPlan) -> Journal:
    return Journal.create(plan.journal, plan.header(), plan.limits(), plan.digest)


def test_a_crash_before_the_plan_was_written_leaves_a_run_that_can_start(plan: RunPlan) -> None:
    whole = plan_line(plan.header(), plan.limits(), plan.digest)
    for kept in (0, 1, len(whole) - 1):
        plan.journal.write_bytes(whole[:kept])
        journal, ledger = resume_journal(plan.journal, plan)
        journal.close()
        assert ledger.records == {}
        assert plan.journal.read_bytes() == whole
        plan.journal.unlink()


@pytest.mark.parametrize("content", [b"my precious notes", b"{", b'{"kind":"plan","plan":{}'])
def test_text_that_is_no_journal_is_not_taken_for_one(plan: RunPlan, content: bytes) -> None:
    plan.journal.write_bytes(content)
    if plan_line(plan.header(), plan.limits(), plan.digest).startswith(content):
        plan.lanes[0].output.write_text("")  # an output shows that the run got further
    with pytest.raises(InputError, match="is not the beginning of this run's journal"):
        resume_journal(plan.journal, plan)
    assert plan.journal.read_bytes() == content


def test_an_emptied_journal_beside_its_output_does_not_bill_again(plan: RunPlan) -> None:
    plan.journal.write_bytes(b"")
    plan.lanes[0].output.write_text(lines(record()))
    with pytest.raises(InputError, match="is not the beginning"):
        resume_journal(plan.journal, plan)


@pytest.mark.parametrize("kind", ["other text", "other record", "link", "folder"])
def test_resuming_overwrites_no_output_of_somebody_else(plan: RunPlan, tmp_path: Path, kind: str) -> None:
    journal = start(plan)
    journal.trial_finished(KEY, record(run_id="mine"))
    journal.close()
    output, precious = plan.lanes[0].output, tmp_path / "precious"
    precious.write_text(lines(record(run_id="mine")))
    if kind == "other text":
        output.write_text("user data\n")
    elif kind == "other record":
        output.write_text(lines(record(run_id="not mine")))
    elif kind == "link":
        output.symlink_to(precious)
    else:
        output.mkdir()
    with pytest.raises(InputError, match="is not this run's and would be overwritten"):
        resume_journal(plan.journal, plan)
    assert precious.read_text() == lines(record(run_id="mine")) or kind != "link"


def test_resuming_goes_on_over_its_own_output(plan: RunPlan) -> None:
    journal = start(plan)
    journal.trial_finished(KEY, record(run_id="mine"))
    journal.close()
    plan.lanes[0].output.write_text(lines(record(run_id="mine")))
    journal, ledger = resume_journal(plan.journal, plan)
    journal.close()
    assert list(ledger.records) == [KEY]


def test_a_call_that_the_api_turned_away_was_not_billed(plan: RunPlan) -> None:
    journal = start(plan)
    journal.call_intent(KEY, 5.0, record())
    journal.call_withdrawn(KEY)
    journal.close()
    ledger = read_ledger(plan.journal)
    assert (ledger.drafts, ledger.prices, ledger.unknown) == ({}, {}, [])


def outcome(cost: object) -> dict[str, Any]:
    return {"outcome": "answered", "success": True, "result_nonempty": True, "cost": cost}


def test_a_negative_cost_is_no_income_when_it_is_read_again(plan: RunPlan) -> None:
    journal = start(plan)
    journal.call_intent(KEY, -7, record())
    journal.call_intent(SECOND, 2, record())
    journal.call_outcome(KEY, outcome(-1000))
    journal.call_outcome(SECOND, outcome(-1000))
    journal.close()
    ledger = read_ledger(plan.journal)
    assert ledger.prices == {SECOND: 2}
    assert ledger.dearest == 2


def test_the_dearest_amount_is_known_again_although_a_lower_one_took_its_place(plan: RunPlan) -> None:
    journal = start(plan)
    journal.call_intent(KEY, 9, record())
    journal.call_outcome(KEY, outcome(4))
    journal.call_intent(SECOND, 20, record())
    journal.call_withdrawn(SECOND)
    journal.close()
    ledger = read_ledger(plan.journal)
    assert (ledger.prices, ledger.dearest) == ({KEY: 4}, 20)


@pytest.mark.parametrize("harm", ["removed", "cut", "lengthened", "replaced"])
def test_no_call_is_billed_once_the_journal_is_not_whole(plan: RunPlan, harm: str) -> None:
    journal = start(plan)
    journal.trial_started(KEY)
    content = plan.journal.read_bytes()
    if harm == "removed":
        plan.journal.unlink()
    elif harm == "cut":
        plan.journal.write_bytes(content[:40])
    elif harm == "lengthened":
        plan.journal.write_bytes(content + b"x")
    else:
        plan.journal.unlink()
        plan.journal.write_bytes(content)
    with pytest.raises(InputError, match="somebody removed, replaced or changed it during the run"):
        journal.call_intent(KEY, None, record())
    journal.close()


@pytest.mark.parametrize("harm", ["removed", "cut", "lengthened", "replaced", "changed", "moved and back"])
def test_a_journal_that_was_not_left_alone_is_told_at_the_end(plan: RunPlan, harm: str) -> None:
    journal = start(plan)
    journal.call_intent(KEY, 5.0, record())
    content = plan.journal.read_bytes()
    if harm == "changed":
        with plan.journal.open("r+b") as file:
            file.write(content.replace(b"5", b"4", 1))
    elif harm == "cut":
        plan.journal.write_bytes(content[:40])
    elif harm == "lengthened":
        plan.journal.write_bytes(content + b"x")
    else:
        plan.journal.rename(plan.journal.with_name("moved"))
        if harm == "replaced":
            plan.journal.write_bytes(content)
    journal.call_outcome(KEY, outcome(5))
    journal.trial_finished(KEY, record())
    if harm == "moved and back":
        plan.journal.with_name("moved").rename(plan.journal)
        assert list(read_ledger(plan.journal).records) == [KEY], "what is finished was still written"
    with pytest.raises(JournalLost):
        journal.check(plan.journal)
    assert not journal.intact
    journal.close()


def test_a_journal_that_was_left_alone_is_whole_at_the_end(plan: RunPlan) -> None:
    journal = start(plan)
    journal.trial_finished(KEY, record())
    journal.check(plan.journal)
    assert journal.intact
    journal.close()


def chained(*contents: dict[str, Any]) -> bytes:
    """Lines with a right chain, whatever they say."""
    import hashlib

    text, chain = b"", ""
    for content in contents:
        body = json.dumps(content, separators=(",", ":")).encode()[:-1]
        chain = hashlib.sha256(chain.encode() + body).hexdigest()
        text += body + b',"chain":"' + chain.encode() + b'"}\n'
    return text


PLAN = {
    "kind": "plan",
    "plan": {"tasks": ["a"], "trials": 1, "lanes": [{}]},
    "limits": {"max_billed_calls": 1},
}

INTENT = {"kind": "call_intent", "lane": 0, "task_id": "a", "trial": 1, "draft": {}}
OUTCOME = {"kind": "call_outcome", "lane": 0, "task_id": "a", "trial": 1, **outcome(None)}


@pytest.mark.parametrize(
    ("contents", "line"),
    [
        ([{"kind": "plan"}], 1),
        ([{"kind": "plan", "plan": [], "limits": {}}], 1),
        ([{"kind": "plan", "plan": {"tasks": 1, "trials": 1, "lanes": []}, "limits": {}}], 1),
        ([{"kind": "plan", "plan": {"tasks": ["a"], "trials": "x", "lanes": []}, "limits": {}}], 1),
        ([PLAN, {"kind": "call_intent", "lane": 0, "task_id": "a", "trial": 1}], 2),
        ([PLAN, INTENT | {"price": "10"}], 2),
        ([PLAN, INTENT | {"price": None}, OUTCOME | {"cost": True}], 3),
        ([PLAN, {"kind": "trial_finished", "lane": [0], "task_id": {}, "trial": 1, "record": {}}], 2),
        ([PLAN, {"no": "kind"}], 2),
    ],
)
def test_lines_that_no_run_writes_are_refused_by_number(
    tmp_path: Path, contents: list[dict[str, Any]], line: int
) -> None:
    path = tmp_path / "x.journal.jsonl"
    path.write_bytes(chained(*contents))
    with pytest.raises(InputError, match=f"x.journal.jsonl:{line}: "):
        read_ledger(path)


def test_a_wrong_name_is_not_taken_for_a_lane_of_another_run(tmp_path: Path) -> None:
    journal = tmp_path / "run.journal.jsonl"
    journal.write_bytes(chained({**PLAN, "plan": {**PLAN["plan"], "lanes": [{"output": "a.jsonl"}]}}))  # type: ignore[dict-item]
    assert find_journal(tmp_path / "a.jsonl") == journal
    with pytest.raises(InputError, match=r"typo\.jsonl: has no journal"):
        find_journal(tmp_path / "typo.jsonl")
    for nothing in ("", ".", "/"):
        with pytest.raises(InputError, match="is no file"):
            find_journal(Path(nothing))
