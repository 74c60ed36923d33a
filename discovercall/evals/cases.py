"""What a corpus holds: labelled intents, calls, and what an agent gets to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from discovercall.evals.thresholds import Thresholds
from discovercall.gateway.bank import Bank, default_bank
from discovercall.gateway.catalog import World
from discovercall.gateway.results import Decision, ErrorType

Category = Literal["lexical", "semantic", "no_match", "ambiguous", "wrong_server"]
CATEGORIES: tuple[Category, ...] = ("lexical", "semantic", "no_match", "ambiguous", "wrong_server")
Outcome = Literal["success", "repair", "error", "timeout"]
OUTCOMES: tuple[Outcome, ...] = ("success", "repair", "error", "timeout")
Kind = Literal["find", "describe", "call"]
KINDS: tuple[Kind, ...] = ("find", "describe", "call")


@dataclass(frozen=True, slots=True)
class DiscoveryCase:
    """An intent and the tools that would rightly serve it; none for `no_match`. `where` is `file:line`."""

    intent: str
    category: Category
    acceptable: tuple[str, ...]
    rationale: str
    where: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """One call with what should come of it.

    Attributes:
        name: unique among the scenarios.
        tool_ref: the tool that is called.
        arguments: of the first call.
        expected_outcome: `success`, `repair`, `error` or `timeout`.
        expected_error: type of the error that the first call should give; None for `success`.
        corrected: arguments with which a `repair` goes through.
        live_schema: what the server declares today, where it differs from the catalog.
        rationale: why, for a reader who doubts it.
    """

    name: str
    tool_ref: str
    arguments: Mapping[str, Any]
    expected_outcome: Outcome
    expected_error: ErrorType | None
    corrected: Mapping[str, Any] | None
    live_schema: Mapping[str, Any] | None
    rationale: str


@dataclass(frozen=True, slots=True)
class ErgonomicsCase:
    """One operation whose answer an agent has to work with; what is not expected is None."""

    name: str
    kind: Kind
    query: str | None
    tool_ref: str | None
    arguments: Mapping[str, Any] | None
    expect_decision: Decision | None
    expect_error_type: ErrorType | None
    expect_tool_ref: str | None
    rationale: str


@dataclass(frozen=True)
class Corpus:
    """A checked corpus.

    Attributes:
        folder: where it was read from.
        version: of the shape of its files.
        world: the catalog.
        discovery: the open intents.
        holdout: the set-aside intents, which are measured on request only.
        invocation: the calls.
        ergonomics: what agents read.
        thresholds: what is gated; None without the file.
        sha256: over all measured files, the set-aside ones apart.
        bank: the capabilities that the search is built on.
        holdout_sha256: over the set-aside files; None without any.
    """

    folder: Path
    version: int
    world: World
    discovery: tuple[DiscoveryCase, ...]
    holdout: tuple[DiscoveryCase, ...]
    invocation: tuple[Scenario, ...]
    ergonomics: tuple[ErgonomicsCase, ...]
    thresholds: Thresholds | None
    sha256: str
    bank: Bank = field(default_factory=default_bank)
    holdout_sha256: str | None = None
