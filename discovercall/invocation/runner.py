"""Runs cases one after another, each with a session and a database of its own, and judges them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from discovercall.foundation.clocks import Clock
from discovercall.invocation.cases import Case
from discovercall.invocation.checks import Evidence, Failure, Probe, broken_expectations
from discovercall.invocation.metrics import Measured, run_report
from discovercall.invocation.redaction import SecretRedactor
from discovercall.invocation.report_model import ErrorReport, RunReport
from discovercall.invocation.runtime.builtin import built_in_events
from discovercall.invocation.runtime.chat import ChatClient
from discovercall.invocation.runtime.kernel import EventKernel
from discovercall.invocation.runtime.modes import ModeName
from discovercall.invocation.runtime.outputs import ErrorOutput, Output, TurnCompleted
from discovercall.invocation.runtime.runtime import AgentRuntime
from discovercall.invocation.runtime.store import SESSION_TERMINAL, SessionStore
from discovercall.invocation.runtime.timing import Monotonic, TimedChatClient

PROBE_TEXT = "One more thing."

Observer = Callable[[RunReport], None]


@dataclass(frozen=True, slots=True)
class ModelUnderTest:
    """A client for one run, and how often the EventAgent has to be asked (None: the model decides)."""

    client: ChatClient
    fallbacks: int | None


@dataclass(frozen=True, slots=True)
class Bench:
    """What all runs share.

    Args:
        make_model: makes the client of one run; called with case and mode.
        timeout_s: seconds that a turn may take.
        clock: seconds since the Unix epoch.
        monotonic: for everything that is measured.
        new_id: makes session ids.
        redact: takes secrets out of text.
    """

    make_model: Callable[[Case, ModeName], ModelUnderTest]
    timeout_s: float
    clock: Clock
    monotonic: Monotonic
    new_id: Callable[[], str]
    redact: SecretRedactor


async def run_cases(
    bench: Bench,
    cases: Sequence[Case],
    modes: Sequence[ModeName],
    runs_per_case: int,
    observer: Observer,
) -> list[RunReport]:
    """Run everything; a failed run does not stop the rest.

    The modes take turns within an iteration, and take turns at being first, so that the two runs of a pair
    are near each other in time and neither mode is always the second.

    Returns:
        The runs in the order case, mode, iteration.
    """
    reports = []
    for case in cases:
        for iteration in range(1, runs_per_case + 1):
            for mode in modes if iteration % 2 else reversed(modes):
                report = await run_once(bench, case, mode, iteration)
                observer(report)
                reports.append(report)
    places = {case.id: place for place, case in enumerate(cases)}
    return sorted(reports, key=lambda run: (places[run.case], modes.index(ModeName(run.mode)), run.iteration))


async def run_once(bench: Bench, case: Case, mode: ModeName, iteration: int) -> RunReport:
    """Run one case in one mode; runtime and client are closed in any case."""
    with TemporaryDirectory(prefix="discovercall-invoke-") as folder:
        model = bench.make_model(case, mode)
        client = TimedChatClient(model.client, bench.monotonic)
        try:
            store = SessionStore(Path(folder) / "session.sqlite3", bench.redact)
        except BaseException:
            await client.aclose()
            raise
        registry = built_in_events().only(case.events)
        runtime = AgentRuntime(
            client=client,
            kernel=EventKernel(registry, bench.monotonic, case.max_events),
            mode=mode,
            store=store,
            parameters=case.parameters,
            clock=bench.clock,
            monotonic=bench.monotonic,
            new_id=bench.new_id,
        )
        async with contextlib.aclosing(runtime):
            run = _Run(bench, case, mode, runtime, client, store)
            await run.carry_out()
            failures = run.failures(model.fallbacks)
            return run_report(
                case=case.id,
                mode=mode,
                iteration=iteration,
                measured=Measured(run.session_id, run.audit, client.calls[: run.calls]),
                failures=failures,
                error=run.error,
                redact=bench.redact,
            )


@dataclass
class _Run:
    bench: Bench
    case: Case
    mode: ModeName
    runtime: AgentRuntime
    client: TimedChatClient
    store: SessionStore
    outputs: list[Output] = field(default_factory=list)
    error: ErrorReport | None = None
    probe: Probe | None = None
    calls: int = 0

    async def carry_out(self) -> None:
        """Send the case's input, read what was stored, and try a terminal session once more."""
        self.session_id = self.runtime.start_session()
        self.outputs, self.error = await self._send(self.case.input)
        self.audit = self.store.audit(self.session_id)
        self.calls = len(self.client.calls)
        if self.error is None and self.audit.state == SESSION_TERMINAL:
            outputs, _ = await self._send(PROBE_TEXT)
            self.probe = Probe(tuple(outputs), len(self.client.calls) - self.calls)

    def failures(self, fallbacks: int | None) -> list[Failure]:
        """What broke; without a completed turn that is all there is to say."""
        if self.error is not None:
            return [Failure("turn", "completed", self.error.code)]
        evidence = Evidence(self.mode, self.outputs, self.audit, self.calls, fallbacks, self.probe)
        return broken_expectations(self.case.expect, evidence)

    async def _send(self, text: str) -> tuple[list[Output], ErrorReport | None]:
        outputs: list[Output] = []
        try:
            async with (
                asyncio.timeout(self.bench.timeout_s),
                contextlib.aclosing(self.runtime.send(text)) as stream,
            ):
                async for output in stream:
                    outputs.append(output)
                    if isinstance(output, ErrorOutput):
                        return outputs, self._error(output.code, output.message)
                    if isinstance(output, TurnCompleted):
                        return outputs, None
        except TimeoutError:
            return outputs, self._error("timeout", f"no end of the turn within {self.bench.timeout_s:g} s")
        except Exception as error:
            # Whatever it is, the other runs go on; its text may hold anything, its type is harmless.
            return outputs, self._error("internal_error", type(error).__name__)
        return outputs, self._error("internal_error", "the outputs ended without turn_completed and error")

    def _error(self, code: str, message: str) -> ErrorReport:
        return ErrorReport(code=code, message=self.bench.redact.short(message))
