"""Numbers over runs: quantiles, token sums, and the two modes side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import median, stdev

from discovercall.invocation.report_model import (
    Cell,
    Gap,
    Mode,
    ModeComparison,
    PairedLatency,
    Quantiles,
    RunReport,
    TokenTotal,
    TokenTotals,
)

LOW_CONFIDENCE_BELOW = 20
"""Samples that a p95 needs, and pairs that an interval needs."""

PAIRED = ("first_token_ms", "first_visible_ms", "turn_wall_time_ms")

_Values = Callable[[RunReport], Iterable[float | None]]


def _of_calls(role: str) -> _Values:
    return lambda run: [call.elapsed_ms for call in run.model_calls if call.role == role]


METRICS: dict[str, _Values] = {
    "first_token_ms": lambda run: [run.first_token_ms],
    "first_visible_ms": lambda run: [run.first_visible_ms],
    "turn_wall_time_ms": lambda run: [run.turn_wall_time_ms],
    "chat_agent_call_ms": _of_calls("chat_agent"),
    "event_agent_call_ms": _of_calls("event_agent"),
    "follow_up_call_ms": _of_calls("follow_up"),
    "handler_latency_ms": lambda run: [event.handler_latency_ms for event in run.events],
    "prompt_tokens": lambda run: [run.tokens.prompt],
    "completion_tokens": lambda run: [run.tokens.completion],
    "total_tokens": lambda run: [run.tokens.total],
    "cached_tokens": lambda run: [run.tokens.cached],
}
"""What quantiles are taken of, and where a run has it."""


def quantile(values: Sequence[float], q: float) -> float | None:
    """The q-quantile by linear interpolation at index (n - 1) q of the sorted values; None of no value.

    Args:
        values: n numbers in any order.
        q: from 0 to 1.

    Source: Hyndman and Fan, Sample Quantiles in Statistical Packages, The American Statistician 50:361
    (1996), type 7.
    """
    if not values:
        return None
    ordered = sorted(values)
    place = (len(ordered) - 1) * q
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """A 95% interval of the median: a pair of order statistics; None below 20 values.

    The largest k with P(Binomial(n, 1/2) < k) <= .025 gives the k-th smallest and the k-th largest value. For
    values that come from several fixed cases, it is an interval of the median of their mixture, and covers
    at least as often.

    Source: the sign test inverted: Thompson, Annals of Mathematical Statistics 7:122 (1936). Unlike cases:
    Hoeffding, On the distribution of the number of successes in independent trials, Annals of Mathematical
    Statistics 27:713 (1956).
    """
    n = len(values)
    if n < LOW_CONFIDENCE_BELOW:
        return None
    # In whole numbers, for 2**n is beyond every double from n = 1024: .025 is 1/40.
    below, k, exactly = 0, 0, 1
    while 40 * (below + exactly) <= 2**n:
        below += exactly
        exactly = exactly * (n - k) // (k + 1)
        k += 1
    ordered = sorted(values)
    return ordered[k - 1], ordered[n - k]


def cell_of(case: str, mode: Mode, runs: Sequence[RunReport]) -> Cell:
    """All that is said of one case in one mode; `runs` are those of this case and mode."""
    passed = [run for run in runs if run.passed]
    return Cell(
        case=case,
        mode=mode,
        runs=len(runs),
        passed=len(passed),
        metrics={name: _quantiles(passed, values) for name, values in METRICS.items()},
        tokens=token_totals(runs),
    )


def token_totals(runs: Sequence[RunReport]) -> TokenTotals:
    """Sums over all runs."""
    return TokenTotals(
        prompt=_total([run.tokens.prompt for run in runs]),
        completion=_total([run.tokens.completion for run in runs]),
        total=_total([run.tokens.total for run in runs]),
        cached=_total([run.tokens.cached for run in runs]),
    )


def compare_modes(
    runs: Sequence[RunReport], first: Mode, second: Mode, cases: Sequence[str], runs_per_case: int
) -> ModeComparison:
    """Two modes side by side: pass rates with the case as the unit, latency over pairs of runs.

    Args:
        runs: of both modes, the same number of each case.
        first: the mode that counts positive.
        second: the mode that it is compared with.
        cases: the names of the cases.
        runs_per_case: runs of each case in each mode.
    """
    from discovercall.statistics.clustering import design_effect, intra_task_correlation

    counts = {mode: [_successes(runs, mode, case) for case in cases] for mode in (first, second)}
    effects = {
        mode: design_effect(intra_task_correlation(counts[mode], runs_per_case), runs_per_case)
        for mode in (first, second)
    }
    return ModeComparison(
        first=first,
        second=second,
        cases=len(cases),
        runs_per_case=runs_per_case,
        design_effect_first=effects[first],
        design_effect_second=effects[second],
        gap=_gap(cases, counts[first], counts[second], runs_per_case),
        latency={metric: _paired(runs, metric, first, second) for metric in PAIRED},
    )


def _gap(cases: Sequence[str], first: Sequence[int], second: Sequence[int], runs_per_case: int) -> Gap:
    from discovercall.statistics import comparison

    differences = [a - b for a, b in zip(first, second, strict=True)]
    rates = [difference / runs_per_case for difference in differences]
    by_sign = {
        sign: [case for case, d in zip(cases, differences, strict=True) if (d > 0) - (d < 0) == sign]
        for sign in (1, 0, -1)
    }
    return Gap(
        difference=sum(rates) / len(rates),
        interval_95=comparison.gap_interval(rates),
        p_value=comparison.sign_flip_p_value(differences),
        better=by_sign[1],
        equal=by_sign[0],
        worse=by_sign[-1],
        differing_cases_needed=comparison.MINIMUM_DIFFERING_TASKS,
        smallest_detectable=comparison.smallest_detectable_gap(differences),
        cases_needed_for_5_points=comparison.tasks_needed(stdev(rates)) if len(rates) > 1 else None,
    )


def _paired(runs: Sequence[RunReport], metric: str, first: Mode, second: Mode) -> PairedLatency:
    values = {
        (run.mode, run.case, run.iteration): getattr(run, metric)
        for run in runs
        if run.passed and getattr(run, metric) is not None
    }
    differences = [
        value - values[second, case, iteration]
        for (mode, case, iteration), value in values.items()
        if mode == first and (second, case, iteration) in values
    ]
    return PairedLatency(
        pairs=len(differences),
        median_difference_ms=median(differences) if differences else None,
        interval_95_ms=median_interval(differences),
    )


def _successes(runs: Sequence[RunReport], mode: str, case: str) -> int:
    return sum(run.passed for run in runs if run.mode == mode and run.case == case)


def _quantiles(passed: Sequence[RunReport], values: _Values) -> Quantiles:
    samples = [value for run in passed for value in values(run) if value is not None]
    return Quantiles(
        samples=len(samples),
        p50=quantile(samples, 0.5),
        p95=quantile(samples, 0.95),
        p95_low_confidence=len(samples) < LOW_CONFIDENCE_BELOW,
    )


def _total(values: Sequence[int | None]) -> TokenTotal:
    known = [value for value in values if value is not None]
    return TokenTotal(total=sum(known) if known else None, runs_with_value=len(known))
