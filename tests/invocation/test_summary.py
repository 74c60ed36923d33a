"""Quantiles, intervals, sums, and the comparison of the modes."""

from __future__ import annotations

import random
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from discovercall.invocation.report_model import RunReport
from discovercall.invocation.summary import cell_of, compare_modes, median_interval, quantile, token_totals

FLOATS = st.lists(st.floats(0, 1e6), min_size=1, max_size=60)


def run(case: str = "a", mode: str = "dual_agent", iteration: int = 1, **changes: Any) -> RunReport:
    values: dict[str, Any] = {
        "case": case,
        "mode": mode,
        "iteration": iteration,
        "session_id": "s",
        "passed": True,
        "failures": [],
        "error": None,
        "first_token_ms": 10.0,
        "first_visible_ms": 20.0,
        "turn_wall_time_ms": 30.0,
        "tokens": {"prompt": 1, "completion": 2, "total": 3, "cached": None},
        "chat_agent_calls": 1,
        "event_agent_fallbacks": 0,
        "directive": None,
        "answers": ["model"],
        "model_calls": [],
        "events": [],
    }
    return RunReport.model_validate({**values, **changes})


@settings(deadline=None)
@given(FLOATS, st.floats(0, 1))
def test_quantiles_are_linear_at_n_minus_1_q(values: list[float], q: float) -> None:
    assert quantile(values, q) == pytest.approx(float(np.quantile(values, q, method="linear")))


def test_no_value_has_no_quantile() -> None:
    assert quantile([], 0.5) is None
    assert quantile([7.0], 0.95) == 7.0
    assert quantile([1, 2, 3, 4], 0.5) == 2.5


def test_the_interval_of_a_median_needs_20_values() -> None:
    assert median_interval(list(range(19))) is None
    # n = 20: P(X <= 5) = .0207, so the 6th smallest and the 6th largest.
    assert median_interval([float(n) for n in range(1, 21)]) == (6.0, 15.0)
    assert median_interval([float(n) for n in range(1, 101)]) == (40.0, 61.0)


@pytest.mark.parametrize("n", [1023, 1024, 6000])
def test_the_interval_of_a_median_of_as_many_runs_as_there_can_be(n: int) -> None:
    rank = int(binom.ppf(0.025, n, 0.5))  # P(X < rank) <= .025 < P(X <= rank)
    assert median_interval(range(1, n + 1)) == (rank, n + 1 - rank)


def test_the_interval_covers_mixtures_of_cases() -> None:
    """Six cases with far different medians, as here: the median of their mixture is covered."""
    source = random.Random(7)
    centres = [0.0, 0.0, 1.0, 2.0, 3.0, 9.0]
    population = [source.gauss(centre, 1) for centre in centres for _ in range(40_000)]
    truth = statistics.median(population)
    covered = 0
    for _ in range(600):
        sample = [source.gauss(centre, 1) for centre in centres for _ in range(5)]
        low, high = median_interval(sample) or (0, 0)
        covered += low <= truth <= high
    assert covered / 600 >= 0.94


def test_only_successful_runs_with_a_value_are_samples() -> None:
    runs = [
        run(first_token_ms=10.0),
        run(first_token_ms=None, iteration=2),
        run(first_token_ms=1000.0, iteration=3, passed=False),
        run(first_token_ms=30.0, iteration=4),
    ]
    cell = cell_of("a", "dual_agent", runs)
    found = cell.metrics["first_token_ms"]
    assert (cell.runs, cell.passed) == (4, 3)
    assert (found.samples, found.p50, found.p95, found.p95_low_confidence) == (2, 20.0, 29.0, True)
    assert cell.metrics["cached_tokens"].p50 is None
    enough = [run(iteration=n, first_token_ms=float(n)) for n in range(1, 21)]
    assert not cell_of("a", "dual_agent", enough).metrics["first_token_ms"].p95_low_confidence


def test_token_sums_are_over_all_runs_that_have_a_number() -> None:
    totals = token_totals(
        [run(), run(passed=False), run(tokens=dict.fromkeys(("prompt", "completion", "total", "cached")))]
    )
    assert totals.total.model_dump() == {"total": 6, "runs_with_value": 2}
    assert totals.cached.model_dump() == {"total": None, "runs_with_value": 0}


def both(cases: int, iterations: int, second_fails: int) -> list[RunReport]:
    return [
        run(
            f"c{n}",
            mode,
            i,
            passed=not (mode == "chat_agent_tools" and n < second_fails),
            turn_wall_time_ms=wall,
        )
        for n in range(cases)
        for mode, wall in (("dual_agent", 30.0 + n), ("chat_agent_tools", 10.0))
        for i in range(1, iterations + 1)
    ]


def test_pass_rates_are_compared_with_the_case_as_the_unit() -> None:
    cases = [f"c{n}" for n in range(6)]
    found = compare_modes(both(6, 4, 6), "dual_agent", "chat_agent_tools", cases, 4)
    assert found.gap.difference == 1
    assert found.gap.p_value == 2 / 2**6
    assert found.gap.better == cases
    found = compare_modes(both(6, 4, 1), "dual_agent", "chat_agent_tools", cases, 4)
    assert found.gap.p_value == 1
    assert (found.gap.better, len(found.gap.equal), found.gap.worse) == (["c0"], 5, [])
    assert found.gap.interval_95[0] < found.gap.difference < found.gap.interval_95[1]
    assert found.design_effect_second == pytest.approx(4)


def test_latency_is_the_median_difference_of_pairs_that_passed_in_both_modes() -> None:
    cases = [f"c{n}" for n in range(6)]
    found = compare_modes(both(6, 4, 1), "dual_agent", "chat_agent_tools", cases, 4).latency
    wall = found["turn_wall_time_ms"]
    assert (wall.pairs, wall.median_difference_ms) == (20, 23.0)
    assert wall.interval_95_ms == (22.0, 24.0)
    found = compare_modes(both(6, 3, 0), "dual_agent", "chat_agent_tools", cases, 3).latency
    assert (found["turn_wall_time_ms"].pairs, found["turn_wall_time_ms"].interval_95_ms) == (18, None)
    found = compare_modes(both(6, 1, 6), "dual_agent", "chat_agent_tools", cases, 1).latency
    assert found["first_token_ms"].model_dump() == {
        "pairs": 0,
        "median_difference_ms": None,
        "interval_95_ms": None,
    }
