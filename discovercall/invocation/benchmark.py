"""The benchmark from a plan to a published report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from discovercall.foundation.clocks import Clock, iso_milliseconds
from discovercall.foundation.json_file import read_json
from discovercall.foundation.json_text import pretty
from discovercall.foundation.models import check
from discovercall.invocation.bundle import Bundle
from discovercall.invocation.cases import Case, load_cases, load_mock_answers
from discovercall.invocation.config import Endpoint, Plan
from discovercall.invocation.markdown import to_markdown
from discovercall.invocation.redaction import SecretRedactor
from discovercall.invocation.report import build_report
from discovercall.invocation.report_model import Report, Toolkit
from discovercall.invocation.runner import Bench, ModelUnderTest, Observer, run_cases
from discovercall.invocation.runtime.mock import MockChatClient
from discovercall.invocation.runtime.modes import ModeName
from discovercall.invocation.runtime.timing import Monotonic
from discovercall.invocation.soundness import check_sound

REPORT_FILE = "report.json"
MARKDOWN_FILE = "report.md"
REPORT_LIMIT = 1 << 28
"""Bytes that a report may have."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the benchmark takes from outside.

    Args:
        clock: seconds since the Unix epoch.
        monotonic: for everything that is measured.
        new_id: makes session ids.
        toolkit: the code that measures.
        observer: told of each finished run.
    """

    clock: Clock
    monotonic: Monotonic
    new_id: Callable[[], str]
    toolkit: Toolkit
    observer: Observer


async def run_benchmark(plan: Plan, out: Path, around: Surroundings) -> tuple[Report, Path]:
    """Run a plan and publish its report; returns the report and the bundle's path.

    The bundle's folder is made first: a place that can't be written to is found before a model is asked.

    Raises:
        BundleError: the reports can't be written.
        InputError: the case files are malformed.
    """
    case_set = load_cases()
    endpoint = plan.endpoint
    redact = SecretRedactor(() if endpoint is None else (endpoint.key,))
    bench = Bench(
        make_model=_mock_models() if endpoint is None else _live_models(endpoint, redact),
        timeout_s=plan.timeout_s,
        clock=around.clock,
        monotonic=around.monotonic,
        new_id=around.new_id,
        redact=redact,
    )
    with Bundle(out) as bundle:
        cases = case_set.named(plan.cases)
        runs = await run_cases(bench, cases, plan.modes, plan.runs_per_case, around.observer)
        now = around.clock()
        report = build_report(
            plan,
            runs,
            cases_sha256=case_set.sha256,
            generated_at=iso_milliseconds(now),
            toolkit=around.toolkit,
            redact=redact,
        )
        name = f"{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%SZ}"
        path = bundle.publish(
            name, {REPORT_FILE: report_bytes(report), MARKDOWN_FILE: to_markdown(report).encode()}
        )
    return report, path


def report_bytes(report: Report) -> bytes:
    """`report.json` as it is written."""
    return pretty(report.model_dump(mode="json")).encode() + b"\n"


def read_report(path: Path) -> Report:
    """Read a report from its file or its bundle.

    Raises:
        InputError: the file can't be read or is no report; names the field.
        RefusedError: its totals are not those of its runs.
    """
    file = path / REPORT_FILE if path.is_dir() else path
    value, _ = read_json(file, REPORT_LIMIT)
    report = check(Report, value, str(file))
    check_sound(report, str(file))
    return report


def _mock_models() -> Callable[[Case, ModeName], ModelUnderTest]:
    answers = load_mock_answers()

    def make(case: Case, mode: ModeName) -> ModelUnderTest:
        found = answers[case.id, mode]
        return ModelUnderTest(MockChatClient(found.script), found.fallbacks)

    return make


def _live_models(endpoint: Endpoint, redact: SecretRedactor) -> Callable[[Case, ModeName], ModelUnderTest]:
    from discovercall.invocation.runtime.live import LiveChatClient

    def make(case: Case, mode: ModeName) -> ModelUnderTest:
        del case, mode
        client = LiveChatClient(endpoint.base_url, endpoint.model, endpoint.key, redact.short)
        return ModelUnderTest(client, None)

    return make
