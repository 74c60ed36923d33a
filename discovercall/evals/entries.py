"""One case at a time: its shape, and that what it says can be true of the catalog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from discovercall.evals.cases import (
    CATEGORIES,
    KINDS,
    OUTCOMES,
    Category,
    DiscoveryCase,
    ErgonomicsCase,
    Kind,
    Outcome,
    Scenario,
)
from discovercall.foundation.errors import InputError
from discovercall.foundation.models import NotBlank, StrictModel, check
from discovercall.gateway.arguments import check_arguments
from discovercall.gateway.catalog import World
from discovercall.gateway.results import DECISIONS, ERROR_TYPES, Decision, ErrorType

DRIFT = "TOOL_SCHEMA_CHANGED"
ANSWERED = tuple(decision for decision in DECISIONS if decision != "catalog_empty")


@dataclass(frozen=True, slots=True)
class Known:
    """What cases are checked against: the world where it is sound, and the references that its file names."""

    world: World | None
    refs: frozenset[str]

    def schema_of(self, tool_ref: str) -> Mapping[str, Any] | None:
        """The tool's schema; None where the world is not sound."""
        return self.world.by_ref[tool_ref].input_schema if self.world else None


class _DiscoveryLine(StrictModel):
    intent: NotBlank
    category: str
    acceptable: list[str]
    rationale: NotBlank


class _ScenarioEntry(StrictModel):
    name: NotBlank
    toolRef: NotBlank
    arguments: dict[str, Any]
    expectedOutcome: str
    expectedError: str | None = None
    corrected: dict[str, Any] | None = None
    liveSchema: dict[str, Any] | None = None
    rationale: NotBlank


class _CaseEntry(StrictModel):
    name: NotBlank
    kind: str
    query: NotBlank | None = None
    toolRef: NotBlank | None = None
    arguments: dict[str, Any] | None = None
    expectDecision: str | None = None
    expectErrorType: str | None = None
    expectToolRef: str | None = None
    rationale: NotBlank


def discovery_case(value: Any, where: str, place: str, known: Known) -> DiscoveryCase:
    """A line of `discovery/*.jsonl`.

    Args:
        value: the parsed line.
        where: file and line, for messages.
        place: file and line within the corpus, for the result.
        known: what the catalog has.

    Raises:
        InputError: names `where` and the field.
    """
    line = check(_DiscoveryLine, value, where)
    _one_of("category", line.category, CATEGORIES, where)
    if line.category == "no_match" and line.acceptable:
        raise InputError("acceptable: must be empty where category is no_match", where=where)
    if line.category != "no_match" and not line.acceptable:
        raise InputError(f"acceptable: must not be empty where category is {line.category}", where=where)
    for ref in line.acceptable:
        _in_catalog("acceptable", ref, known, where)
    if len(set(line.acceptable)) != len(line.acceptable):
        raise InputError("acceptable: must not name a tool twice", where=where)
    if line.category == "ambiguous" and len(line.acceptable) < 2:
        raise InputError("acceptable: must name two or more where category is ambiguous", where=where)
    return DiscoveryCase(
        line.intent, cast(Category, line.category), tuple(line.acceptable), line.rationale, place
    )


