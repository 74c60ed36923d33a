import re
from types import SimpleNamespace
from typing import Any

import pytest

from discovercall.cli.progress import Watch, failed_line, observer_for
from discovercall.contract.plan import RunPlan
from tests.support.bench import Bench


def plan(**values: object) -> Any:
    return SimpleNamespace(**{"planned_records": 108, "max_billed_calls": 108, "execute": True, **values})


def failure(stage: str, reason: str) -> dict[str, Any]:
    return {"error": {"stage": stage, "reason_code": reason, "message": None}}


def shown(made: RunPlan, capsys: pytest.CaptureFixture[str], *, resume: bool = False) -> str:
    """The last state of the bar, after one trial that passed and 24 that failed."""
    with observer_for(made, resume=resume) as watch:
        watch.call_sent(30)
        watch.trial_finished({})
        for stage, reason, count in (
            ("parameterize", "invalid_parameter_values", 21),
            ("select", "refused", 3),
        ):
            for _ in range(count):
                watch.trial_finished(failure(stage, reason))
    return str(re.findall(r"[^\r\n]*billed[^\r\n]*", capsys.readouterr().err)[-1])


@pytest.mark.parametrize("width", [40, 60, 79, 80, 120])
def test_on_every_width_the_bar_tells_how_many_trials_are_done(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"FORCE_COLOR": "1", "NO_COLOR": "1", "TERM": "xterm", "COLUMNS": str(width)}.items():
        monkeypatch.setenv(name, value)
    line = shown(plan(), capsys)
    assert " 25/108 " in f" {line}"
    assert "billed 30/108" in line


def test_the_bar_of_a_resumed_run_begins_at_what_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = SimpleNamespace(records=dict.fromkeys(range(14)), drafts={})
    monkeypatch.setattr("discovercall.cli.progress.read_ledger", lambda path: before)
    for name, value in {"FORCE_COLOR": "1", "NO_COLOR": "1", "TERM": "xterm", "COLUMNS": "100"}.items():
        monkeypatch.setenv(name, value)
    assert "39/108" in shown(plan(journal="j"), capsys, resume=True)


def test_a_run_without_a_single_decision_says_what_failed_and_where_to_look(bench: Bench) -> None:
    bench.adapter.write_text("#!/bin/sh\necho DISCOVERCALL_ADAPTER_ERROR=model_failed >&2\nexit 1\n")
    done = bench.run(trials=2)
    assert done.code == 0, done
    assert "\n2 of 2 trials ended early: adapter model_failed 2; no decision was made: see that " in done.err


def test_the_commonest_reasons_come_first_and_the_rest_is_counted() -> None:
    watch = Watch()
    watch.trial_finished({})
    for number, reason in enumerate(("a", "b", "c", "d", "e")):
        for _ in range(5 - number):
            watch.trial_finished(failure("select", reason))
    text = "15 of 16 trials ended early: select a 5, select b 4, select c 3, select d 2, and 1 other reason"
    assert failed_line(watch) == text
