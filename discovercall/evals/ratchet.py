"""Raising thresholds to what was measured: tighter, never looser.

A bound is seeded one case of each category below its measurement, for the run time's arithmetic may differ in
the last digit between processors, and so turn a case.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discovercall.evals.corpus import CATEGORIES, load_corpus
from discovercall.evals.gates import measured
from discovercall.evals.reading import corpus_text
from discovercall.evals.thresholds import Bound, parse_thresholds
from discovercall.foundation.errors import InputError
from discovercall.foundation.files import write_atomic
from discovercall.foundation.json_file import parse_json
from discovercall.foundation.json_text import pretty

_STEPS = 10_000  # bounds have four decimals
_WORDING = 0.01  # what a few words more in a description may cost


@dataclass(frozen=True, slots=True)
class Tightened:
    """A bound before and after."""

    name: str
    before: float
    after: float


def tighten(
    document: Mapping[str, Any], result: Mapping[str, Any], where: str
) -> tuple[dict[str, Any], list[Tightened]]:
    """A thresholds document with every bound that a result allows to be tighter; the rest stays.

    Args:
        document: `thresholds.json`, parsed.
        result: a result document.
        where: name of the thresholds file, for messages.

    Raises:
        InputError: the thresholds document is wrong.
    """
    tightened = copy.deepcopy(dict(document))
    changes = []
    for bound in parse_thresholds(document, where).bounds:
        if bound.family == "hygiene" or not _ran(bound, result):
            continue
        actual = measured(bound, result)
        if actual is None:
            continue
        proposed = seed(actual, bound.comparator == "min", _case(bound, result))
        if proposed > bound.threshold if bound.comparator == "min" else proposed < bound.threshold:
            group = tightened[bound.family][bound.scope] if bound.scope else tightened[bound.family]
            group[bound.metric + bound.comparator.title()] = proposed
            changes.append(Tightened(bound.name, bound.threshold, proposed))
    return tightened, changes


def ratchet_file(folder: Path, result: Mapping[str, Any]) -> list[Tightened]:
    """Raise the bounds of a corpus's `thresholds.json` in place, and say which.

    Args:
        folder: the corpus.
        result: a result document of this very corpus.

    Raises:
        InputError: there are no thresholds, they are wrong, or the result is of another corpus.
    """
    path = folder / "thresholds.json"
    if result["provenance"]["corpusSha256"] != load_corpus(folder).sha256:
        raise InputError("is of another corpus", where="RESULT", fix="measure this corpus first")
    text, _ = corpus_text(path)
    tightened, changes = tighten(parse_json(text, str(path)), result, str(path))
    if changes:
        write_atomic(path, (pretty(tightened) + "\n").encode(), mode=0o644)
    return changes


def seed(actual: float, is_minimum: bool, case: float) -> float:
    """The bound for a measurement: one case looser, cut to four decimals away from the measurement."""
    if is_minimum:
        return max(0.0, math.floor(_steps(actual - case)) / _STEPS)
    return min(1.0, math.ceil(_steps(actual + case)) / _STEPS)


def _steps(value: float) -> float:
    return round(value * _STEPS, 3)  # so that 0.69 is 6900 of them, whatever the last digit of a float


def _case(bound: Bound, result: Mapping[str, Any]) -> float:
    """How much slack a bound has: one case of what is ranked; calls and texts promise what they reached."""
    if bound.metric == "anchorRate":
        return 1.0 / float(result["ergonomics"]["intervals"]["anchorRate"]["of"])
    if bound.scope is None:
        return _WORDING if bound.family == "tokens" else 0.0
    scopes = result["rankers"]["words"] if bound.family == "discoveryWords" else result[bound.family]
    intervals: Mapping[str, Any] = scopes[bound.scope]["intervals"]
    if bound.metric == "refusalAuc":
        return 1.0 / min(int(intervals[name]["of"]) for name in ("noMatchCorrectness", "falseRefusalRate"))
    one = 1.0 / float(intervals[bound.metric]["of"])
    if bound.scope != "overall":
        return one
    # One case of each category may turn: the whole must not be stricter than its parts.
    return one * sum(bound.metric in scopes[category]["intervals"] for category in CATEGORIES)


def _ran(bound: Bound, result: Mapping[str, Any]) -> bool:
    if bound.requires_semantic and not result["provenance"]["semanticRan"]:
        return False
    return ("rankers" if bound.family == "discoveryWords" else bound.family) in result
