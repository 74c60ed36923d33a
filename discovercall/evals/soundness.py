"""Whether a result that was read can be true: rates, gates and verdict are recomputed from what it holds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from discovercall.evals.documents import read_result
from discovercall.evals.gates import NO_CASES, measured
from discovercall.evals.rates import Mean, Rate
from discovercall.evals.result_model import ScopeResult
from discovercall.evals.thresholds import Bound, Scope
from discovercall.foundation.digests import is_commit
from discovercall.foundation.ecmascript import MAX_SAFE_INTEGER, is_finite_number
from discovercall.foundation.errors import InputError
from discovercall.foundation.shown import plain
from discovercall.publication.fields import is_timestamp

_TOLERANCE = 2e-6  # documents have six decimals
_LEG = "semantic leg skipped: "
_SCOPES = get_args(Scope)
_SHARES = set(ScopeResult.model_fields) - {"n", "refusalAuc", "decisionMix", "intervals"}
Problem = tuple[str, str]


def read_sound_result(path: Path) -> dict[str, Any]:
    """A result document that does not contradict itself.

    Raises:
        InputError: the file can't be read, is no result, or a rate, a gate or the verdict is not what the
            rest of it gives; names the field.
    """
    result = read_result(path)
    for field, problem in _problems(result):
        raise InputError(problem, where=f"{path}: {field}", fix="results are not edited: measure again")
    return result


def _problems(result: Mapping[str, Any]) -> Iterator[Problem]:
    try:
        yield from problems_of(result)
    except (AttributeError, KeyError, TypeError, ValueError) as error:  # families have no fixed shape
        yield "a family", f"is of an unknown shape ({plain(str(error))})"


def problems_of(result: Mapping[str, Any]) -> Iterator[Problem]:
    """Every field that contradicts another, and what is wrong with it.

    Args:
        result: a result document of the right shape.
    """
    if not is_timestamp(result["generatedAt"]):
        yield "generatedAt", "is no time"
    commit = result["provenance"]["gitCommit"]
    if commit is not None and not is_commit(commit):
        yield "provenance.gitCommit", "is no commit"
    for field, members in _groups(result):
        yield from _rate_problems(members, field)
    yield from _discovery_problems(result)
    yield from _token_problems(result.get("tokens"))
    for index, gate in enumerate(result["gates"]):
        for member, problem in _gate_problems(gate, result):
            yield f"gates[{index}].{member}", problem
    yield from _verdict_problems(result)


def _groups(result: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every part that has rates with their intervals, by its path."""
    held_out = (result.get("heldOut") or {}).get("rankers") or {}
    for prefix, rankers in (
        ("", {"discovery": result.get("discovery")}),
        ("rankers.", result.get("rankers") or {}),
        ("heldOut.rankers.", held_out),
    ):
        for name, scopes in rankers.items():
            for scope, members in (scopes or {}).items():
                yield f"{prefix}{name}.{scope}", members
    for family in ("invocation", "ergonomics", "cache"):
        members = result.get(family)
        if members is not None:
            yield family, members


def _rate_problems(members: Mapping[str, Any], path: str) -> Iterator[Problem]:
    intervals = members.get("intervals")
    if not isinstance(intervals, Mapping):
        yield f"{path}.intervals", "is missing"
        return
    for name, interval in intervals.items():
        value = members.get(name)
        if interval is None or value is None:
            if not (interval is None and value is None):
                yield f"{path}.{name}", "must be null exactly where it has no interval"
        elif not is_finite_number(value) or not isinstance(interval, Mapping):
            yield f"{path}.{name}", "must be a number with an interval"
        elif interval.get("hits") is None:
            if not _lies_in(float(value), interval):
                yield f"{path}.{name}", "is outside of its interval"
        else:
            yield from _share_problems(float(value), interval, f"{path}.{name}")
    for name, value in members.items():
        if name not in intervals and is_finite_number(value) and (name in _SHARES or name.endswith("Rate")):
            yield f"{path}.{name}", "has no interval"


def _share_problems(value: float, interval: Mapping[str, Any], path: str) -> Iterator[Problem]:
    hits, of = _count(interval["hits"]), _count(interval.get("of"))
    if hits is None or not of or hits > of:
        yield path, "must have at most as many hits as cases"
        return
    found = Rate(hits, of).interval() or {}
    if not _near(value, hits / of):
        yield path, f"is {value:g}, and its hits give {hits}/{of}"
    for limit in ("low", "high"):
        if not _near(interval.get(limit), found[limit]):
            yield path, f"has an interval that is not Wilson's of {hits}/{of}"


def _discovery_problems(result: Mapping[str, Any]) -> Iterator[Problem]:
    """What the live ranker's figures say and its cases don't."""
    scopes, rankers, cases = (result.get(name) for name in ("discovery", "rankers", "cases"))
    if scopes is None:
        return
    if rankers is not None and scopes != (rankers.get("model") or rankers["words"]):
        yield "discovery", "is not that of the live ranker in rankers"
    if cases is None:
        yield "cases", "is missing"
        return
    for scope, found in scopes.items():
        own = [case for case in cases if scope in ("overall", case["category"])]
        ranks = [case["rank"] for case in own if case["category"] != "no_match"]
        for name, value in (
            ("n", len(own)),
            ("top1", Rate.over(rank == 1 for rank in ranks).value),
            ("top3", Rate.over(1 <= rank <= 3 for rank in ranks).value),
            ("mrr", Mean(tuple(1 / rank if rank else 0.0 for rank in ranks)).value),
        ):
            told = found[name]
            if (told is None) != (value is None) or (value is not None and not _near(told, value)):
                yield f"discovery.{scope}.{name}", "is not what the cases give"
        mix = Counter(case["decision"] for case in own)
        if {name: count for name, count in found["decisionMix"].items() if count} != dict(mix):
            yield f"discovery.{scope}.decisionMix", "is not what the cases give"


