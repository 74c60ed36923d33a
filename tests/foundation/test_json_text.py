"""The writer's shortcuts; what it writes at all is tested with the reader, in test_ecma_json."""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from discovercall.foundation.json_text import _tokens, compact, compact_lines, pretty, pretty_pieces

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text()
KEYS = st.text(max_size=3) | st.integers(0, 2**33).map(str)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4)
)


@settings(deadline=None, max_examples=100)
@given(VALUES)
@example({"a": {"b": 1}, "c": {"2": {"b": 1}, "b": [], "1": {}}})
def test_recursion_and_iteration_write_the_same(value):
    assert compact(value) == "".join(_tokens(value, "", 0))
    assert pretty(value) == "".join(_tokens(value, "  ", 0))


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(KEYS, VALUES, max_size=4))
@example({"a": [], "b": [{}, [1]], "c": {"d": [1]}, "0": [2]})
def test_pieces_are_the_whole(value):
    assert "".join(pretty_pieces(value)) == pretty(value)


def test_a_deep_item_has_its_place_in_the_pieces():
    deep: Any = 1
    for _ in range(150):
        deep = [deep]
    value = {"deep": [deep, {"deep": deep}]}
    assert "".join(pretty_pieces(value)) == pretty(value) == "".join(_tokens(value, "  ", 0))


def test_an_object_that_neighbours_share_is_written_at_each_place():
    shared = {"x": [1], "0": None}
    value = [{"s": shared}, {"s": shared}, shared, {"s": {"s": shared}}, {"s": dict(shared, x=2)}]
    assert compact(value) == "".join(_tokens(value, "", 0))
    assert pretty(value) == "".join(_tokens(value, "  ", 0))
    assert b"".join(compact_lines(value)) == b"".join(compact(item).encode() + b"\n" for item in value)
