import json
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discovercall.foundation.ecma_json import JsonError, _Reader, decode, loads
from discovercall.foundation.json_text import compact, compact_bytes, ordered_items, pretty, string_text

DEPTH = 200_000  # levels


def iterative(text):
    """The reader that takes over where the standard one runs out of stack."""
    return _Reader(text).document()


READERS = pytest.mark.parametrize("read", [loads, iterative])

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters())
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)
# Where the standard writer and ECMAScript agree: no floats, no large integers, no integer-like keys.
PLAIN_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | PLAIN_TEXT,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(PLAIN_TEXT.filter(lambda key: not key.isdigit()), inner, max_size=4)
    ),
)


def same(left, right):
    """Equal with types, so that 1, 1.0 and True differ."""
    return repr(left) == repr(right)


@READERS
@settings(deadline=None, max_examples=50)
@given(value=VALUES, indent=st.sampled_from([None, 2, "\t\r\n"]), ascii_only=st.booleans())
def test_reading_agrees_with_the_standard_library(read, value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert same(read(text), json.loads(text))


@READERS
@settings(deadline=None, max_examples=50)
@given(value=VALUES, data=st.data())
def test_damaged_text_is_refused_just_where_the_standard_library_refuses_it(read, value, data):
    text = json.dumps(value)
    at = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 2))
    damaged = (
        text[:at]
        + data.draw(st.sampled_from(["", ",", "]", "}", '"', "0", "-", ".", "e", " ", "tru"]))
        + text[at + cut :]
    )
    try:
        expected = json.loads(damaged)
    except ValueError:
        with pytest.raises(JsonError):
            read(damaged)
    else:
        assert same(read(damaged), expected)


@READERS
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "nul",
        "[1,]",
        "[,1]",
        "[1 2]",
        '{"a":1,}',
        '{"a"}',
        "{a:1}",
        "{'a':1}",
        '{"a":1',
        "[1",
        "]",
        "1 2",
        "01",
        "-",
        "1.",
        ".5",
        "+1",
        "1e",
        "0x1",
        "NaN",
        "[NaN]",
        "Infinity",
        "-Infinity",
        '"a',
        '"\\x"',
        '"\\u12g4"',
        '"\n"',
        '"\t"',
        '"\0"',
        '"\x1f"',
        "\ufeff1",
        "\u00a01",
        "\x0b1",
        "{1:2}",
        '{"a":}',
        "[[]",
        "// x\n1",
        "truee",
    ],
)
def test_what_is_no_json_is_refused(read, text):
    with pytest.raises(JsonError):
        read(text)


@READERS
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":1,"b":2,"a":3}', {"a": 3, "b": 2}),
        ('{"__proto__":1}', {"__proto__": 1}),
        ("1e999", math.inf),
        ("-1e999", -math.inf),
        ("9007199254740993", 9007199254740993),
        ("-0", 0),
        ("10.0", 10.0),
        ('"\\ud83d\\ude00 \\ud83d"', "😀 \ud83d"),
        ('"\u2028\u2029\x7f"', "\u2028\u2029\x7f"),
        (' \t\r\n{ "a" : [ ] , "b" : { } } \n', {"a": [], "b": {}}),
    ],
)
def test_particular_values(read, text, value):
    assert same(read(text), value)


def test_a_duplicate_key_keeps_its_first_place():
    assert list(loads('{"a":1,"b":2,"a":3}')) == ["a", "b"]


@READERS
@pytest.mark.parametrize("digits", [4_000, 200_000])
def test_a_number_beyond_a_double_takes_no_time_and_is_an_infinity(read, digits):
    assert read("9" * digits) == math.inf
    assert read("-" + "9" * digits) == -math.inf


@pytest.mark.parametrize(
    ("opening", "inner", "closing", "count"),
    [("[", "", "]", DEPTH), ('{"a":', "null", "}", DEPTH), ('[{"b":1,"a":', '"x"', "},2]", 10_000)],
)
def test_depth_has_no_limit_in_and_out(opening, inner, closing, count):
    text = opening * count + inner + closing * count
    assert compact(loads(text)) == text


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("[" * DEPTH, DEPTH),
        ("[" * DEPTH + "]" * (DEPTH - 1) + "}", 2 * DEPTH - 1),
        ("[" * DEPTH + "NaN", DEPTH),
    ],
)
def test_deep_text_that_is_no_json_is_refused_with_its_place(text, position):
    with pytest.raises(JsonError) as refused:
        loads(text)
    assert refused.value.position == position


