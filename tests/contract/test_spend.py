"""Limits of calls and credits hold, whatever the API says of its prices."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovercall.contract.journal import TrialKey
from discovercall.contract.spend import Spend, credit_sum, tool_price
from discovercall.foundation.errors import SpendLimitError


def key(number: int) -> TrialKey:
    return TrialKey(0, "t", number)


def test_calls_are_counted_with_those_under_way() -> None:
    spend = Spend(max_calls=2)
    assert spend.has_room_for(set(), {key(1), key(2)})
    assert not spend.has_room_for({key(1)}, {key(2), key(3)})
    spend.commit(key(1), None)
    assert not spend.has_room_for({key(2)}, {key(3)})
    spend.commit(key(2), None)
    with pytest.raises(SpendLimitError, match="limit of 2 billed calls"):
        spend.check(None)


def test_unknown_prices_go_one_by_one_until_one_is_known() -> None:
    spend = Spend(max_calls=100, max_credits=15)
    assert spend.has_room_for(set(), {key(1)})
    assert not spend.has_room_for({key(1)}, {key(2)})
    spend.commit(key(1), None)
    assert not spend.has_room_for(set(), {key(2)}), "the first answer is still awaited"
    spend.settle(key(1), 10)
    assert not spend.has_room_for(set(), {key(2)}), "another one like it would exceed 15"
    with pytest.raises(SpendLimitError, match="limit of 15 credits"):
        spend.check(None)


def test_a_cost_above_the_named_price_is_learnt_from() -> None:
    spend = Spend(max_calls=100, max_credits=25)
    spend.commit(key(1), 1)
    spend.settle(key(1), 10)
    assert spend.has_room_for(set(), {key(2)})
    assert not spend.has_room_for({key(2)}, {key(3)})


def test_a_negative_cost_is_no_income() -> None:
    spend = Spend(max_calls=100, max_credits=3)
    spend.commit(key(1), 2)
    spend.settle(key(1), -1000)
    assert spend.known_credits == 2


@pytest.mark.parametrize("told", [0, 1, 2])
def test_calls_of_unknown_cost_count_as_the_dearest_whenever_that_is_learnt(told: int) -> None:
    spend = Spend(max_calls=100, max_credits=35)
    for number in range(3):
        spend.commit(key(number), None)
        spend.settle(key(number), 10 if number == told else None)
    assert (spend.known_credits, spend.reckoned_credits) == (10, 30)
    assert not spend.has_room_for(set(), {key(3)})
    with pytest.raises(SpendLimitError, match="limit of 35 credits"):
        spend.check(None)


def test_a_call_that_names_a_new_highest_price_raises_what_unknown_ones_count() -> None:
    spend = Spend(max_calls=100, max_credits=35)
    spend.commit(key(1), None)
    spend.settle(key(1), None)
    spend.check(17)
    with pytest.raises(SpendLimitError, match="limit of 35 credits"):
        spend.check(18)


@pytest.mark.parametrize(
    ("calls", "credits", "costs", "lanes", "told"),
    [
        (2, None, [1, 1], 2, "the limit of 2 billed calls is reached"),
        (3, None, [1, 1], 2, "the limit of 3 billed calls leaves 1, too few for a trial of 2 lanes"),
        (3, 99, [1, 1], 2, "the limit of 3 billed calls leaves 1, too few for a trial of 2 lanes"),
        (2, 5, [1, 1], 1, "the limit of 2 billed calls is reached"),
        (4, 3, [1, 1], 2, "the limit of 3 credits leaves 1, too few for a trial of 2 lanes, reckoned at 2"),
        (9, 20, [10, 10], 1, "the limit of 20 credits is reached"),
        (9, 20, [10, 20], 1, "the limit of 20 credits is reached"),
        (9, 25, [10, 10], 1, "the limit of 25 credits leaves 5, too few for another call, reckoned at 10"),
        (
            9,
            35,
            [10, 10],
            2,
            "the limit of 35 credits leaves 15, too few for a trial of 2 lanes, reckoned at 20",
        ),
        (
            9,
            25,
            [10, None],
            1,
            "the limit of 25 credits leaves 5, too few for another call, reckoned at 10"
            " (1 of unknown cost counted as the dearest)",
        ),
    ],
)
def test_the_limit_that_leaves_no_room_is_told_as_it_is(
    calls: int, credits: float | None, costs: list[float | None], lanes: int, told: str
) -> None:
    spend = Spend(max_calls=calls, max_credits=credits)
    for number, cost in enumerate(costs):
        spend.commit(key(number), None)
        spend.settle(key(number), cost)
    assert not spend.has_room_for(set(), {key(100 + lane) for lane in range(lanes)})
    assert spend.limit_reached(lanes) == told


def test_where_no_price_is_known_the_answer_is_awaited_and_a_call_is_reckoned_at_nothing() -> None:
    spend = Spend(max_calls=9, max_credits=5)
    spend.commit(key(1), None)
    assert not spend.has_room_for(set(), {key(2)})
    assert spend.limit_reached() == (
        "the limit of 5 credits leaves 5, too few for another call, reckoned at 0"
        " (1 of unknown cost counted as the dearest)"
    )
    assert spend.reckoned_credits == 0


def test_a_limit_may_be_reached_to_the_last_credit_and_the_last_call() -> None:
    spend = Spend(max_calls=2, max_credits=20)
    spend.commit(key(1), 10)
    assert spend.has_room_for(set(), {key(2)})
    spend.check(10)
    spend.commit(key(2), 10)
    with pytest.raises(SpendLimitError) as refused:
        spend.check(0)
    assert refused.value.what == "the limit of 2 billed calls is reached"


def test_a_named_price_counts_although_another_call_was_dearer() -> None:
    spend = Spend(max_calls=9, max_credits=12)
    spend.commit(key(1), 10)
    spend.check(2)
    with pytest.raises(SpendLimitError):
        spend.check(None)


def test_without_any_credits_only_what_is_free_may_go() -> None:
    spend = Spend(max_calls=9, max_credits=0)
    spend.check(0)
    with pytest.raises(SpendLimitError) as refused:
        spend.check(1)
    assert refused.value.what == "the limit of 0 credits is reached"


def test_an_answer_without_a_cost_lets_the_next_call_go() -> None:
    spend = Spend(max_calls=9, max_credits=5)
    spend.commit(key(1), None)
    assert not spend.has_room_for(set(), {key(2)})
    spend.settle(key(1), None)
    assert spend.has_room_for(set(), {key(2)})


def test_prices_below_one_credit_are_what_they_are() -> None:
    spend = Spend(max_calls=9, max_credits=1)
    spend.commit(key(1), 0.25)
    assert spend.dearest == 0.25
    spend.commit(key(2), None)
    assert spend.reckoned_credits == 0.5
    spend.check(0.375)
    spend.check(None)
    with pytest.raises(SpendLimitError):
        spend.check(0.5)
    free = Spend(max_calls=9, max_credits=1)
    free.commit(key(1), None)
    free.check(None)
    free.check(0.5)
    with pytest.raises(SpendLimitError):
        free.check(0.75)


def test_a_call_that_is_too_dear_says_what_is_left() -> None:
    spend = Spend(max_calls=100, max_credits=10)
    spend.commit(key(1), 4)
    with pytest.raises(SpendLimitError) as refused:
        spend.check(7)
    assert refused.value.what == "the limit of 10 credits leaves 6, too few for another call, reckoned at 7"


def test_a_sum_of_credits_is_always_a_number_for_json() -> None:
    assert credit_sum([10**308, 1.7e308, 5]) == sys.float_info.max
    assert credit_sum([]) == 0


def test_a_call_that_was_turned_away_costs_nothing() -> None:
    spend = Spend(max_calls=1, max_credits=3)
    spend.commit(key(1), 2)
    spend.withdraw(key(1))
    assert spend.known_credits == spend.reckoned_credits == 0
    assert spend.has_room_for(set(), {key(1)})
    spend = Spend(max_calls=2, max_credits=3)
    spend.commit(key(1), None)
    spend.withdraw(key(1))
    assert spend.has_room_for(set(), {key(1)}), "nothing is awaited any more"


@given(
    prices=st.lists(st.one_of(st.none(), st.integers(0, 20)), min_size=1, max_size=30),
    limit=st.integers(1, 60),
)
def test_honest_prices_never_exceed_the_limit_one_by_one(prices: list[int | None], limit: int) -> None:
    """Costs as named, or for unnamed ones at most the dearest so far: the sum stays within the limit."""
    spend = Spend(max_calls=100, max_credits=limit)
    for number, price in enumerate(prices):
        try:
            spend.check(price)
        except SpendLimitError:
            break
        spend.commit(key(number), price)
        spend.settle(key(number), price if price is not None else spend.dearest)
    assert spend.reckoned_credits <= limit


@pytest.mark.parametrize(
    ("tool", "price"),
    [
        ({"billing_rule": {"amount_credits": 5}}, 5.0),
        ({"billing_rule": {"amount_credits": 0}}, 0.0),
        ({"billing_rule": {"amount_credits": -5}}, None),
        ({"billing_rule": {"amount_credits": True}}, None),
        ({"billing_rule": {"amount_credits": "5"}}, None),
        ({"billing_rule": 5}, None),
        ({}, None),
    ],
)
def test_the_price_is_what_the_billing_rule_says(tool: dict[str, object], price: float | None) -> None:
    assert tool_price(tool) == price
