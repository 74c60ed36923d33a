"""How calls fare: what goes through, what is refused in time, and whether a refusal can be put right.

Nothing is modelled here: the real broker has to find invalid arguments, changed schemas, servers that are
down and calls that take too long by itself, over servers that check arguments on their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from discovercall.evals.cases import Corpus, Scenario
from discovercall.evals.dispositions import is_clear
from discovercall.evals.fixture import FixtureDownstream, Mode
from discovercall.evals.probes import (
    SECRET,
    SETTINGS,
    BrokerFactory,
    call_document,
    make_broker,
    offline_handled,
    probe_modes,
    succeeded,
    timeout_handled,
)
from discovercall.evals.rates import Rate
from discovercall.evals.repairer import repaired_arguments
from discovercall.evals.tally import Tally, tally_members
from discovercall.gateway.cache import BrokerLike
from discovercall.gateway.operations import carry_out

Repairer = Callable[[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]], dict[str, Any] | None]
INVALID, DRIFT, OFFLINE = "ARGUMENT_VALIDATION_FAILED", "TOOL_SCHEMA_CHANGED", "DOWNSTREAM_SERVER_OFFLINE"
MAX_REPAIRS = 3
METRICS = (
    "validArgumentRate",
    "firstCallSuccess",
    "repairSuccess",
    "mechanicalRepairRate",
    "schemaErrorRate",
    "offlineHandledRate",
    "timeoutHandledRate",
    "expectedErrorRate",
    "errorClarity",
    "noContactRate",
)
_MODES: Mapping[str, Mode] = {
    OFFLINE: "offline",
    "AUTH_UNAVAILABLE": "auth_refused",
    "DOWNSTREAM_CALL_FAILED": "tool_error",
}


@dataclass(frozen=True, slots=True)
class InvocationResult:
    """What was measured.

    Attributes:
        scenarios: how many calls the corpus has.
        counted: those that expect success, repair, a timeout, a changed schema or a server that is down.
        tallies: by metric, in the order of `METRICS`.
        modes: by mood of the servers.
    """

    scenarios: int
    counted: int
    tallies: Mapping[str, Tally]
    modes: Mapping[Mode, Tally]

    def document(self) -> dict[str, Any]:
        """The result's member `invocation`."""
        handled = sum(tally.held for tally in self.modes.values())
        total = sum(tally.total for tally in self.modes.values())
        members = tally_members(self.tallies)
        members["offenders"] |= {f"modes.{mode}": t.missed for mode, t in self.modes.items() if t.missed}
        members["intervals"]["modeHandledRate"] = Rate(handled, total).interval()
        return {
            "n": self.counted,
            "scenarios": self.scenarios,
            **members,
            "modeHandledRate": Rate(handled, total).value,
            "modes": {mode: tally.rate for mode, tally in self.modes.items()},
        }


def measure_invocation(
    corpus: Corpus, *, new_broker: BrokerFactory = make_broker, repairer: Repairer = repaired_arguments
) -> InvocationResult:
    """Carry every scenario out, and every mood of the servers over the calls that should succeed.

    - validArgumentRate: sets of arguments that are labelled right (`success`, and `corrected` of `repair`)
      that the broker lets through and the server accepts, over all such sets.
    - firstCallSuccess, repairSuccess: calls whose own answer comes back after exactly one call of the
      server; for a repair the first attempt has to fail with exactly the expected error.
    - mechanicalRepairRate: repairs that `repairer` brings to success in at most `MAX_REPAIRS` rounds.
    - schemaErrorRate, offlineHandledRate, timeoutHandledRate: scenarios of the kind that end as they should.
    - expectedErrorRate: scenarios of outcome `error` that give exactly the expected type.
    - errorClarity: clear errors (`dispositions.is_clear`) over all that the scenarios gave.
    - noContactRate: invalid arguments after which no server was even connected to, and changed schemas
      after which none was called, over all scenarios that expect either.

    Args:
        corpus: the scenarios and their world.
        new_broker: makes the broker that is measured.
        repairer: reads the arguments, the error and the description; gives new arguments or None.
    """
    bench = _Bench(corpus, new_broker, repairer)
    for scenario in corpus.invocation:
        bench.carry_out(scenario)
    right = [scenario for scenario in corpus.invocation if scenario.expected_outcome == "success"]
    return InvocationResult(
        scenarios=len(corpus.invocation),
        counted=sum(_is_counted(scenario) for scenario in corpus.invocation),
        tallies=bench.tallies,
        modes=probe_modes(corpus.world, right, new_broker),
    )


