"""Runs a plan: bounded concurrency, a ledger line before every billed request, nothing lost on the way."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from discovercall.adapter.failures import AdapterFailure
from discovercall.adapter.isolation import Isolation
from discovercall.capability.client import CapabilityClient
from discovercall.capability.failures import ApiFailure
from discovercall.contract.journal import Journal, TrialKey
from discovercall.contract.plan import PlannedTrial, RunPlan
from discovercall.contract.record import ANSWERED, Failure, Identity, build_record
from discovercall.contract.spend import Spend
from discovercall.contract.trial import Decide, GateFailed, LaneTrial, Session
from discovercall.foundation.clocks import Clock, iso_milliseconds
from discovercall.foundation.errors import DiscovercallError, SpendLimitError
from discovercall.foundation.redaction import Redactor


class RunObserver(Protocol):
    """Is told how the run goes, for a progress display."""

    def trial_finished(self, record: Mapping[str, Any]) -> None:
        """A trial of a lane has its record."""

    def call_sent(self, billed_calls: int) -> None:
        """A billed request leaves; the count includes it."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the runner takes from outside, so that runs can be repeated exactly in tests.

    Args:
        decide: one adapter per lane.
        new_id: fresh random ids, for runs and sessions.
        clock: wall clock, seconds since the Unix epoch.
        timer: monotonic seconds.
        runtime: interpreter, platform and architecture, as records name them.
        isolation: how well the run's secrets are kept from its adapters.
        redact: masks secrets in messages.
    """

    client: CapabilityClient
    decide: Sequence[Decide]
    new_id: Callable[[], str]
    clock: Clock
    runtime: Mapping[str, str]
    isolation: Isolation
    redact: Redactor
    observer: RunObserver
    timer: Callable[[], float] = time.monotonic


@dataclass(slots=True)
class RunState:
    """Finished records by trial, and what was spent; starts empty or from a journal."""

    spend: Spend
    records: dict[TrialKey, dict[str, Any]] = field(default_factory=dict)
    journaled_revisions: int = 0


class Runner:
    """Runs the trials of a plan that have no record yet.

    Args:
        plan: what to do.
        surroundings: client, adapters, clock and ids.
        journal: where everything is written down before it counts.
        state: what is already done.
        concurrency: planned trials under way at once.
    """

    def __init__(
        self, plan: RunPlan, surroundings: Surroundings, journal: Journal, state: RunState, concurrency: int
    ) -> None:
        self.plan = plan
        self.state = state
        self._around = surroundings
        self._journal = journal
        self._concurrency = concurrency
        self._queue = self._pending()
        self._waiting: PlannedTrial | None = None
        self._running: set[asyncio.Task[None]] = set()
        self._lane_trials: dict[asyncio.Task[None], LaneTrial] = {}
        self._reserved: set[TrialKey] = set()
        self._stopping = False
        self._told_to_stop = False
        self._limit_reached: str | None = None

    @property
    def complete(self) -> bool:
        """True when every planned record exists."""
        return len(self.state.records) == self.plan.planned_records

    def stop(self) -> None:
        """Start nothing more; trials end at once, but for calls that were sent, whose answer is awaited.

        Told a second time, these are abandoned too: the journal then shows them as sent with unknown outcome.
        """
        self._end_trials(abandon_calls=self._told_to_stop)
        self._told_to_stop = True

    def _end_trials(self, *, abandon_calls: bool = False) -> None:
        self._stopping = True
        for task, trial in self._lane_trials.items():
            if abandon_calls or not trial.calling:
                task.cancel()

    async def run(self) -> None:
        """Run until every record exists, the spend limit is reached, or `stop` is called.

        Raises:
            SpendLimitError: no further call may be billed; what is left can be resumed.
            JournalLost: somebody removed or changed the journal.
            JournalUnwritable: the journal can't be written.
            DiscovercallError: the API refused the key.
        """
        failure: BaseException | None = None
        try:
            while self._start_trials() or self._running:
                done, self._running = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    failed = None if task.cancelled() else task.exception()
                    if isinstance(failed, SpendLimitError):
                        self._limit_reached = failed.what
                    elif failed is not None and failure is None:
                        failure = failed
                        self._end_trials()
                if failure is None and (failure := self._journal.trouble) is not None:
                    self._end_trials()
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)
        if failure is not None:
            raise failure
        if self._limit_reached is not None and not self._stopping:
            raise SpendLimitError(
                self._limit_reached, fix="what is finished is kept; continue with --resume and a higher limit"
            )

    def _start_trials(self) -> bool:
        """Fill the free places; false when nothing was started."""
        before = len(self._running)
        while not self._stopping and self._limit_reached is None and len(self._running) < self._concurrency:
            planned = self._waiting or next(self._queue, None)
            if planned is None:
                break
            lanes = [
                i for i in range(len(self.plan.lanes)) if self._key(i, planned) not in self.state.records
            ]
            keys = {self._key(lane, planned) for lane in lanes} if self.plan.execute else set()
            if self.plan.execute and not self.state.spend.has_room_for(self._reserved, keys):
                self._waiting = planned
                if not self._running:
                    self._limit_reached = self.state.spend.limit_reached(len(keys))
                break
            self._waiting = None
            self._reserved |= keys
            self._running.add(asyncio.create_task(self._run_planned(planned, lanes)))
        return len(self._running) > before

    def _pending(self) -> Iterator[PlannedTrial]:
        for planned in self.plan.planned_trials():
            if any(self._key(i, planned) not in self.state.records for i in range(len(self.plan.lanes))):
                yield planned

    @staticmethod
    def _key(lane: int, planned: PlannedTrial) -> TrialKey:
        return TrialKey(lane, planned.task.id, planned.trial)

    async def _run_planned(self, planned: PlannedTrial, lanes: Sequence[int]) -> None:
        around = self._around
        session = Session(around.client, self.plan, planned, around.new_id(), around.timer)
        pair_id = around.new_id() if len(self.plan.lanes) > 1 else None
        tasks = []
        for lane in lanes:
            key = self._key(lane, planned)
            identity = self._identity(key, planned, pair_id)
            trial = LaneTrial(session, identity.lane.model, around.decide[lane])
            trial.before_call = functools.partial(self._before_call, key, identity, trial)
            task = asyncio.create_task(self._run_lane(key, identity, trial))
            self._lane_trials[task] = trial
            task.add_done_callback(self._lane_trials.pop)
            tasks.append(task)
        try:
            # Lanes don't end each other: one may have a billed call under way when another fails.
            for ended in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(ended, Exception):
                    raise ended
        finally:
            session.close()
            self._reserved -= {self._key(lane, planned) for lane in lanes}

    def _identity(self, key: TrialKey, planned: PlannedTrial, pair_id: str | None) -> Identity:
        around = self._around
        started_at = iso_milliseconds(around.clock())
        return Identity(
            self.plan,
            self.plan.lanes[key.lane],
            planned,
            around.new_id(),
            started_at,
            around.runtime,
            around.isolation,
            pair_id,
        )

    async def _run_lane(self, key: TrialKey, identity: Identity, trial: LaneTrial) -> None:
        around = self._around
        self._journal.trial_started(key)
        try:
            failure = await self._outcome(trial)
        except asyncio.CancelledError:
            if trial.turned_away:
                self._journal.call_withdrawn(key)
                self.state.spend.withdraw(key)
            raise
        record = build_record(identity, trial.evidence, failure, self._time_in(identity))
        self.state.records[key] = record  # first: where the journal is lost, the outputs are what is left
        if trial.evidence.attempted:
            self.state.spend.settle(key, trial.cost)
            self._journal.call_outcome(key, _call_outcome(trial, failure))
        self._write_revisions()
        self._journal.trial_finished(key, record)
        around.observer.trial_finished(record)

    async def _outcome(self, trial: LaneTrial) -> Failure | None:
        try:
            await trial.run()
        except GateFailed as gate:
            failure = gate.failure
            return Failure(failure.stage, failure.reason_code, self._around.redact(failure.message))
        except ApiFailure as error:
            return Failure("api", error.reason_code, str(error))
        except AdapterFailure as error:
            return Failure("adapter", error.code, str(error))
        except DiscovercallError:
            raise
        except Exception as error:
            return Failure("unknown", None, self._around.redact(f"{type(error).__name__}: {error}"))
        return None

    def _before_call(self, key: TrialKey, identity: Identity, trial: LaneTrial, price: float | None) -> None:
        spend = self.state.spend
        spend.check(price)
        attempted = replace(trial.evidence, attempted=True)
        draft = build_record(identity, attempted, None, self._time_in(identity))
        self._journal.call_intent(key, price, draft)
        self._reserved.discard(key)
        spend.commit(key, price)
        self._around.observer.call_sent(len(spend.billed))

    def _time_in(self, identity: Identity) -> str:
        """The time now, but not before the trial's start: a clock that was set back must not spoil it."""
        return max(identity.started_at, iso_milliseconds(self._around.clock()))

    def _write_revisions(self) -> None:
        observations = self._around.client.revisions.observations()
        for api, catalog in observations[self.state.journaled_revisions :]:
            self._journal.revisions(api, catalog)
        self.state.journaled_revisions = len(observations)

    def lane_records(self, lane: int) -> list[dict[str, Any]]:
        """The finished records of one lane in plan order."""
        keys = (self._key(lane, planned) for planned in self.plan.planned_trials())
        return [self.state.records[key] for key in keys if key in self.state.records]


def _call_outcome(trial: LaneTrial, failure: Failure | None) -> dict[str, Any]:
    return {
        "outcome": (failure.reason_code or "failed") if failure else ANSWERED,
        "success": trial.evidence.success,
        "result_nonempty": trial.evidence.result_nonempty,
        "cost": trial.cost,
    }
