"""What agents get to read: the same through every face, small enough, to the point, and grounded."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discovercall.evals.cases import Corpus, ErgonomicsCase
from discovercall.evals.dispositions import is_clear
from discovercall.evals.grounding import Grounds, has_grounds_to_check
from discovercall.evals.surfaces import (
    Reading,
    RunCommand,
    build_face,
    differences,
    in_memory,
    over_stdio,
    read_command,
    words_of,
)
from discovercall.evals.tally import Tally, tally_members
from discovercall.gateway.advice import for_world
from discovercall.gateway.broker import Broker
from discovercall.gateway.operations import OPERATIONS, carry_out
from discovercall.gateway.results import DECISIONS
from discovercall.gateway.wording import DIAGNOSTIC_COMMAND, INDEX_COMMAND

if TYPE_CHECKING:
    from mcp.server import Server

    from discovercall.gateway.cache import BrokerLike
    from discovercall.gateway.encoder import CachingEncoder

BUDGETS: Mapping[str, int] = {"find": 6_000, "describe": 20_000, "call": 8_000}
"""Bytes that a rendered answer may take, by kind of case."""
METRICS = (
    "decisionRate",
    "instructionRate",
    "errorDispositionRate",
    "withinBudgetRate",
    "parityRate",
    "stdioParityRate",
    "anchorRate",
    "groundedRate",
)
_LISTS = {
    "nonInstructional": "instructionRate",
    "budgetExceeded": "withinBudgetRate",
    "parityMismatches": "parityRate",
    "anchorMisses": "anchorRate",
    "ungrounded": "groundedRate",
}
NO_MCP = "the MCP SDK is not installed"
PROGRAM = (sys.executable, "-m", "discovercall")
_CONDITION = re.compile(r"\b(if|unless|until|when|once|after|otherwise)\b", re.IGNORECASE)
_FORBIDS = re.compile(r"\b(do not|don't|never|must not)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ErgonomicsResult:
    """What was measured.

    Attributes:
        cases: how many there are.
        tallies: by metric, in the order of `METRICS`.
        details: of every miss: case, metric, and what was wrong in words.
        skip_reason: why there is no parity; None where it was measured.
    """

    cases: int
    tallies: Mapping[str, Tally]
    details: tuple[Mapping[str, Any], ...]
    skip_reason: str | None

    def document(self) -> dict[str, Any]:
        """The result's member `ergonomics`."""
        return {
            "n": self.cases,
            **tally_members(self.tallies),
            **{name: list(self.tallies[metric].missed) for name, metric in _LISTS.items()},
            "details": [dict(detail) for detail in self.details],
            "paritySkipReason": self.skip_reason,
        }


def measure_ergonomics(
    corpus: Corpus,
    *,
    run_command: RunCommand,
    encoder: CachingEncoder | None,
    make_server: Callable[[BrokerLike], Server[Any]] = build_face,
    program: Sequence[str] = PROGRAM,
) -> ErgonomicsResult:
    """Put every case through the command line and through MCP, and judge what an agent reads there.

    The command line is the program's own entry point, pointed at the corpus's world with the same use of
    the model; MCP is the real adapter with a real client, in memory and once over the standard streams.

    - decisionRate: searches with one of the decisions that exist, over searches.
    - instructionRate: searches whose instruction names the operation of their next action (on an empty
      catalog, the commands that help), sets a condition, forbids to infer absence after a refusal, and does
      not just repeat the request.
    - errorDispositionRate: clear errors (`dispositions.is_clear`) over errors.
    - withinBudgetRate: answers that keep to `BUDGETS` both as the command prints them and over MCP.
    - parityRate, stdioParityRate: cases in which the whole documents, ages apart, are equal and the exit
      code agrees with `isError`.
    - anchorRate: cases that end as labelled, over labelled ones; a description or a call without an
      expected error has to succeed.
    - groundedRate: answers without a fault in `grounding`, over all that tell an agent anything.

    Args:
        corpus: the cases, and the folder whose world the command line reads.
        run_command: the entry point.
        encoder: the model of searches; None for searches by words.
        make_server: makes the MCP adapter of a broker.
        program: starts the program for the session over the standard streams; empty for none.
    """
    cases, world = corpus.ergonomics, corpus.folder / "catalog" / "world.json"
    semantic = encoder is not None
    broker = Broker(corpus.world, encoder=encoder, advice=for_world(world))
    printed = [read_command(run_command, words_of(case, world, semantic=semantic)) for case in cases]
    skipped = None if importlib.util.find_spec("mcp") else NO_MCP
    memory = [] if skipped or not cases else in_memory(broker, cases, make_server)
    served = _served(program, _serve_words(str(world), semantic), cases) if memory and program else []
    bench = _Bench(Grounds(corpus.world, _performer(broker)))
    for place, case in enumerate(cases):
        bench.judge(case, printed[place])
        others = [("parityRate", memory), ("stdioParityRate", served)]
        for metric, readings in others:
            if readings:
                bench.compare(case, metric, printed[place], readings[place])
        bench.weigh(case, [printed[place], *(readings[place] for _, readings in others if readings)])
    return ErgonomicsResult(len(cases), bench.tallies, tuple(bench.details), skipped)


