"""Resuming touches only what is its own, and bills nothing that was billed before."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discovercall.contract.journal import (
    Journal,
    JournalLost,
    JournalUnwritable,
    TrialKey,
    find_journal,
    journal_path,
    plan_line,
)
from discovercall.contract.ledger import first_difference, read_ledger, resume_journal
from discovercall.contract.plan import Lane, RunPlan
from discovercall.contract.tasks import load_task_set
from discovercall.foundation.errors import InputError
from discovercall.foundation.jsonl import AppendFile
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
        ([PLAN | {"limits": {"max_credits": 1}}], 1),
        ([PLAN | {"plan": {"tasks": [], "trials": 1, "lanes": [{}]}}], 1),
        ([{"kind": "plan", "plan": [], "limits": {}}], 1),
        ([{"kind": "plan", "plan": {"tasks": 1, "trials": 1, "lanes": []}, "limits": {}}], 1),
        ([{"kind": "plan", "plan": {"tasks": ["a"], "trials": "x", "lanes": []}, "limits": {}}], 1),
        ([PLAN, {"kind": "call_intent", "lane": 0, "task_id": "a", "trial": 1}], 2),
        ([PLAN, INTENT | {"price": "10"}], 2),
        ([PLAN, INTENT | {"price": None}, OUTCOME | {"cost": True}], 3),
        ([PLAN, {"kind": "trial_finished", "lane": [0], "task_id": {}, "trial": 1, "record": {}}], 2),
        ([PLAN, {"no": "kind"}], 2),
        ([PLAN, INTENT | {"price": None, "task_id": 7}], 2),
        ([PLAN, INTENT | {"price": None, "trial": "1"}], 2),
        ([PLAN, INTENT | {"price": None, "lane": "0"}], 2),
        ([PLAN | {"limits": []}], 1),
        ([PLAN | {"limits": {"max_billed_calls": "1"}}], 1),
        ([PLAN | {"limits": {"max_billed_calls": 1, "max_credits": "1"}}], 1),
        ([PLAN, {"kind": "resumed", "limits": 5}], 2),
        ([PLAN, INTENT | {"price": None, "draft": "x"}], 2),
        ([PLAN, {"kind": "trial_finished", "lane": 0, "task_id": "a", "trial": 1, "record": "x"}], 2),
    ],
)
def test_lines_that_no_run_writes_are_refused_by_number(
    tmp_path: Path, contents: list[dict[str, Any]], line: int
) -> None:
    path = tmp_path / "x.journal.jsonl"
    path.write_bytes(chained(*contents))
    with pytest.raises(InputError) as refused:
        read_ledger(path)
    assert str(refused.value) == f"{path}:{line}: is no line that a run writes"


def test_a_wrong_name_is_not_taken_for_a_lane_of_another_run(tmp_path: Path) -> None:
    journal = tmp_path / "run.journal.jsonl"
    journal.write_bytes(chained({**PLAN, "plan": {**PLAN["plan"], "lanes": [{"output": "a.jsonl"}]}}))  # type: ignore[dict-item]
    assert find_journal(tmp_path / "a.jsonl") == journal
    with pytest.raises(InputError, match=r"typo\.jsonl: has no journal"):
        find_journal(tmp_path / "typo.jsonl")
    for nothing in ("", ".", "/"):
        with pytest.raises(InputError, match="is no file"):
            find_journal(Path(nothing))


def resumption(plan: RunPlan, path: Path | None = None) -> str:
    """What resuming says when it refuses."""
    with pytest.raises(InputError) as refused:
        resume_journal(path or plan.journal, plan)
    return str(refused.value)


def test_what_a_run_wrote_is_read_again_in_every_field(plan: RunPlan) -> None:
    journal = start(plan)
    journal.revisions("v1", None)
    journal.call_intent(KEY, 0.5, record(run_id="one"))
    journal.call_outcome(KEY, outcome(0.25))
    journal.call_intent(SECOND, None, record(run_id="two"))
    journal.revisions(None, "c2")
    journal.close()
    ledger = read_ledger(plan.journal)
    lines_read = plan.journal.read_bytes().splitlines(keepends=True)
    assert (ledger.plan, ledger.limits) == (plan.header(), plan.limits())
    assert ledger.planned == 2
    assert {key: draft["run_id"] for key, draft in ledger.drafts.items()} == {KEY: "one", SECOND: "two"}
    assert ledger.outcomes == {KEY: outcome(0.25)}
    assert (ledger.prices, ledger.dearest) == ({KEY: 0.25}, 0.5)
    assert ledger.observations == [("v1", None), (None, "c2")]
    assert (ledger.records, ledger.unknown) == ({}, [SECOND])
    assert (ledger.chain, ledger.end) == (json.loads(lines_read[-1])["chain"], len(b"".join(lines_read)))


def test_a_plan_alone_ends_where_its_line_ends(plan: RunPlan) -> None:
    start(plan).close()
    ledger, line = read_ledger(plan.journal), plan.journal.read_bytes()
    assert (ledger.chain, ledger.end) == (json.loads(line)["chain"], len(line))


@pytest.mark.parametrize("content", [b"", chained({"kind": "resumed"})])
def test_a_file_without_a_plan_is_no_journal(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.journal.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_ledger(path)
    assert str(refused.value) == f"{path}:1: holds no plan; it is no journal of a run; remove it"


def test_a_recorded_trial_of_unknown_outcome_is_unknown_too(plan: RunPlan) -> None:
    journal = start(plan)
    journal.call_intent(KEY, None, record())
    journal.trial_finished(KEY, record(error={"stage": "api", "reason_code": "outcome_unknown"}))
    journal.trial_finished(SECOND, record(error={"stage": "api", "reason_code": "http_503"}))
    journal.close()
    assert read_ledger(plan.journal).unknown == [KEY]


def test_a_trial_that_broke_off_is_finished_once_as_the_journal_knows_it(plan: RunPlan) -> None:
    draft = record(run_id="one", call={"attempted": True, "success": None})
    journal = start(plan)
    journal.trial_finished(SECOND, record(run_id="two", trial=2))
    journal.call_intent(SECOND, None, record(run_id="two", trial=2))
    journal.call_intent(KEY, None, draft)
    journal.call_outcome(KEY, outcome(None))
    journal.close()
    answered = {**draft, "status": "completed", "call": {"attempted": True, "success": True}}
    answered["call"] |= {"result_nonempty": True}
    assert read_ledger(plan.journal).broken_off() == {KEY: answered}
    journal, ledger = resume_journal(plan.journal, plan)
    journal.close()
    assert ledger.records[KEY] == answered
    assert {key: found["run_id"] for key, found in ledger.records.items()} == {KEY: "one", SECOND: "two"}
    again = read_ledger(plan.journal)
    assert again.records == ledger.records
    assert again.broken_off() == {}
    assert plan.journal.read_bytes().count(b'"kind":"trial_finished"') == 2


def test_a_disk_that_is_full_when_a_run_goes_on_ends_it(
    plan: RunPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = start(plan)
    journal.call_intent(KEY, None, record(run_id="one"))
    journal.close()
    append = AppendFile.append

    def full(self: AppendFile, data: bytes, *, sync: bool) -> None:
        if b'"trial_finished"' in data:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        append(self, data, sync=sync)

    with monkeypatch.context() as patch:
        patch.setattr(AppendFile, "append", full)
        with pytest.raises(JournalUnwritable, match="No space left on device"):
            resume_journal(plan.journal, plan)
    journal, ledger = resume_journal(plan.journal, plan)
    journal.close()
    assert list(ledger.records) == [KEY]


def test_a_call_of_which_nobody_knows_is_recorded_as_such(plan: RunPlan) -> None:
    journal = start(plan)
    journal.call_intent(KEY, None, record(run_id="one"))
    journal.close()
    journal, ledger = resume_journal(plan.journal, plan)
    journal.close()
    assert ledger.records[KEY]["error"]["reason_code"] == "outcome_unknown"
    assert ledger.unknown == [KEY]


@pytest.mark.parametrize("torn", [b"", b'{"kind":"trial_st'])
def test_a_resumed_journal_goes_on_behind_its_last_whole_line(plan: RunPlan, torn: bytes) -> None:
    start(plan).close()
    whole = plan.journal.read_bytes()
    plan.journal.write_bytes(whole + torn)
    richer = replace(plan, max_billed_calls=9, max_credits=50.0)
    journal, ledger = resume_journal(plan.journal, richer)
    journal.trial_started(KEY)
    journal.close()
    assert (ledger.plan, ledger.limits) == (plan.header(), plan.limits())
    assert plan.journal.read_bytes().startswith(whole)
    added = [json.loads(line) for line in plan.journal.read_bytes()[len(whole) :].splitlines()]
    assert [entry["kind"] for entry in added] == ["resumed", "trial_started"]
    assert (added[0]["limits"], added[0]["plan_digest"]) == (richer.limits(), richer.digest)
    assert read_ledger(plan.journal).limits == {"max_billed_calls": 9, "max_credits": 50.0}


def test_a_run_that_starts_over_has_the_plan_and_the_limits_of_now(plan: RunPlan) -> None:
    plan.journal.write_bytes(b"")
    journal, ledger = resume_journal(plan.journal, plan)
    journal.close()
    assert (ledger.plan, ledger.limits) == (plan.header(), plan.limits())


def test_a_call_that_was_turned_away_may_have_named_no_price(plan: RunPlan) -> None:
    journal = start(plan)
    journal.call_intent(KEY, None, record())
    journal.call_withdrawn(KEY)
    journal.call_withdrawn(KEY)
    journal.close()
    assert read_ledger(plan.journal).drafts == {}


def test_a_journal_in_use_or_that_can_not_be_opened_says_so(plan: RunPlan, tmp_path: Path) -> None:
    journal = start(plan)
    assert resumption(plan) == f"--resume: {plan.journal} is in use by a run; wait for it to end"
    journal.close()
    missing = tmp_path / "none.journal.jsonl"
    assert resumption(plan, missing) == f"--resume: {missing} cannot be opened (No such file or directory)"


def test_another_plan_is_told_by_what_differs(plan: RunPlan) -> None:
    start(plan).close()
    before = plan.journal.read_bytes()
    for other, difference in (
        (replace(plan, trials=3), "trials was 2 and is now 3"),
        (replace(plan, execute=False), "execute was True and is now False"),
        (
            replace(plan, lanes=(replace(plan.lanes[0], model="n"),)),
            "lanes[0].model was 'm' and is now 'n'",
        ),
    ):
        assert resumption(other, plan.journal) == (
            f"--resume: this is another run: {difference}; give the same options as before, or another"
            " --output"
        )
    assert plan.journal.read_bytes() == before
    resume_journal(plan.journal, plan)[0].close()


def test_a_beginning_of_something_else_is_refused_to_the_word(plan: RunPlan) -> None:
    plan.journal.write_bytes(b"notes")
    assert resumption(plan) == (
        f"{plan.journal}:1: this is not the beginning of this run's journal; restore it from a copy, or start"
        " the run anew with another --output"
    )


def test_every_lanes_output_is_looked_at(plan: RunPlan, tmp_path: Path) -> None:
    other = replace(plan.lanes[0], lane="reference", output=tmp_path / "other.jsonl")
    two = replace(plan, lanes=(*plan.lanes, other))
    start(two).close()
    other.output.write_text(lines(record(run_id="not mine")))
    assert resumption(two) == (
        f"--resume: {other.output} is not this run's and would be overwritten; move it away"
    )


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (1, 1, None),
        (1, 2, " was 1 and is now 2"),
        ({"a": 1}, {"a": 1}, None),
        ({"b": 1, "a": 1}, {"b": 2, "a": 2}, "a was 1 and is now 2"),
        ({"a": 1}, {}, "a was 1 and is now None"),
        ({}, {"a": "x"}, "a was None and is now 'x'"),
        ({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [1, {"c": 3}]}}, "a.b[1].c was 2 and is now 3"),
        ({"a": [1, 2]}, {"a": [1]}, "a was [1, 2] and is now [1]"),
        ({"a": [1]}, {"a": [1]}, None),
        ({"a": [1]}, {"a": 1}, "a was [1] and is now 1"),
        ({"a": 1}, {"a": [1]}, "a was 1 and is now [1]"),
        ({"a": {}}, {"a": 1}, "a was {} and is now 1"),
        ({"a": 1}, {"a": {}}, "a was 1 and is now {}"),
    ],
)
def test_the_first_difference_in_words(before: Any, now: Any, said: str | None) -> None:
    assert first_difference(before, now) == said
