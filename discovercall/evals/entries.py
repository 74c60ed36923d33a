"""One case at a time: its shape, and that what it says can be true of the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
from discovercall.foundation.models import FaultsError, ModelT, NotBlank, StrictModel, check, sound_fields
from discovercall.gateway.arguments import check_arguments
from discovercall.gateway.catalog import World
from discovercall.gateway.results import DECISIONS, ERROR_TYPES, Decision, ErrorType

DRIFT = "TOOL_SCHEMA_CHANGED"
Fields = Mapping[str, Any]
Fault = tuple[str, str | None]
"""What is wrong with which field, and what would be right."""
ANSWERED = tuple(decision for decision in DECISIONS if decision != "catalog_empty")


@dataclass(frozen=True, slots=True)
class Known:
    """What cases are checked against: the world where it is sound, and the references that its file names."""

    world: World | None
    refs: frozenset[str]

    def schema_of(self, tool_ref: str | None) -> Mapping[str, Any] | None:
        """The tool's schema; None where the world is not sound, or has no such tool."""
        tool = self.world.by_ref.get(tool_ref) if self.world and tool_ref else None
        return tool.input_schema if tool else None


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
        FaultsError: names `where` and the field, for each fault.
    """
    line = _sound(_DiscoveryLine, value, where, lambda fields: _discovery_faults(fields, known))
    return DiscoveryCase(
        line.intent, cast(Category, line.category), tuple(line.acceptable), line.rationale, place
    )


def _discovery_faults(fields: Fields, known: Known) -> Iterator[Fault]:
    category, acceptable = fields.get("category"), fields.get("acceptable")
    yield from _one_of("category", category, CATEGORIES)
    if acceptable is None:
        return
    if category == "no_match" and acceptable:
        yield "acceptable: must be empty where category is no_match", None
    if category in CATEGORIES and category != "no_match" and not acceptable:
        yield f"acceptable: must not be empty where category is {category}", None
    for ref in dict.fromkeys(acceptable):
        yield from _in_catalog("acceptable", ref, known)
    if len(set(acceptable)) != len(acceptable):
        yield "acceptable: must not name a tool twice", None
    elif category == "ambiguous" and len(acceptable) == 1:
        yield "acceptable: must name two or more where category is ambiguous", None


def scenario(value: Any, where: str, known: Known) -> Scenario:
    """An entry of `invocation/*.json`.

    Raises:
        FaultsError: names `where` and the field, for each fault.
    """
    entry = _sound(_ScenarioEntry, value, where, lambda fields: _scenario_faults(fields, known))
    return Scenario(
        name=entry.name,
        tool_ref=entry.toolRef,
        arguments=entry.arguments,
        expected_outcome=cast(Outcome, entry.expectedOutcome),
        expected_error=cast("ErrorType | None", entry.expectedError),
        corrected=entry.corrected,
        live_schema=entry.liveSchema,
        rationale=entry.rationale,
    )


def _scenario_faults(fields: Fields, known: Known) -> Iterator[Fault]:
    ref, outcome = fields.get("toolRef"), fields.get("expectedOutcome")
    yield from _in_catalog("toolRef", ref, known)
    yield from _one_of("expectedOutcome", outcome, OUTCOMES)
    if "expectedError" in fields:
        error = fields["expectedError"]
        yield from _expected_error_faults(outcome, error)
        if "liveSchema" in fields and (error == DRIFT) != (fields["liveSchema"] is not None):
            rule = f"is needed with {DRIFT}" if error == DRIFT else f"goes with {DRIFT} only"
            yield f"liveSchema: {rule}", None
    if "corrected" not in fields:
        return
    corrected = fields["corrected"]
    if outcome in OUTCOMES and (outcome == "repair") != (corrected is not None):
        rule = "is needed where expectedOutcome is" if corrected is None else "goes only with"
        yield f"corrected: {rule} repair", None
    if corrected is not None and "liveSchema" in fields:
        schema = fields["liveSchema"] or known.schema_of(ref)
        for problem in check_arguments(schema, corrected) if schema is not None else ():
            yield f"corrected: does not fit the schema of {ref} ({problem.message})", None


def _expected_error_faults(outcome: str | None, error: str | None) -> Iterator[Fault]:
    if outcome == "success" and error is not None:
        yield "expectedError: must be absent where expectedOutcome is success", None
    if outcome in ("repair", "error") and error is None:
        yield f"expectedError: is needed where expectedOutcome is {outcome}", None
    if outcome == "timeout" and error not in (None, "DOWNSTREAM_CALL_FAILED"):
        yield f"expectedError: {error} is not what a timeout gives", "DOWNSTREAM_CALL_FAILED, or nothing"
    elif error is not None:
        yield from _one_of("expectedError", error, ERROR_TYPES)


def ergonomics_case(value: Any, where: str, known: Known) -> ErgonomicsCase:
    """An entry of `ergonomics/*.json`; only the tool that is expected has to be in the catalog.

    Raises:
        FaultsError: names `where` and the field, for each fault.
    """
    entry = _sound(_CaseEntry, value, where, lambda fields: _ergonomics_faults(fields, known))
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


def _ergonomics_faults(fields: Fields, known: Known) -> Iterator[Fault]:
    kind = fields.get("kind")
    yield from _one_of("kind", kind, KINDS)
    if kind in KINDS:
        needed = "query" if kind == "find" else "toolRef"
        foreign = {
            "find": ("toolRef", "arguments", "expectErrorType"),
            "describe": ("query", "arguments", "expectDecision", "expectToolRef"),
            "call": ("query", "expectDecision", "expectToolRef"),
        }[kind]
        if needed in fields and fields[needed] is None:
            yield f"{needed}: is needed where kind is {kind}", None
        for field in foreign:
            if fields.get(field) is not None:
                yield f"{field}: does not go with kind {kind}", None
    yield from _one_of("expectDecision", fields.get("expectDecision"), ANSWERED)
    yield from _one_of("expectErrorType", fields.get("expectErrorType"), ERROR_TYPES)
    yield from _in_catalog("expectToolRef", fields.get("expectToolRef"), known)


def _sound(model: type[ModelT], value: Any, where: str, rules: Callable[[Fields], Iterator[Fault]]) -> ModelT:
    """The entry where shape and rules are kept; the rules get the fields whose own shape is right."""
    faults: list[InputError] = []
    entry = None
    try:
        entry = check(model, value, where)
    except FaultsError as error:
        faults += error.faults
    faults += [InputError(told, where=where, fix=fix) for told, fix in rules(sound_fields(model, value))]
    if entry is None or faults:
        raise FaultsError(faults)
    return entry


def _one_of(field: str, value: str | None, allowed: tuple[str, ...]) -> Iterator[Fault]:
    if value is not None and value not in allowed:
        yield f"{field}: {value or 'an empty text'} is unknown", "one of " + ", ".join(allowed)


def _in_catalog(field: str, ref: str | None, known: Known) -> Iterator[Fault]:
    # A catalog that can't be read at all names nothing: that is its own problem, and not each case's.
    if ref is not None and known.refs and ref not in known.refs:
        yield f"{field}: {ref} is not present in the catalog", None
