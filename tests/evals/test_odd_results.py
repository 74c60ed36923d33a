"""Rates, intervals and figures of a gateway result that no measurement could have written."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discovercall.evals.soundness import problems_of

BASELINE = Path(__file__).parents[2] / "results" / "gateway" / "snapshots" / "baseline.json"
Json = dict[str, Any]
RATE = "invocation.repairSuccess"


@pytest.fixture(scope="module")
def made() -> Json:
    return dict(json.loads(BASELINE.read_bytes()))


def rate(value: Any, interval: Any) -> Callable[[Json], Any]:
    """A change of one rate and its interval."""

    def change(result: Json) -> None:
        result["invocation"]["repairSuccess"] = value
        result["invocation"]["intervals"]["repairSuccess"] = interval

    return change


def leg(**gate: Any) -> Callable[[Json], Any]:
    """A gate that says the semantic leg was skipped."""

    def change(result: Json) -> None:
        result["gates"][0] |= {"skipped": True, "skipReason": "semantic leg skipped: no model", **gate}

    return change


@pytest.mark.parametrize(
    ("change", "field", "problem"),
    [
        (rate(None, {"hits": 1, "of": 2}), RATE, "must be null exactly where it has no interval"),
        (rate(0.5, None), RATE, "must be null exactly where it has no interval"),
        (rate("0.5", {"hits": 1, "of": 2}), RATE, "must be a number with an interval"),
        (rate(0.5, [0, 1]), RATE, "must be a number with an interval"),
        (rate(0.5, {"low": 0.6, "high": 0.9}), RATE, "is outside of its interval"),
        (rate(0.5, {"low": "0", "high": 1}), RATE, "is outside of its interval"),
        (rate(0.5, {"hits": 3, "of": 2}), RATE, "must have at most as many hits as cases"),
        (rate(0.5, {"hits": 0, "of": 0}), RATE, "must have at most as many hits as cases"),
        (rate(0.5, {"hits": 1.5, "of": 2}), RATE, "must have at most as many hits as cases"),
        (rate(0.7, {"hits": 1, "of": 2, "low": 0.1, "high": 0.9}), RATE, "is 0.7, and its hits give 1/2"),
        (
            lambda value: value["invocation"].update(intervals=None),
            "invocation.intervals",
            "is missing",
        ),
        (
            lambda value: value["tokens"].update(directStartup=0),
            "tokens.startupReduction",
            "must be there with directStartup and brokerStartup",
        ),
        (
            leg(),
            "gates[0].skipReason",
            "says that the semantic leg was skipped, and it ran",
        ),
        (leg(), "gates[0].actual", "must be null where the gate is skipped"),
    ],
)
def test_a_figure_that_cannot_be_is_named(
    made: Json, change: Callable[[Json], Any], field: str, problem: str
) -> None:
    value = copy.deepcopy(made)
    change(value)
    assert (field, problem) in list(problems_of(value))


def test_what_was_not_measured_contradicts_nothing(made: Json) -> None:
    value = copy.deepcopy(made)
    for part in ("discovery", "rankers", "cases", "tokens", "invocation", "ergonomics", "cache", "heldOut"):
        value[part] = None
    value["gates"] = []
    assert list(problems_of(value)) == []
    within = copy.deepcopy(made)
    rate(0.5, {"low": 0.4, "high": 0.6})(within)
    assert RATE not in dict(problems_of(within))


def test_a_skipped_leg_that_did_not_run_is_sound(made: Json) -> None:
    value = copy.deepcopy(made)
    leg(actual=None, **{"pass": False})(value)
    value["provenance"] |= {"semanticRan": False, "semanticSkipReason": "no model"}
    assert not [field for field, _ in problems_of(value) if field.startswith("gates[0]")]
