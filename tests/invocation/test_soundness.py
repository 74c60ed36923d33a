"""A report that was read is believed only as far as its own runs bear it out."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discovercall.foundation.errors import InputError, RefusedError
from discovercall.invocation.benchmark import read_report, report_bytes
from discovercall.invocation.config import Plan
from discovercall.invocation.markdown import summary_lines, to_markdown
from discovercall.invocation.redaction import SecretRedactor
from discovercall.invocation.report import build_report
from discovercall.invocation.report_model import ErrorReport, Report, Toolkit
from discovercall.invocation.runtime.modes import ModeName
from tests.invocation.running import run_mock

CASES = ("ordinary_chat", "device_volume_silent")
ESCAPE = "\x1b]0;pwned\x07\u202e\ud800"
Json = dict[str, Any]


@pytest.fixture(scope="module")
def made() -> Json:
    """A report of four runs of the mock, as `report.json` holds it."""
    plan = Plan(None, tuple(ModeName), CASES, 1, 30.0)
    report = build_report(
        plan,
        run_mock(CASES, [mode.value for mode in ModeName]),
        cases_sha256="a" * 64,
        generated_at="2026-11-30T12:00:00.000Z",
        toolkit=Toolkit(version="0.1.0", commit="c" * 40, dirty=False),
        redact=SecretRedactor(),
    )
    return dict(json.loads(report_bytes(report)))


@pytest.fixture
def changed(made: Json, tmp_path: Path) -> Callable[[Callable[[Json], Any]], Path]:
    def change(edit: Callable[[Json], Any]) -> Path:
        value = copy.deepcopy(made)
        edit(value)
        path = tmp_path / "report.json"
        path.write_text(json.dumps(value))
        return path

    return change


def test_a_report_as_it_was_written_is_read(changed: Any) -> None:
    report = read_report(changed(lambda value: None))
    assert (report.passed, report.runs_passed) == (True, 4)
    assert "**All 4 runs passed.**" in to_markdown(report)


def failed_runs(value: Json) -> None:
    for run in value["runs"]:
        run |= {"passed": False, "failures": [{"check": "answers", "expected": "model", "saw": "none"}]}


def no_runs(value: Json) -> None:
    value |= {"runs": [], "runs_planned": 1_000_000, "runs_passed": 1_000_000}
    value["settings"] |= {"client": "live", "model": "m", "base_url": "https://example.org/v1"}


LIES: dict[str, Callable[[Json], Any]] = {
    "runs": no_runs,
    "runs_passed": failed_runs,
    "runs_planned": lambda value: value.update(runs_planned=400),
    "passed": lambda value: value.update(passed=False),
    "runs[0].passed": lambda value: value["runs"][0].update(
        failures=[{"check": "answers", "expected": "model", "saw": "none"}]
    ),
    "runs[2].passed": lambda value: value["runs"][2]["events"][0].update(status="failed"),
    "runs[1].tokens.total": lambda value: value["runs"][1]["tokens"].update(total=1),
    "cells[0].passed": lambda value: value["cells"][0].update(passed=594),
    "cells[2].metrics.first_token_ms.p50": lambda value: value["cells"][2]["metrics"][
        "first_token_ms"
    ].update(p50=0.5),
    "tokens.prompt.total": lambda value: value["tokens"]["prompt"].update(total=7),
    "comparison.gap.difference": lambda value: value["comparison"]["gap"].update(difference=0.9),
    "comparison.gap.better": lambda value: value["comparison"]["gap"].update(better=["ordinary_chat"]),
    "comparison.latency.turn_wall_time_ms.pairs": lambda value: value["comparison"]["latency"][
        "turn_wall_time_ms"
    ].update(pairs=40),
}


@pytest.mark.parametrize("field", LIES)
def test_totals_that_contradict_the_runs_are_refused_by_field(changed: Any, field: str) -> None:
    with pytest.raises(RefusedError) as caught:
        read_report(changed(LIES[field]))
    assert str(caught.value.where).endswith(f": {field}")


def without_metric(value: Json) -> None:
    del value["cells"][1]["metrics"]["first_token_ms"]


UNUSABLE: dict[str, Callable[[Json], Any]] = {
    "generated_at": lambda value: value.update(generated_at="<img src=x onerror=alert(1)>"),
    "toolkit.version": lambda value: value["toolkit"].update(version="1\n# All passed"),
    "toolkit.commit": lambda value: value["toolkit"].update(commit="HEAD"),
    "settings.modes": lambda value: value["settings"].update(modes=[]),
    "settings.cases": lambda value: value["settings"].update(cases=["# A heading"]),
    "settings.model": lambda value: value["settings"].update(model="gpt"),
    "settings.runs_per_case": lambda value: value["settings"].update(runs_per_case=0),
    "cells": lambda value: value["cells"].pop(),
    "cells[1].metrics": without_metric,
    "comparison": lambda value: value.update(comparison=None),
    "comparison.latency": lambda value: value["comparison"]["latency"].clear(),
    "runs[0].first_token_ms": lambda value: value["runs"][0].update(first_token_ms=float("1e999")),
}


@pytest.mark.parametrize("field", UNUSABLE)
def test_what_no_report_has_is_bad_input_by_field(changed: Any, field: str) -> None:
    path = changed(UNUSABLE[field])
    path.write_text(path.read_text().replace("Infinity", "1e999"))
    with pytest.raises(InputError) as caught:
        read_report(path)
    assert str(caught.value.where).endswith(f": {field}")


def test_a_name_twice_in_one_object_is_refused(changed: Any) -> None:
    path = changed(lambda value: None)
    path.write_text(path.read_text().replace('"passed": true', '"passed": false, "passed": true', 1))
    with pytest.raises(InputError, match="names 'passed' twice"):
        read_report(path)


def test_what_a_server_said_steers_no_terminal(made: Json) -> None:
    value = copy.deepcopy(made)
    value["runs"][0] |= {"passed": False}
    report = Report.model_validate(value)
    report.runs[0].error = ErrorReport(code="provider_error", message=f"HTTP 401 ({ESCAPE})")
    lines = summary_lines(report)
    assert (
        lines[1]
        == "  ordinary_chat, dual_agent, run 1: provider_error: HTTP 401 (\ufffd]0;pwned\ufffd\ufffd\ufffd)"
    )
    assert SecretRedactor().short(f"a{ESCAPE}") == "a\ufffd]0;pwned\ufffd\ufffd\ufffd"