def _is_counted(scenario: Scenario) -> bool:
    return scenario.expected_outcome != "error" or scenario.expected_error in (DRIFT, OFFLINE)


class _Bench:
    """Carries scenarios out, each with servers and a broker of its own, and counts."""

    def __init__(self, corpus: Corpus, new_broker: BrokerFactory, repairer: Repairer) -> None:
        self._world = corpus.world
        self._new_broker = new_broker
        self._repairer = repairer
        self.tallies = {name: Tally() for name in METRICS}

    def carry_out(self, scenario: Scenario) -> None:
        match scenario.expected_outcome:
            case "success":
                through = self._right_arguments(scenario, scenario.arguments)
                self.tallies["firstCallSuccess"].note(scenario.name, through)
            case "repair":
                self._repair(scenario)
            case "error":
                self._error(scenario)
            case "timeout":
                document, downstream = self._attempt(scenario, scenario.arguments, "slow")
                self.tallies["timeoutHandledRate"].note(scenario.name, timeout_handled(document, downstream))

    def _attempt(
        self, scenario: Scenario, arguments: Mapping[str, Any], mode: Mode = "normal"
    ) -> tuple[dict[str, Any], FixtureDownstream]:
        broker, downstream = self._broker(scenario, mode)
        document = call_document(broker, scenario.tool_ref, arguments)
        error = document.get("error")
        if error is not None:
            self.tallies["errorClarity"].note(scenario.name, is_clear(error))
        return document, downstream

    def _broker(self, scenario: Scenario, mode: Mode = "normal") -> tuple[BrokerLike, FixtureDownstream]:
        live = {} if scenario.live_schema is None else {scenario.tool_ref: scenario.live_schema}
        downstream = FixtureDownstream(self._world, live_schemas=live, mode=mode, secret=SECRET)
        return self._new_broker(self._world, downstream, SETTINGS, (SECRET,)), downstream

    def _right_arguments(self, scenario: Scenario, arguments: Mapping[str, Any]) -> bool:
        document, downstream = self._attempt(scenario, arguments)
        accepted = any(call.accepted and call.arguments == arguments for call in downstream.calls)
        self.tallies["validArgumentRate"].note(scenario.name, accepted)
        return succeeded(document, downstream, scenario.tool_ref)

    def _repair(self, scenario: Scenario) -> None:
        document, downstream = self._attempt(scenario, scenario.arguments)
        as_expected = self._refused(scenario, document, downstream)
        through = self._right_arguments(scenario, scenario.corrected or {})
        self.tallies["repairSuccess"].note(scenario.name, as_expected and through)
        self.tallies["mechanicalRepairRate"].note(scenario.name, self._mechanical(scenario))

    def _mechanical(self, scenario: Scenario) -> bool:
        broker, downstream = self._broker(scenario)
        described = carry_out(broker, "describeTool", {"toolRef": scenario.tool_ref}).to_json()
        arguments: Mapping[str, Any] = scenario.arguments
        for _ in range(MAX_REPAIRS):
            document = call_document(broker, scenario.tool_ref, arguments)
            repaired = self._repairer(arguments, document.get("error", {}), described)
            if document.get("ok") is True or repaired is None:
                break
            arguments = repaired
        else:
            document = call_document(broker, scenario.tool_ref, arguments)
        return succeeded(document, downstream, scenario.tool_ref)

    def _error(self, scenario: Scenario) -> None:
        mode = _MODES.get(str(scenario.expected_error), "normal")
        document, downstream = self._attempt(scenario, scenario.arguments, mode)
        expected = self._refused(scenario, document, downstream)
        self.tallies["expectedErrorRate"].note(scenario.name, expected)
        if scenario.expected_error == DRIFT:
            self.tallies["schemaErrorRate"].note(scenario.name, expected)
        elif scenario.expected_error == OFFLINE:
            handled = offline_handled(document, downstream)
            self.tallies["offlineHandledRate"].note(scenario.name, handled)

    def _refused(
        self, scenario: Scenario, document: Mapping[str, Any], downstream: FixtureDownstream
    ) -> bool:
        """Whether the first attempt failed as expected; counts contacts where there must be none."""
        if scenario.expected_error == INVALID:
            untouched = not downstream.connected and not downstream.calls
            self.tallies["noContactRate"].note(scenario.name, untouched)
        elif scenario.expected_error == DRIFT:
            self.tallies["noContactRate"].note(scenario.name, not downstream.calls)
        return bool(document.get("error", {}).get("type") == scenario.expected_error)
