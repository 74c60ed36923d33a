"""Carries a prepared run out: journal, client, signals, and the output files at the end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import signal
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from discovercall.adapter.deciding import AdapterProcess
from discovercall.adapter.exposure import Exposure
from discovercall.adapter.isolation import isolation_level
from discovercall.adapter.process import AdapterLimits
from discovercall.capability.authorization import AuthorizationRefused
from discovercall.capability.client import CapabilityClient, RequestCounts
from discovercall.capability.revisions import RevisionCollector
from discovercall.contract.journal import Journal, JournalLost, JournalUnwritable
from discovercall.contract.ledger import resume_journal
from discovercall.contract.options import PreparedRun
from discovercall.contract.plan import RunPlan
from discovercall.contract.record import settle
from discovercall.contract.runner import Runner, RunObserver, RunState, Surroundings
from discovercall.contract.spend import Spend
from discovercall.foundation.errors import InputError, SpendLimitError
from discovercall.foundation.files import write_atomic
from discovercall.foundation.jsonl import dump_lines
from discovercall.foundation.redaction import Redactor

_IN_JOURNAL = "the records are in the journal; mend the cause, then repeat the command with --resume"
_NOWHERE = ", and the journal is lost: the records of this run are nowhere else"


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the capability API really is, and how hard it may be driven.

    Args:
        exposure: another process that gives the key away.
    """

    base_url: str
    api_key: str
    concurrency: int
    requests_per_minute: float | None
    exposure: Exposure | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended.

    Args:
        finished: records that exist, of `planned`.
        billed: calls that were sent and may have been billed, over all starts of the run.
        credits: what they cost, as far as the API told.
        requests: requests of this start, retries included.
        limit: why nothing more was started, where a spend limit was reached.
        interrupted: whether a signal ended it early.
        lost: that the journal was lost on the way, so that this result and the outputs are all there is.
    """

    finished: int
    planned: int
    billed: int
    credits: float
    requests: RequestCounts
    limit: SpendLimitError | None
    interrupted: bool
    lost: JournalLost | None = None


def execute_run(
    prepared: PreparedRun, connection: Connection, observer: RunObserver, *, resume: bool = False
) -> RunResult:
    """Run a plan to its end, to its spend limit, or to an interrupt, and write its outputs.

    Args:
        resume: go on with the run whose journal is there; without one, start it.

    Raises:
        InputError: a file can't be created, the journal belongs to another plan, or the API refused the key
            before anything was billed.
    """
    plan = prepared.plan
    state = RunState(Spend(plan.max_billed_calls, plan.max_credits))
    revisions = RevisionCollector()
    resumed = resume and os.path.lexists(plan.journal)
    if resumed:
        journal, ledger = resume_journal(plan.journal, plan)
        state.records = ledger.records
        state.spend.billed = set(ledger.drafts)
        state.spend.credits = ledger.prices
        state.spend.dearest = ledger.dearest
        revisions = RevisionCollector(ledger.observations)
        state.journaled_revisions = len(revisions.observations())
    else:
        journal = _create_journal(plan)
    try:
        return asyncio.run(_execute(prepared, connection, observer, journal, state, revisions))
    except AuthorizationRefused:
        if not resumed and not state.spend.billed and journal.intact:
            plan.journal.unlink()  # nothing happened that anybody would have to know of
        raise
    finally:
        journal.close()


def _create_journal(plan: RunPlan) -> Journal:
    try:
        return Journal.create(plan.journal, plan.header(), plan.limits(), plan.digest)
    except FileExistsError:
        raise InputError(f"{plan.journal} exists", where="--output", fix="name another file") from None
    except OSError as error:
        raise InputError(f"{plan.journal} cannot be created ({error.strerror})", where="--output") from None


async def _execute(
    prepared: PreparedRun,
    connection: Connection,
    observer: RunObserver,
    journal: Journal,
    state: RunState,
    revisions: RevisionCollector,
) -> RunResult:
    plan = prepared.plan
    async with CapabilityClient(
        connection.base_url,
        connection.api_key,
        requests_per_minute=connection.requests_per_minute,
        revisions=revisions,
    ) as client:
        surroundings = _surroundings(prepared, connection, observer, client)
        runner = Runner(plan, surroundings, journal, state, connection.concurrency)
        limit: SpendLimitError | None = None
        lost: JournalLost | None = None
        with _signals(runner) as interrupts:
            try:
                await runner.run()
            except SpendLimitError as error:
                limit = error
            except JournalLost as error:
                lost = error
            except JournalUnwritable as error:
                if journal.intact:
                    missing = journal.catch_up()
                    in_outputs = missing > 0 and _outputs_written(plan, runner, client)
                    raise JournalUnwritable(error.why, missing, in_outputs=in_outputs) from None
                lost = JournalLost()
            _write_outputs(plan, runner, client, lost=lost is not None)
            try:
                journal.check(plan.journal)
            except JournalLost as error:
                lost = error
        return RunResult(
            finished=len(state.records),
            planned=plan.planned_records,
            billed=len(state.spend.billed),
            credits=state.spend.known_credits,
            requests=client.counts,
            limit=limit,
            interrupted=bool(interrupts) and not runner.complete,
            lost=lost,
        )


def _surroundings(
    prepared: PreparedRun, connection: Connection, observer: RunObserver, client: CapabilityClient
) -> Surroundings:
    plan = prepared.plan
    limits = AdapterLimits(memory_bytes=plan.adapter_memory_mib * 2**20)
    return Surroundings(
        client=client,
        decide=[
            AdapterProcess(lane.command, environment, plan.adapter_timeout_ms, limits, prepared.adapter_user)
            for lane, environment in zip(plan.lanes, prepared.environments, strict=True)
        ],
        new_id=lambda: str(uuid.uuid4()),
        clock=time.time,
        runtime=_runtime(),
        isolation=isolation_level(prepared.adapter_user, connection.exposure),
        redact=Redactor([connection.api_key]),
        observer=observer,
    )


def _outputs_written(plan: RunPlan, runner: Runner, client: CapabilityClient) -> bool:
    try:
        _write_outputs(plan, runner, client)
    except InputError:
        return False
    return True


def _write_outputs(plan: RunPlan, runner: Runner, client: CapabilityClient, *, lost: bool = False) -> None:
    for index, lane in enumerate(plan.lanes):
        records = runner.lane_records(index)
        if runner.complete:
            revisions = client.revisions
            records = settle(
                records, api_revision=revisions.api_revision, catalog_revision=revisions.catalog_revision
            )
        try:
            write_atomic(Path(lane.output), dump_lines(records))
        except OSError as error:
            raise InputError(
                f"{lane.output} cannot be written ({error.strerror})" + (_NOWHERE if lost else ""),
                where="--output",
                fix=None if lost else _IN_JOURNAL,
            ) from None


@contextlib.contextmanager
def _signals(runner: Runner) -> Iterator[list[int]]:
    """SIGINT and SIGTERM stop the runner; yields the list of those that came."""
    loop = asyncio.get_running_loop()
    came: list[int] = []

    def stop(number: int) -> None:
        came.append(number)
        runner.stop()

    numbers = (signal.SIGINT, signal.SIGTERM)
    installed = []
    for number in numbers:
        with contextlib.suppress(ValueError, RuntimeError):  # not in the main thread: the caller's affair
            loop.add_signal_handler(number, stop, number)
            installed.append(number)
    try:
        yield came
    finally:
        for number in installed:
            loop.remove_signal_handler(number)


def _runtime() -> dict[str, str]:
    return {"python": platform.python_version(), "platform": sys.platform, "arch": platform.machine()}