def _served(program: Sequence[str], words: Sequence[str], cases: Sequence[ErgonomicsCase]) -> list[Reading]:
    """What the served program gives; nothing for any case where it does not hold through the session."""
    try:
        return over_stdio(program, words, cases)
    except Exception:  # a program may fail in any way, and that is a finding like any other
        return [Reading(None, True, 0)] * len(cases)


def _serve_words(world: str, semantic: bool) -> list[str]:
    mode = "require" if semantic else "off"
    return ["gateway", "serve", "--face", "mcp-stdio", "--catalog", world, "--semantic", mode]


def _performer(broker: BrokerLike) -> Callable[[str, Mapping[str, Any]], Mapping[str, Any]]:
    known = {str(name): name for name in OPERATIONS}

    def perform(operation: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return carry_out(broker, known[operation], arguments).to_json()

    return perform


class _Bench:
    """Judges readings case by case, and counts."""

    def __init__(self, grounds: Grounds) -> None:
        self._grounds = grounds
        self.tallies = {name: Tally() for name in METRICS}
        self.details: list[dict[str, Any]] = []

    def judge(self, case: ErgonomicsCase, reading: Reading) -> None:
        """What the case's answer says, as the command line gives it."""
        document: Mapping[str, Any] = reading.document or {}
        if case.kind == "find":
            self._note(case, "decisionRate", _decision_faults(document))
            self._note(case, "instructionRate", instruction_faults(document))
        if "error" in document:
            clear = is_clear(document["error"])
            self._note(case, "errorDispositionRate", [] if clear else ["the error is not clear"])
        anchors = anchor_faults(case, document)
        if anchors is not None:
            self._note(case, "anchorRate", anchors)
        if has_grounds_to_check(document):
            asked_for = None if case.kind == "find" else case.tool_ref
            self._note(case, "groundedRate", self._grounds.faults(document, asked_for))

    def compare(self, case: ErgonomicsCase, metric: str, command: Reading, other: Reading) -> None:
        """Whether two faces say the same."""
        self._note(case, metric, [f"differs in {member}" for member in differences(command, other)])

    def weigh(self, case: ErgonomicsCase, readings: Sequence[Reading]) -> None:
        """Whether every rendering keeps to the budget; nothing at all is no rendering."""
        budget = BUDGETS[case.kind]
        sizes = [reading.size for reading in readings if reading.size > budget]
        faults = [f"{size} bytes, allowed are {budget}" for size in sizes]
        faults += ["an empty rendering" for reading in readings if not reading.size]
        self._note(case, "withinBudgetRate", faults)

    def _note(self, case: ErgonomicsCase, metric: str, faults: Sequence[str]) -> None:
        self.tallies[metric].note(case.name, not faults)
        if faults:
            self.details.append({"case": case.name, "metric": metric, "problem": "; ".join(faults)})


def _decision_faults(document: Mapping[str, Any]) -> list[str]:
    decision = document.get("decision")
    return [] if decision in DECISIONS else [f"unknown decision {decision}"]


def instruction_faults(document: Mapping[str, Any]) -> list[str]:
    """Why a search's instruction does not help an agent on; empty where it does."""
    instruction = str(document.get("agentInstruction") or "").strip()
    if not instruction:
        return ["no instruction"]
    decision, action = document.get("decision"), document.get("nextAction")
    faults = []
    if decision == "catalog_empty":
        if INDEX_COMMAND not in instruction or DIAGNOSTIC_COMMAND not in instruction:
            faults.append("the instruction does not say how to fill the catalog")
    elif not isinstance(action, Mapping) or action.get("tool") not in OPERATIONS:
        faults.append("no next action")
    else:
        if not re.search(rf"\b{action['tool']}\b", instruction):
            faults.append(f"the instruction does not name {action['tool']}")
        if not _CONDITION.search(instruction):
            faults.append("the instruction sets no condition")
    if decision in ("catalog_empty", "no_good_match") and not _FORBIDS.search(instruction):
        faults.append("the instruction lets the agent conclude that nothing exists")
    if decision == "ambiguous" and "describeTool" in instruction:
        faults.append("the instruction sends the agent to describe what it holds already")
    query = str(document.get("query", "")).lower()
    rest = instruction.lower().replace(query, " ") if query else instruction
    if len(rest.split()) < len(instruction.split()) / 2:
        faults.append("the instruction repeats the request")
    return faults


def anchor_faults(case: ErgonomicsCase, document: Mapping[str, Any]) -> list[str] | None:
    """How an answer departs from what the case expects; None where it expects nothing."""
    faults = []
    if case.kind == "find":
        if case.expect_decision is None and case.expect_tool_ref is None:
            return None
        decision = document.get("decision")
        if case.expect_decision is not None and decision != case.expect_decision:
            faults.append(f"decision {decision} instead of {case.expect_decision}")
        offered = [candidate.get("toolRef") for candidate in document.get("candidates", ())]
        offered = offered or [document.get("selectedToolRef")]
        if case.expect_tool_ref is not None and case.expect_tool_ref not in offered:
            faults.append(f"{offered[0]} instead of {case.expect_tool_ref}")
        return faults
    got = document.get("error", {}).get("type", "success" if document else "nothing")
    expected = case.expect_error_type or "success"
    if got != expected:
        faults.append(f"{got} instead of {expected}")
    wanted_ref = case.expect_tool_ref or case.tool_ref
    if got == "success" and document.get("toolRef") != wanted_ref:
        faults.append(f"{document.get('toolRef')} instead of {wanted_ref}")
    return faults
