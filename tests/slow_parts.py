"""Says of each slow part of the test suite whether it ran, and lets none stay out unseen in CI.

A slow test is marked `slow`, and `part("name")` where its module's name says too little. A requirement that
this machine lacks is a plain `pytest.skip(why)`. After the run each part has one line: `ran`, `failed` or
`not run: why`. With CI set, a part of which anything did not run fails the run.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field

import pytest

_PROPERTY = "slow part"


@dataclass
class Part:
    """What became of one part's tests."""

    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: list[str] = field(default_factory=list)

    def line(self) -> str:
        """The verdict in words."""
        total, counts = self.outcomes.total(), self.outcomes
        if counts["failed"]:
            return f"failed ({counts['failed']} of {total} tests)"
        if counts["skipped"]:
            whole = (
                "not run" if counts["skipped"] == total else f"{counts['skipped']} of {total} tests not run"
            )
            return f"{whole}: {'; '.join(dict.fromkeys(self.reasons))}"
        return f"ran ({total} tests)"


class SlowParts:
    """Pytest plugin that collects the outcome of every slow test under its part's name."""

    def __init__(self, in_ci: bool) -> None:
        self.in_ci = in_ci
        self.parts: dict[str, Part] = {}

    @property
    def incomplete(self) -> bool:
        """True where some slow test did not run."""
        return any(part.outcomes["skipped"] for part in self.parts.values())

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if item.get_closest_marker("slow"):
                marker = item.get_closest_marker("part")
                name = marker.args[0] if marker else item.path.stem.removeprefix("test_").replace("_", " ")
                # Properties travel with the report, also from another process.
                item.user_properties.append((_PROPERTY, name))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._add(report.nodeid, "skipped", _reason(report))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = dict(report.user_properties).get(_PROPERTY)
        if name is not None and (report.when == "call" or not report.passed):
            self._add(str(name), report.outcome, _reason(report) if report.skipped else "")

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        yield
        if self.in_ci and self.incomplete and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.parts:
            return
        terminalreporter.section("slow parts")
        for name, part in sorted(self.parts.items()):
            terminalreporter.line(f"{name}: {part.line()}")
        if self.in_ci and self.incomplete:
            terminalreporter.line("In CI every slow part has to run.", red=True)

    def _add(self, name: str, outcome: str, reason: str) -> None:
        part = self.parts.setdefault(name, Part())
        part.outcomes[outcome] += 1
        if reason:
            part.reasons.append(reason)


def _reason(report: pytest.CollectReport | pytest.TestReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
    return text.removeprefix("Skipped: ").splitlines()[0] if text else "no reason given"


def pytest_configure(config: pytest.Config) -> None:
    in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    config.pluginmanager.register(SlowParts(in_ci), "slow-parts")