def scenario(value: Any, where: str, known: Known) -> Scenario:
    """An entry of `invocation/*.json`.

    Raises:
        InputError: names `where` and the field.
    """
    entry = check(_ScenarioEntry, value, where)
    _in_catalog("toolRef", entry.toolRef, known, where)
    _one_of("expectedOutcome", entry.expectedOutcome, OUTCOMES, where)
    outcome = cast(Outcome, entry.expectedOutcome)
    _check_expected_error(outcome, entry.expectedError, where)
    if (entry.expectedError == DRIFT) != (entry.liveSchema is not None):
        rule = f"is needed with {DRIFT}" if entry.liveSchema is None else f"goes with {DRIFT} only"
        raise InputError(f"liveSchema: {rule}", where=where)
    if (outcome == "repair") != (entry.corrected is not None):
        rule = "is needed where expectedOutcome is" if entry.corrected is None else "goes only with"
        raise InputError(f"corrected: {rule} repair", where=where)
    schema = entry.liveSchema or known.schema_of(entry.toolRef)
    if entry.corrected is not None and schema is not None:
        problems = check_arguments(schema, entry.corrected)
        if problems:
            raise InputError(
                f"corrected: does not fit the schema of {entry.toolRef} ({problems[0].message})",
                where=where,
            )
    return Scenario(
        name=entry.name,
        tool_ref=entry.toolRef,
        arguments=entry.arguments,
        expected_outcome=outcome,
        expected_error=cast("ErrorType | None", entry.expectedError),
        corrected=entry.corrected,
        live_schema=entry.liveSchema,
        rationale=entry.rationale,
    )


def _check_expected_error(outcome: Outcome, error: str | None, where: str) -> None:
    if outcome == "success" and error is not None:
        raise InputError("expectedError: must be absent where expectedOutcome is success", where=where)
    if outcome in ("repair", "error") and error is None:
        raise InputError(f"expectedError: is needed where expectedOutcome is {outcome}", where=where)
    if outcome == "timeout" and error not in (None, "DOWNSTREAM_CALL_FAILED"):
        raise InputError(
            f"expectedError: {error} is not what a timeout gives",
            where=where,
            fix="DOWNSTREAM_CALL_FAILED, or nothing",
        )
    if error is not None:
        _one_of("expectedError", error, ERROR_TYPES, where)


def ergonomics_case(value: Any, where: str, known: Known) -> ErgonomicsCase:
    """An entry of `ergonomics/*.json`; only the tool that is expected has to be in the catalog.

    Raises:
        InputError: names `where` and the field.
    """
    entry = check(_CaseEntry, value, where)
    _one_of("kind", entry.kind, KINDS, where)
    needed = "query" if entry.kind == "find" else "toolRef"
    foreign = {
        "find": ("toolRef", "arguments", "expectErrorType"),
        "describe": ("query", "arguments", "expectDecision", "expectToolRef"),
        "call": ("query", "expectDecision", "expectToolRef"),
    }[entry.kind]
    if getattr(entry, needed) is None:
        raise InputError(f"{needed}: is needed where kind is {entry.kind}", where=where)
    for field in foreign:
        if getattr(entry, field) is not None:
            raise InputError(f"{field}: does not go with kind {entry.kind}", where=where)
    if entry.expectDecision is not None:
        _one_of("expectDecision", entry.expectDecision, ANSWERED, where)
    if entry.expectErrorType is not None:
        _one_of("expectErrorType", entry.expectErrorType, ERROR_TYPES, where)
    if entry.expectToolRef is not None:
        _in_catalog("expectToolRef", entry.expectToolRef, known, where)
    return ErgonomicsCase(
        name=entry.name,
        kind=cast(Kind, entry.kind),
        query=entry.query,
        tool_ref=entry.toolRef,
        arguments=entry.arguments,
        expect_decision=cast("Decision | None", entry.expectDecision),
        expect_error_type=cast("ErrorType | None", entry.expectErrorType),
        expect_tool_ref=entry.expectToolRef,
        rationale=entry.rationale,
    )


def _one_of(field: str, value: str, allowed: tuple[str, ...], where: str) -> None:
    if value not in allowed:
        raise InputError(
            f"{field}: {value or 'an empty text'} is unknown",
            where=where,
            fix="one of " + ", ".join(allowed),
        )


def _in_catalog(field: str, ref: str, known: Known, where: str) -> None:
    # A catalog that can't be read at all names nothing: that is its own problem, and not each case's.
    if known.refs and ref not in known.refs:
        raise InputError(f"{field}: {ref} is not present in the catalog", where=where)