def _token_problems(tokens: Any) -> Iterator[Problem]:
    """Reductions and rates that are not what stands beside them."""
    if not isinstance(tokens, Mapping):
        return
    catalogs = {"tokens": tokens}
    catalogs |= {f"tokens.growth[{i}]": found for i, found in enumerate(tokens.get("growth") or ())}
    catalogs |= {
        f"tokens.otherEstimators.{name}": found
        for name, found in (tokens.get("otherEstimators") or {}).items()
    }
    for path, members in catalogs.items():
        for kind in ("", "WithInstructions"):
            names = (f"startupReduction{kind}", "directStartup", f"brokerStartup{kind}")
            yield from _reduction_problems(members, path, *names)
    for part in ("fixedTask", "tasks"):
        names = ("reduction", "directTokensToSuccess", "brokerTokensToSuccess")
        yield from _reduction_problems(tokens.get(part) or {}, f"tokens.{part}", *names)
    tasks = tokens.get("tasks") or {}
    rate, count = tasks.get("successRate"), _count(tasks.get("n"))
    if rate is not None and (not count or not _near(rate, round(rate * count) / count) or not 0 <= rate <= 1):
        yield "tokens.tasks.successRate", "is no share of n"


def _reduction_problems(
    members: Mapping[str, Any], path: str, name: str, direct_name: str, broker_name: str
) -> Iterator[Problem]:
    told = members.get(name)
    if told is None:
        return
    direct, broker = _amount(members.get(direct_name)), _amount(members.get(broker_name))
    if not direct or broker is None:
        yield f"{path}.{name}", f"must be there with {direct_name} and {broker_name}"
    elif not _near(told, 1 - broker / direct):
        yield f"{path}.{name}", f"is not what {direct_name} and {broker_name} give"


def _gate_problems(gate: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[Problem]:
    if gate["skipped"] != (gate["skipReason"] is not None):
        yield "skipped", "must be true exactly where there is a reason"
    bound = _bound(gate)
    try:
        found = measured(bound, result)
    except (KeyError, TypeError, ValueError, OverflowError):
        yield "name", "is no figure of this result"
        return
    reason, actual = gate["skipReason"], gate["actual"]
    if reason is not None and reason.startswith(_LEG):
        if result["provenance"]["semanticRan"]:
            yield "skipReason", "says that the semantic leg was skipped, and it ran"
        if actual is not None:
            yield "actual", "must be null where the gate is skipped"
    else:
        if (actual is None) != (found is None) or (found is not None and not _near(actual, found)):
            yield "actual", "is not the figure of this result"
        if (reason == NO_CASES) != (found is None) or reason not in (None, NO_CASES):
            yield "skipReason", "must be there exactly where there is no case"
    actual = gate["actual"]
    passed = actual is not None and (
        actual >= bound.threshold if bound.comparator == "min" else actual <= bound.threshold
    )
    if gate["pass"] != passed:
        yield "pass", f"is {str(gate['pass']).lower()}, and the figure held to its bound says otherwise"


def _bound(gate: Mapping[str, Any]) -> Bound:
    family, _, rest = str(gate["name"]).partition(".")
    scope, _, metric = rest.partition(".")
    if metric and scope in _SCOPES:
        return Bound(family, scope, metric, gate["comparator"], gate["threshold"])
    return Bound(family, None, rest, gate["comparator"], gate["threshold"])


def _verdict_problems(result: Mapping[str, Any]) -> Iterator[Problem]:
    worse = result.get("regressions") or []
    changes = {
        change["metric"]: change["direction"] for change in (result.get("diff") or {}).get("metrics", ())
    }
    if any(changes.get(metric) not in ("worse", "gone") for metric in worse):
        yield "regressions", "names a metric that diff does not find worse"
    failed = bool(worse) or any(not gate["pass"] and not gate["skipped"] for gate in result["gates"])
    # A run that was told to require the model fails without it, whatever its gates say.
    required = not result["provenance"]["semanticRan"] and result["verdict"] == "fail"
    if (result["verdict"] == "fail") != failed and not required:
        yield "verdict", f"is {result['verdict']}, and the gates or regressions say otherwise"


def _lies_in(value: float, interval: Mapping[str, Any]) -> bool:
    low, high = interval.get("low"), interval.get("high")
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        return False
    return low - _TOLERANCE <= value <= high + _TOLERANCE


def _near(told: Any, recomputed: float) -> bool:
    return is_finite_number(told) and math.isclose(told, recomputed, rel_tol=0, abs_tol=_TOLERANCE)


def _count(value: Any) -> int | None:
    """The value where it is a count; else None."""
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_SAFE_INTEGER
        else None
    )


def _amount(value: Any) -> float | None:
    """The value where it is a finite amount; else None."""
    return float(value) if is_finite_number(value) and value >= 0 else None
