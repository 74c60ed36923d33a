"""The gateway's measurement as the report shows it, read from its snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discovercall.foundation.errors import RefusedError

OVERALL = "overall"


@dataclass(frozen=True, slots=True)
class Scope:
    """Discovery over the intents of one kind; rates from 0 to 1, None where one does not apply."""

    name: str
    intents: int
    top1: float | None
    top3: float | None
    mrr: float | None
    wrong_server_rate: float | None
    no_match_correctness: float | None


@dataclass(frozen=True, slots=True)
class BoundCheck:
    """One figure held to its bound.

    Attributes:
        comparator: `min` passes at or above the threshold, `max` at or below.
        actual: None where nothing was measured.
        skipped: why it was not held to the bound; None where it was.
    """

    name: str
    comparator: str
    threshold: float
    actual: float | None
    passed: bool
    skipped: str | None


@dataclass(frozen=True, slots=True)
class GatewaySnapshot:
    """The committed measurement of the gateway."""

    file: str
    verdict: str
    generated_at: str
    commit: str | None
    corpus: str | None
    model: str | None
    semantic_ran: bool | None
    scopes: tuple[Scope, ...]
    bounds: tuple[BoundCheck, ...]


def gateway_of(document: Any, file: str) -> GatewaySnapshot:
    """The snapshot of a gateway measurement.

    Args:
        document: the parsed file.
        file: how messages and links name it.

    Raises:
        RefusedError: a member is missing or of another type; says which.
    """
    top = _Member(document, file, "")
    provenance = top.inner("provenance")
    discovery = document.get("discovery") if isinstance(document, Mapping) else None
    scopes = discovery if isinstance(discovery, Mapping) else {}
    gates = top.value("gates", list)
    return GatewaySnapshot(
        file=file,
        verdict=top.value("verdict", str),
        generated_at=top.value("generatedAt", str),
        commit=provenance.optional("gitCommit", str),
        corpus=provenance.optional("corpusVersion", str),
        model=provenance.optional("model", str),
        semantic_ran=provenance.optional("semanticRan", bool),
        scopes=tuple(
            _scope(name, _Member(scopes[name], file, f"discovery.{name}"))
            for name in sorted(scopes, key=lambda name: (name != OVERALL, name))
            if isinstance(scopes[name], Mapping) and "top1" in scopes[name]
        ),
        bounds=tuple(_bound(_Member(gate, file, f"gates[{index}]")) for index, gate in enumerate(gates)),
    )


def _scope(name: str, found: _Member) -> Scope:
    return Scope(
        name=name,
        intents=found.value("n", int),
        top1=found.rate("top1"),
        top3=found.rate("top3"),
        mrr=found.rate("mrr"),
        wrong_server_rate=found.rate("wrongServerRate") if name == "wrong_server" else None,
        no_match_correctness=found.rate("noMatchCorrectness") if name in (OVERALL, "no_match") else None,
    )


def _bound(found: _Member) -> BoundCheck:
    skipped = found.value("skipped", bool)
    return BoundCheck(
        name=found.value("name", str),
        comparator=found.value("comparator", str),
        threshold=found.number("threshold") or 0.0,
        actual=found.number("actual"),
        passed=found.value("pass", bool),
        skipped=(found.optional("skipReason", str) or "no reason given") if skipped else None,
    )


class _Member:
    """Members of an object with the type that they have to have."""

    def __init__(self, value: Any, file: str, path: str) -> None:
        self._file, self._path = file, path
        if not isinstance(value, Mapping):
            raise RefusedError(f"{path or 'the document'} must be an object", where=file)
        self._members = value

    def _refuse(self, name: str, wanted: str) -> RefusedError:
        path = f"{self._path}.{name}" if self._path else name
        return RefusedError(f"{path} must be {wanted}", where=self._file)

    def inner(self, name: str) -> _Member:
        return _Member(self._members.get(name), self._file, name)

    def value(self, name: str, kind: type[Any]) -> Any:
        found = self._members.get(name)
        if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
            raise self._refuse(name, f"of type {kind.__name__}")
        return found

    def optional(self, name: str, kind: type[Any]) -> Any:
        return None if self._members.get(name) is None else self.value(name, kind)

    def number(self, name: str) -> float | None:
        found = self._members.get(name)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, (int, float)):
            raise self._refuse(name, "a number or null")
        return float(found)

    def rate(self, name: str) -> float | None:
        found = self.number(name)
        if found is not None and not 0 <= found <= 1:
            raise self._refuse(name, "from 0 to 1")
        return found
