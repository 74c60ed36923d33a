import math
import re
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall.statistics import bootstrap
from discovercall.statistics.bootstrap import round_half_up, task_cluster_bootstrap_95


def slow_interval(rates):
    """The method's definition, one draw after the other."""
    tasks = len(rates)
    state = 0x51F15E
    estimates = []
    for _ in range(20_000):
        total = 0.0
        for _ in range(tasks):
            state = (1664525 * state + 1013904223) % 2**32
            total += rates[math.floor(state / 2**32 * tasks)]
        estimates.append(total / tasks)
    estimates.sort()
    return estimates[math.floor(0.025 * 20_000)], estimates[math.floor(0.975 * 20_000)]


@pytest.mark.parametrize(
    "rates",
    [
        [1.0, 0.0],
        [0.1, 0.2, 0.7],
        [1 / 3, 2 / 3, 1.0, 0.0, 1 / 3],
        [index % 4 / 3 for index in range(18)],
        [(index * 7 % 11) / 10 for index in range(18)],
        [1.0] * 17 + [0.0],
        [1 / 3] * 7,
    ],
)
def test_it_equals_the_definition_in_every_bit(rates):
    assert task_cluster_bootstrap_95(rates) == slow_interval(rates)


def test_it_equals_the_definition_where_resamples_are_drawn_in_several_blocks():
    rates = [(index * 37 % 101) / 100 for index in range(97)]
    assert 20_000 * len(rates) > bootstrap._MAX_DRAWS_AT_ONCE
    assert task_cluster_bootstrap_95(rates) == slow_interval(rates)


@pytest.mark.parametrize(
    ("rates", "low", "high"),
    [
        ([1.0, 0.0], 0.0, 1.0),
        ([0.1, 0.2, 0.7], 0.10000000000000002, 0.6999999999999998),
        ([1 / 3, 2 / 3, 1.0, 0.0, 1 / 3], 0.2, 0.7999999999999999),
    ],
)
@pytest.mark.parametrize("at_once", [None, 40_000])
def test_known_intervals_come_in_one_block_and_in_several(rates, low, high, at_once, monkeypatch):
    if at_once is not None:
        monkeypatch.setattr(bootstrap, "_MAX_DRAWS_AT_ONCE", at_once)
    assert task_cluster_bootstrap_95(rates) == (low, high)


def test_draws_are_kept_up_to_the_size_that_is_drawn_at_once(monkeypatch):
    kept = [bootstrap._drawn_tasks(2)]
    monkeypatch.setattr(bootstrap, "_MAX_DRAWS_AT_ONCE", 2 * bootstrap.RESAMPLES)
    kept.append(bootstrap._drawn_tasks(2))
    assert kept[0] is kept[1]
    (block,) = kept[0]
    assert block.shape == (2, bootstrap.RESAMPLES)
    assert not isinstance(bootstrap._drawn_tasks(3), tuple)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=9))
def test_it_equals_the_definition_for_any_rates(rates):
    assert task_cluster_bootstrap_95(rates) == slow_interval(rates)


def test_one_task_is_its_own_interval():
    assert task_cluster_bootstrap_95([1 / 3]) == (1 / 3, 1 / 3)


def test_tasks_that_agree_collapse_it():
    assert task_cluster_bootstrap_95([1.0] * 18) == (1.0, 1.0)


def test_it_depends_on_the_order_of_the_tasks():
    rates = [count / 3 for count in (2, 1, 2, 1, 2, 2, 2, 2, 3, 0, 0, 1, 2, 1, 2, 1, 2, 1)]
    assert round_half_up(task_cluster_bootstrap_95(rates)[0]) == 0.3704
    assert round_half_up(task_cluster_bootstrap_95(rates[::-1])[0]) == 0.3889


def test_no_task_is_refused():
    with pytest.raises(ValueError, match=r"^the bootstrap interval needs at least one task$"):
        task_cluster_bootstrap_95([])


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (17 / 18, 4, 0.9444),
        (2 / 3, 4, 0.6667),
        (0.00005, 4, 0.0001),
        (0.5, 0, 1.0),
        (2.5, 0, 3.0),
        (-2.5, 0, -2.0),
        (0.49999999999999994, 0, 0.0),
        (4503599627370497.0, 0, 4503599627370497.0),
        (1, 4, 1.0),
        (0.99999, 3, 1.0),
        (0.12345, 2, 0.12),
    ],
)
def test_rounding(value, digits, expected):
    assert round_half_up(value, digits) == expected


@settings(deadline=None)
@given(st.floats(-10, 10), st.integers(0, 6))
def test_rounding_goes_to_the_nearest_and_ties_go_up(value, digits):
    scaled = Fraction(value * 10**digits)
    nearest = math.floor(scaled + Fraction(1, 2))
    assert round_half_up(value, digits) == nearest / 10**digits


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e308])
def test_rounding_refuses_what_is_not_finite(value):
    with pytest.raises(ValueError, match=f"^cannot round {re.escape(repr(value))}$"):
        round_half_up(value)


def test_rounding_keeps_four_decimals_where_nothing_is_said():
    assert round_half_up(0.123456) == 0.1235


def test_rounding_needs_no_numpy():
    code = (
        "import sys; from discovercall.statistics.bootstrap import round_half_up; "
        "round_half_up(0.5); sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
