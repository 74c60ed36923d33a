"""Runs and cells of an agent report that the benchmark could not have written, each by its whole line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discovercall.foundation.errors import DiscovercallError
from discovercall.invocation.benchmark import read_report, report_bytes
from discovercall.invocation.config import Plan
from discovercall.invocation.redaction import SecretRedactor
from discovercall.invocation.report import build_report
from discovercall.invocation.report_model import Toolkit
from discovercall.invocation.runtime.modes import ModeName
from tests.invocation.running import run_mock

CASES = ("ordinary_chat", "device_volume_silent")
FIX = "; reports are not edited: measure again"
Json = dict[str, Any]


def made(*modes: str) -> Json:
    plan = Plan(None, tuple(ModeName(mode) for mode in modes), CASES, 1, 30.0)
    report = build_report(
        plan,
        run_mock(CASES, list(modes)),
        cases_sha256="a" * 64,
        generated_at="2026-11-30T12:00:00.000Z",
        toolkit=Toolkit(version="0.1.0", commit=None, dirty=False),
        redact=SecretRedactor(),
    )
    return dict(json.loads(report_bytes(report)))


@pytest.fixture(scope="module")
def both() -> Json:
    return made(*(mode.value for mode in ModeName))


@pytest.fixture(scope="module")
def one() -> Json:
    return made(next(iter(ModeName)).value)


def swapped(value: Json) -> None:
    value["runs"][0], value["runs"][1] = value["runs"][1], value["runs"][0]


def uncounted(value: Json) -> None:
    value["runs"][0]["chat_agent_calls"] += 1


def misjudged(value: Json) -> None:
    value["runs"][0]["chat_agent_calls"] -= 1
    value["runs"][0]["event_agent_fallbacks"] += 1


def without_calls(value: Json) -> None:
    value["runs"][0] |= {"model_calls": [], "chat_agent_calls": 0, "event_agent_fallbacks": 0}


def live(value: Json) -> None:
    value["settings"] |= {"client": "live", "model": None, "base_url": "http://127.0.0.1:1/v1"}


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (swapped, f"runs: are not those of the plan in the order case, mode, iteration{FIX}"),
        (
            uncounted,
            "runs[0].model_calls: are not as many as chat_agent_calls and event_agent_fallbacks say" + FIX,
        ),
        (misjudged, f"runs[0].event_agent_fallbacks: is not the number of the EventAgent's calls{FIX}"),
        (without_calls, f"runs[0].passed: is true without a model call{FIX}"),
        (
            lambda value: value["runs"][0]["model_calls"][0].update(status="failed"),
            f"runs[0].passed: is true although a model call was not completed{FIX}",
        ),
        (
            live,
            "settings.model: must be a text without control characters where the client is live",
        ),
        (lambda value: value["runs"].pop(), f"runs: are 3, and the plan has 4{FIX}"),
    ],
)
def test_what_cannot_be_is_refused(
    both: Json, tmp_path: Path, change: Callable[[Json], Any], line: str
) -> None:
    value = json.loads(json.dumps(both))
    change(value)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(value))
    with pytest.raises(DiscovercallError) as error:
        read_report(path)
    assert str(error.value) == f"{path}: {line}"


def test_a_report_of_one_mode_has_no_comparison(one: Json, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(one))
    assert read_report(path).comparison is None