@pytest.mark.parametrize(
    ("text", "position"), [("[1,\n x]", 5), ('{"a":1}}', 7), ('{"a" 1}', 5), ('["abc', 1), ("[1", 2)]
)
@READERS
def test_the_position_of_an_error(read, text, position):
    with pytest.raises(JsonError) as refused:
        read(text)
    assert refused.value.position == position


@pytest.mark.parametrize(("text", "position"), [("[1,\n NaN]", 5), ('{"a":-Infinity}', 5), ("[Infinity", 1)])
def test_the_position_of_a_number_that_json_does_not_have(text, position):
    with pytest.raises(JsonError, match="is not JSON") as refused:
        loads(text)
    assert refused.value.position == position


def test_bytes_may_begin_with_a_byte_order_mark_and_must_be_utf8():
    assert decode(b'\xef\xbb\xbf{"a":"\xc3\xa4"}') == {"a": "ä"}
    for data, position in ((b'"\xff"', 1), (b'"ab\xc3"', 3), (b'"\xed\xa0\x80"', 1)):
        with pytest.raises(JsonError, match="UTF-8") as refused:
            decode(data)
        assert refused.value.position == position


@settings(deadline=None, max_examples=50)
@given(PLAIN_VALUES)
@example({"a": [], "b": {}, "c": [[], {}]})
def test_writing_agrees_with_the_standard_library_where_the_languages_agree(value):
    assert compact(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert pretty(value) == json.dumps(value, ensure_ascii=False, indent=2)


@settings(deadline=None, max_examples=50)
@given(VALUES)
def test_text_is_stable_under_reading_and_writing(value):
    text = compact(value)
    assert compact(loads(text)) == text
    assert text.encode("utf-8") == compact_bytes(value)


@settings(deadline=None, max_examples=50)
@given(
    st.recursive(
        SCALARS.filter(lambda scalar: not isinstance(scalar, float) or abs(scalar) < 2**53),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    )
)
def test_values_survive_the_round_trip(value):
    assert loads(compact(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "10": 2, "a": 3, "9": 4, "01": 5}, '{"9":4,"10":2,"b":1,"a":3,"01":5}'),
        ({"4294967295": 1, "x": 2, "4294967294": 3}, '{"4294967294":3,"4294967295":1,"x":2}'),
        ({"b": {"1": 0, "0": 0}}, '{"b":{"0":0,"1":0}}'),
        (
            [1.0, 1e21, 1e-7, -0.0, 10**20, 1e20],
            "[1,1e+21,1e-7,0,100000000000000000000,100000000000000000000]",
        ),
        ([9007199254740993, -9007199254740993], "[9007199254740993,-9007199254740993]"),
        ([math.inf, -math.inf, math.nan], "[null,null,null]"),
        ([True, False, None], "[true,false,null]"),
        ("\ud83d", '"\\ud83d"'),
        ("a\udfffb", '"a\\udfffb"'),
        ("😀", '"😀"'),
        ("\u2028\u2029\x7f\ufeff", '"\u2028\u2029\x7f\ufeff"'),
        ('\b\f\n\r\t\0\x1f"\\/', '"\\b\\f\\n\\r\\t\\u0000\\u001f\\"\\\\/"'),
        ({"\ud800": 1}, '{"\\ud800":1}'),
        ((1, (2,)), "[1,[2]]"),
        ([], "[]"),
        ({}, "{}"),
        ("", '""'),
    ],
)
def test_compact_text_is_that_of_json_stringify(value, text):
    assert compact(value) == text


def test_pretty_text_is_that_of_json_stringify_with_two_spaces():
    value = {"b": [1, {"x": None}], "1": {}, "e": []}
    assert pretty(value) == (
        '{\n  "1": {},\n  "b": [\n    1,\n    {\n      "x": null\n    }\n  ],\n  "e": []\n}'
    )


def test_ordered_items_puts_array_indexes_first():
    assert ordered_items({"b": 1, "2": 2, "a": 3, "0": 4}) == [("0", 4), ("2", 2), ("b", 1), ("a", 3)]
    assert ordered_items({"b": 1, "a": 2}) == [("b", 1), ("a", 2)]


def test_a_string_literal_has_its_lone_surrogates_escaped():
    assert string_text('a"\udc00') == '"a\\"\\udc00"'


@pytest.mark.parametrize("value", [object(), {1, 2}, b"x", [b"x"]])
def test_what_is_no_json_value_cannot_be_written(value):
    with pytest.raises(TypeError, match="no JSON value"):
        compact(value)
