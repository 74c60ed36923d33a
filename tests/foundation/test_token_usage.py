from typing import Any

import pytest

from discovercall.foundation.token_usage import chat_usage, counts_of


@pytest.mark.parametrize("value", [0, 7, 7.0, 2**53 - 1])
def test_whole_numbers_are_counts(value):
    found = counts_of({"a": value, "b": value}, ("a",))
    assert found == {"a": value}
    assert type(found["a"]) is int


@pytest.mark.parametrize("value", [None, True, -1, 0.5, 2**53, float("nan"), float("inf"), "7", [7], {}])
def test_anything_else_is_left_out(value):
    assert counts_of({"a": value, "c": 1}, ("a", "b", "c")) == {"c": 1}


def test_cached_tokens_come_from_the_details_alone():
    reported: dict[str, Any] = {"prompt_tokens": 5, "total_tokens": 8, "cached_tokens": 9}
    assert chat_usage(reported, ("prompt_tokens", "cached_tokens")) == {"prompt_tokens": 5}
    unusable: list[Any] = [None, [], {"cached_tokens": None}]
    for details in unusable:
        assert chat_usage(reported | {"prompt_tokens_details": details}, ("cached_tokens",)) == {}
    reported["prompt_tokens_details"] = {"cached_tokens": 4}
    assert chat_usage(reported, ("total_tokens", "cached_tokens")) == {"total_tokens": 8, "cached_tokens": 4}
