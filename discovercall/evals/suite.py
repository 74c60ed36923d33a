"""Runs families over a corpus and puts the result document together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from discovercall.evals.cache import measure_cache
from discovercall.evals.cases import Corpus
from discovercall.evals.diff import diff_results
from discovercall.evals.discovery import measure_discovery
from discovercall.evals.documents import canonical
from discovercall.evals.ergonomics import measure_ergonomics
from discovercall.evals.gates import evaluate_gates, unheld, verdict_of
from discovercall.evals.hygiene import check_hygiene
from discovercall.evals.invocation import measure_invocation
from discovercall.evals.omissions import WITHOUT_MODEL, omissions
from discovercall.evals.performance import measure_performance
from discovercall.evals.provenance import Surroundings, provenance
from discovercall.evals.result_model import FAMILIES, SCHEMA, Family
from discovercall.evals.semantic import SemanticLeg
from discovercall.evals.surfaces import RunCommand
from discovercall.evals.tokens import measure_tokens
from discovercall.foundation.clocks import Clock, iso_milliseconds
from discovercall.gateway.bank import default_bank


class _Measured(Protocol):
    def document(self) -> dict[str, Any]:
        """The family's member of the result."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be measured.

    Attributes:
        corpus: the checked corpus.
        leg: the model, or why there is none.
        around: code and machine.
        run_command: the program's own entry point.
        clock: seconds since the Unix epoch.
        monotonic: seconds of a clock that never goes back, for the duration.
        families: which, in any order.
        holdout: measure the set-aside intents too.
        require_semantic: a leg that did not run makes the verdict `fail`.
        baseline: an earlier result to compare with.
        flags: options that change what is measured, as given.
        progress: told what begins.
    """

    corpus: Corpus
    leg: SemanticLeg
    around: Surroundings
    run_command: RunCommand
    clock: Clock
    monotonic: Callable[[], float]
    families: Sequence[Family] = FAMILIES
    holdout: bool = False
    require_semantic: bool = False
    baseline: Mapping[str, Any] | None = None
    flags: Sequence[str] = ()
    progress: Callable[[str], None] = field(default=lambda step: None)


def run_suite(plan: Plan) -> dict[str, Any]:
    """The result document, with its gates evaluated and compared with the baseline."""
    started, wall = plan.monotonic(), plan.clock()
    families = [family for family in FAMILIES if family in plan.families and _has_cases(family, plan.corpus)]
    result: dict[str, Any] = {"schema": SCHEMA, "generatedAt": iso_milliseconds(wall)}
    skipped = _absent_families(plan)
    if plan.leg.skip_reason is not None:
        skipped.append({"what": "semantic leg", "reason": plan.leg.skip_reason})
    for family in families:
        plan.progress(family)
        result |= _members(family, plan)
        skipped += _left_out(family, result)
    if "discovery" in families and plan.holdout:
        plan.progress("set-aside intents")
        result["heldOut"] = _held_out(plan)
    made = provenance(plan.corpus, plan.leg, plan.around, families, plan.flags)
    made["tokenEstimator"] = (result.get("tokens") or {}).get("estimator")
    if plan.corpus.thresholds is None:
        skipped.append({"what": "gates", "reason": "the corpus has no thresholds.json"})
    if "ergonomics" in families and plan.corpus.bank.digest != default_bank().digest:
        reason = "the program's faces search with the bank that it comes with"
        skipped.append({"what": "the corpus's bank in ergonomics", "reason": reason})
    parity_skipped = (result.get("ergonomics") or {}).get("paritySkipReason")
    if parity_skipped:
        skipped.append({"what": "parity", "reason": parity_skipped})
    result = canonical(result)
    gates = evaluate_gates(plan.corpus.thresholds, result, plan.families, plan.leg.skip_reason)
    if plan.corpus.thresholds is not None and not gates:
        skipped.append({"what": "gates", "reason": "thresholds.json has no bound for what ran"})
    result |= {
        "provenance": made,
        "gates": [gate.document() for gate in gates],
        "skipped": [*skipped, *unheld(gates)],
        "verdict": "fail" if plan.require_semantic and not plan.leg.ran else verdict_of(gates),
    }
    if plan.baseline is not None:
        result["diff"] = diff_results(plan.baseline, result)
    made["durationSeconds"] = round(max(0.0, plan.monotonic() - started), 3)
    document: dict[str, Any] = canonical(result)
    return document


def _members(family: Family, plan: Plan) -> dict[str, Any]:
    """A family's members of the result."""
    corpus, encoder = plan.corpus, plan.leg.encoder
    if family == "discovery":
        found = measure_discovery(corpus, corpus.discovery, encoder=encoder)
        hygiene = check_hygiene(corpus, corpus.discovery, encoder=encoder, skip_reason=plan.leg.skip_reason)
        return {
            "discovery": found.document(),
            "rankers": found.side_by_side(),
            "cases": found.case_list(),
            "hygiene": hygiene.document(),
        }
    measured: Mapping[Family, Callable[[], _Measured]] = {
        "invocation": lambda: measure_invocation(corpus),
        "ergonomics": lambda: measure_ergonomics(corpus, run_command=plan.run_command, encoder=encoder),
        "tokens": lambda: measure_tokens(corpus, encoder=encoder),
        "performance": lambda: measure_performance(corpus, encoder=encoder),
        "cache": lambda: measure_cache(corpus),
    }
    return {family: measured[family]().document()}


def _held_out(plan: Plan) -> dict[str, Any]:
    """Metrics of the set-aside intents. Neither a case nor a text of theirs gets into a result."""
    corpus, leg = plan.corpus, plan.leg
    hygiene = check_hygiene(corpus, corpus.holdout, encoder=leg.encoder, skip_reason=leg.skip_reason)
    return {
        "n": len(corpus.holdout),
        "sha256": corpus.holdout_sha256,
        "rankers": measure_discovery(corpus, corpus.holdout, encoder=leg.encoder).side_by_side(),
        "hygieneFindings": len(hygiene.findings),
    }


def _has_cases(family: Family, corpus: Corpus) -> bool:
    cases = {"invocation": corpus.invocation, "ergonomics": corpus.ergonomics}
    return family not in cases or bool(cases[family])


def _left_out(family: Family, result: Mapping[str, Any]) -> list[dict[str, str]]:
    """Parts that a family did not measure; those that need the model go with the semantic leg."""
    return [
        {"what": f"{part} of {family}", "reason": reason}
        for part, reason in omissions(family, result[family]).items()
        if reason != WITHOUT_MODEL
    ]


def _absent_families(plan: Plan) -> list[dict[str, str]]:
    return [
        {"what": family, "reason": "the corpus has no case of it"}
        for family in FAMILIES
        if family in plan.families and not _has_cases(family, plan.corpus)
    ]
