"""Results within their budget."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovercall.foundation.json_text import compact_bytes
from discovercall.gateway.truncation import BUDGET, bound

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=25,
)
LIMITS = st.integers(0, 400)


@given(JSON, LIMITS)
def test_fits_or_is_told(value, limit):
    bounded = bound(value, limit)
    size = len(value.encode("utf-8", "replace") if isinstance(value, str) else compact_bytes(value))
    least = max(16, limit)
    if limit == 0 or size <= least:
        assert bounded.value is value
        assert bounded.notice is None
        return
    assert bounded.notice is not None
    assert BUDGET in bounded.notice
    assert str(least) in bounded.notice
    if isinstance(bounded.value, list):
        assert len(compact_bytes(bounded.value)) <= least
    else:
        assert len(bounded.value.encode("utf-8", "surrogatepass")) <= least


@given(st.lists(JSON, min_size=1, max_size=30), st.integers(16, 300))
def test_list_keeps_the_longest_prefix_that_fits(items, limit):
    bounded = bound(items, limit)
    if bounded.notice is None or not isinstance(bounded.value, list):
        return
    kept = len(bounded.value)
    assert bounded.value == items[:kept]
    assert 1 <= kept < len(items)
    assert len(compact_bytes(items[: kept + 1])) > limit
    assert f"{kept} of {len(items)} items" in bounded.notice
    assert "valid JSON" not in bounded.notice


@given(st.text(alphabet="ab\n é😀", min_size=20, max_size=300), st.integers(16, 120))
def test_text_is_cut_at_a_line_a_space_or_a_character(text, limit):
    bounded = bound(text, limit)
    if bounded.notice is None:
        return
    assert text.startswith(bounded.value)
    size = len(text.encode())
    assert f"{len(bounded.value.encode())} of {size} bytes" in bounded.notice
    cut = text[len(bounded.value) :]
    head = text.encode()[:limit]
    assert cut
    if b"\n" in head[1:]:
        assert cut[0] == "\n"
    elif b" " in head[1:]:
        assert cut[0] == " "


@pytest.mark.parametrize("text", ['"' * 60, "\n" * 60, "x" * 100])
def test_text_that_fits_is_whole_and_not_called_shortened(text):
    bounded = bound(text, 100)
    assert (bounded.value, bounded.notice) == (text, None)


def test_object_becomes_text_and_warns():
    bounded = bound({"key": "x" * 100}, 40)
    assert isinstance(bounded.value, str)
    assert "no longer valid JSON" in (bounded.notice or "")
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(bounded.value)


def test_list_of_which_no_item_fits_becomes_text():
    bounded = bound(["x" * 100], 30)
    assert isinstance(bounded.value, str)
    assert "no longer valid JSON" in (bounded.notice or "")


@pytest.mark.parametrize("limit", [0, -1])
def test_no_limit(limit):
    assert bound("x" * 10_000, limit).notice is None


def test_tiny_limits_act_as_sixteen():
    assert bound("x" * 14, 1).notice is None
    assert bound("x" * 15, 1).value == "x" * 15
    assert bound("x" * 100, 1).value == "x" * 16
